"""map.py: the ground of the game, read from lines of characters."""
import heapq

COST = {".": 1, "w": 2, "*": 1}  # meadow, wood, the beacon; "~", water, cannot be entered
SHELTER = {"w": 1}


class Map:
    def __init__(self, text):
        self.rows = text.split()
        self.beacon = next((row, line.index("*")) for row, line in enumerate(self.rows) if "*" in line)

    def at(self, place):
        row, column = place
        return self.rows[row][column]

    def shelter(self, place):
        return SHELTER.get(self.at(place), 0)

    def neighbours(self, place):
        """The places beside this one that a unit can enter."""
        row, column = place
        for there in ((row - 1, column), (row, column - 1), (row, column + 1), (row + 1, column)):
            inside = 0 <= there[0] < len(self.rows) and 0 <= there[1] < len(self.rows[0])
            if inside and self.at(there) in COST:
                yield there

    def reach(self, start, steps, taken=()):
        """The places that can be reached from start, and how many steps each costs."""
        costs, queue = {start: 0}, [(0, start)]
        while queue:
            cost, place = heapq.heappop(queue)
            for there in self.neighbours(place):
                total = cost + COST[self.at(there)]
                if total <= steps and there not in taken and total < costs.get(there, total + 1):
                    costs[there] = total
                    heapq.heappush(queue, (total, there))
        return costs
