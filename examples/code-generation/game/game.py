"""game.py: rounds, fights, and who has won."""


class Game:
    """Players take turns. Who stands on the beacon for HOLD rounds in a row wins, or who is left alone."""
    HOLD = 3
    LAST_ROUND = 50

    def __init__(self, game_map, players):
        self.map, self.players = game_map, players
        self.round, self.holder, self.held = 0, None, 0
        self.strikes = []  # round, striker's name, kind that was struck, harm

    def taken(self):
        return {unit.place for player in self.players for unit in player.living()}

    def take_turn(self, player):
        enemies = [unit for other in self.players if other is not player for unit in other.units]
        for unit in player.living():
            unit.place = player.choose_place(unit, self.map, self.taken())
            target = player.choose_target(unit, enemies)
            if target:
                harm = unit.strike(target, self.map.shelter(target.place))
                self.strikes.append((self.round, player.name, target.kind, harm))

    def count_hold(self):
        on_beacon = [p for p in self.players if any(u.place == self.map.beacon for u in p.living())]
        holder = on_beacon[0] if on_beacon else None
        self.held = self.held + 1 if holder and holder is self.holder else int(holder is not None)
        self.holder = holder

    def winner(self):
        left = [player for player in self.players if player.living()]
        if len(left) == 1:
            return left[0]
        return self.holder if self.held >= self.HOLD else None

    def play(self):
        """Plays to the end. Returns the winner, or None where the last round decides nothing."""
        while self.winner() is None and self.round < self.LAST_ROUND:
            self.round += 1
            for player in self.players:
                self.take_turn(player)
            self.count_hold()
        return self.winner()
