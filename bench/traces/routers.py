"""Who answers a request: ways to choose a node, from the simplest to the fleet's own."""

import importlib.util
import random
import sys
from bisect import bisect
from collections import OrderedDict
from hashlib import sha256
from pathlib import Path
from typing import Dict, NamedTuple, Sequence

from arrivals import BLOCK, Request

ROOT = Path(__file__).resolve().parents[2]


def chooser():
    """choose.py without the package around it, which would want the library."""
    path = ROOT / "python/promptcache/ray/choose.py"
    spec = importlib.util.spec_from_file_location("fleet_choose", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


CHOOSE = chooser()


class View(NamedTuple):
    """What a router knows of the nodes."""

    loads: Sequence[int]
    alive: Sequence[bool]
    capacity: int


class Random:
    def __init__(self, n_nodes: int, seed: int) -> None:
        self.draw = random.Random(seed)

    def choose(self, request: Request, view: View) -> int:
        while True:
            node = self.draw.randrange(len(view.loads))
            if view.alive[node]:
                return node


class InTurn:
    def __init__(self, n_nodes: int, seed: int) -> None:
        self.next = 0

    def choose(self, request: Request, view: View) -> int:
        while True:
            node = self.next % len(view.loads)
            self.next += 1
            if view.alive[node]:
                return node


class LessBusy(Random):
    def choose(self, request: Request, view: View) -> int:
        two = [super(LessBusy, self).choose(request, view) for _ in range(2)]
        return min(two, key=lambda node: view.loads[node])


class Hashing:
    """A ring with a hundred places for each node, asked by a request's first two blocks."""

    def __init__(self, n_nodes: int, seed: int) -> None:
        self.ring = sorted((self._place(f"{node} {i}"), node)
                           for node in range(n_nodes) for i in range(100))

    @staticmethod
    def _place(name: str) -> int:
        return int.from_bytes(sha256(name.encode()).digest()[:8], "big")

    def choose(self, request: Request, view: View) -> int:
        at = bisect(self.ring, (self._place(str(request.blocks[:2])), -1))
        while not view.alive[self.ring[at % len(self.ring)][1]]:
            at += 1
        return self.ring[at % len(self.ring)][1]


class Beginnings:
    """The fleet's router: a bounded table of who was sent which beginnings, the least recently seen
    first to go, and choose.py. A beginning of less than `least` of the request counts as none: what
    all requests share is no reason to send one anywhere. `bounded` false: as if no load were too
    much."""

    def __init__(self, n_nodes: int, seed: int, most_digests: int = 1 << 18,
                 learns: bool = True, bounded: bool = True, least: float = CHOOSE.LEAST_SHARE) -> None:
        self.draw = random.Random(seed)
        self.table: "OrderedDict[int, Dict[int, None]]" = OrderedDict()
        self.most_digests, self.learns = most_digests, learns
        self.bound = {} if bounded else {"spread": float("inf")}
        self.least = least
        self.n_held = 0  # pairs of a digest and a node

    def choose(self, request: Request, view: View) -> int:
        has = [0] * len(view.loads)
        for place, block in enumerate(request.blocks):
            for node in self.table.get(block, ()):
                has[node] += min(BLOCK, request.n_tokens - place * BLOCK)
        has = [h if h >= self.least * request.n_tokens else 0 for h in has]
        seen = [CHOOSE.Replica(h, load, view.capacity if alive else 0)
                for h, load, alive in zip(has, view.loads, view.alive)]
        node = CHOOSE.choose(seen, self.draw, **self.bound)
        if node is None:  # all are full: who waits least
            node = min((i for i, up in enumerate(view.alive) if up), key=lambda i: view.loads[i])
        if self.learns:
            self.note(node, request.blocks)
        return node

    def note(self, node: int, blocks: Sequence[int]) -> None:
        for block in reversed(blocks):
            holders = self.table.setdefault(block, {})
            self.n_held += node not in holders
            holders[node] = None
            self.table.move_to_end(block)
        while len(self.table) > self.most_digests:
            self.n_held -= len(self.table.popitem(last=False)[1])

    def forget(self, node: int) -> None:
        for block in [b for b, holders in self.table.items() if node in holders]:
            del self.table[block][node]
            self.n_held -= 1


def any_beginning(n_nodes: int, seed: int) -> Beginnings:
    return Beginnings(n_nodes, seed, least=0.0)


WAYS = {"random": Random, "in turn": InTurn, "less busy of two": LessBusy, "hashing": Hashing,
        "beginnings, any": any_beginning, "beginnings": Beginnings}
