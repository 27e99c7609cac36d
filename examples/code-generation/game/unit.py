"""unit.py: one piece of the game: its kind, where it stands, what health it has left."""
from dataclasses import dataclass

KINDS = {  # kind: strength, health, steps in a turn
    "scout": (1, 3, 4),
    "guard": (2, 7, 2),
    "knight": (3, 5, 3),
}


@dataclass
class Unit:
    kind: str
    owner: str  # the player's name
    place: tuple[int, int]  # row, column

    def __post_init__(self):
        self.strength, self.health, self.steps = KINDS[self.kind]

    def is_alive(self):
        return self.health > 0

    def is_next_to(self, other):
        rows, columns = (abs(a - b) for a, b in zip(self.place, other.place))
        return rows + columns == 1

    def strike(self, other, shelter):
        """Takes health from a neighbour, less where the ground shelters it. Returns how much."""
        harm = min(other.health, max(1, self.strength - shelter))
        other.health -= harm
        return harm
