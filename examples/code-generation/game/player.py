"""player.py: who owns units, and the rule by which they are moved."""
from unit import Unit

FAR = 1000  # steps; more than any map has


class Player:
    def __init__(self, name, kinds, places):
        self.name = name
        self.units = [Unit(kind, name, place) for kind, place in zip(kinds, places)]

    def living(self):
        return [unit for unit in self.units if unit.is_alive()]

    def choose_place(self, unit, game_map, taken):
        """Where the unit goes: as near to the beacon as it gets in one turn."""
        costs = game_map.reach(unit.place, unit.steps, taken)
        to_beacon = game_map.reach(game_map.beacon, FAR)
        return min(costs, key=lambda place: (to_beacon.get(place, FAR), costs[place], place))

    def choose_target(self, unit, enemies):
        """The weakest enemy beside the unit, or None."""
        near = [enemy for enemy in enemies if enemy.is_alive() and unit.is_next_to(enemy)]
        return min(near, key=lambda enemy: enemy.health, default=None)
