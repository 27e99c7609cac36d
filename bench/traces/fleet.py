#!/usr/bin/env python3
"""A trace on a simulated fleet of many nodes: what a router finds, and how even the load is.

    python3 bench/traces/fleet.py TRACE.jsonl [--nodes 8,100,1000] [--json FILE]
    python3 bench/traces/fleet.py TRACE.jsonl --strain 1000 [--json FILE]

Each node has a store of its own (the least recently used blocks of 512 tokens go) and computes one
request after the other. Who answers is chosen at random, in turn, as the less busy of two, by
consistent hashing of the first two blocks, or as the fleet's router does: by
python/promptcache/ray/choose.py, the very file, from a table of who was sent what. A hundred nodes
get the trace once; more get shifted copies of it with other texts behind the same first block,
fewer get a part of its conversations. So each node has as much to do whatever their number is.

--strain: what becomes of the router's choice at that size where what it knows is old or small,
where there are several routers, where all ask for one text at once, and where nodes die.

Pure Python, a simulation: no clock, no network. The same for the same seed."""

import argparse
import heapq
import json
import random
import statistics
import time
from collections import OrderedDict, deque
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence

from arrivals import BLOCK, Request, cost, crowd, read, spread_over
from routers import WAYS, Beginnings, Hashing, InTurn, View, any_beginning


class Node:
    """A store of the blocks that were used last, and a queue."""

    def __init__(self, most_blocks: int) -> None:
        self.most_blocks = most_blocks
        self.blocks: "OrderedDict[int, None]" = OrderedDict()
        self.free_at = 0.0
        self.busy_s = 0.0
        self.alive = True

    def found(self, request: Request) -> int:
        """Tokens of the blocks that it has; uses them, the end before the beginning."""
        n = 0
        for place, block in enumerate(request.blocks):
            if block in self.blocks:
                n += min(BLOCK, request.n_tokens - place * BLOCK)
        for block in reversed(request.blocks):
            self.blocks[block] = None
            self.blocks.move_to_end(block)
        while len(self.blocks) > self.most_blocks:
            self.blocks.popitem(last=False)
        return n

    def seconds(self, request: Request) -> float:
        """Of the blocks that it has not."""
        return sum(cost(place * BLOCK, min(BLOCK, request.n_tokens - place * BLOCK))
                   for place, block in enumerate(request.blocks) if block not in self.blocks)


class Setting(NamedTuple):
    """What is the matter with a fleet."""

    n_nodes: int
    store_blocks: int              # of each node
    speed: float                   # how many times TinyLlama's on two cores
    capacity: int = 64             # requests that a node takes
    n_routers: int = 1
    loads_every_s: float = 0.0     # how old loads are at most; 0: never old
    reports_every_s: float = 0.0   # nodes tell what they have so often; 0: never
    reported_blocks: int = 4096    # ... of the newest, at most
    deaths: Sequence[float] = ()   # when a node dies, with its store


class Outcome(NamedTuple):
    found: float       # of all tokens
    saved: float       # of all seconds of computing
    busiest: float     # the busiest node's seconds over the mean
    waits_p50: float   # seconds before computing begins
    waits_p95: float
    most_load: int     # requests at one node, at most
    choice_us: float   # of a choice, in the mean
    table: int         # digests of a router's table at the end
    held: int          # ... and pairs of a digest and a node
    again: int         # requests that were sent once more


class Fleet:
    def __init__(self, setting: Setting, kind, seed: int = 1) -> None:
        n = setting.n_nodes
        self.setting = setting
        self.nodes = [Node(setting.store_blocks) for _ in range(n)]
        self.routers = [kind(n, seed + i) for i in range(setting.n_routers)]
        self.loads, self.alive = [0] * n, [True] * n
        self.seen = [[0] * n for _ in self.routers]  # loads, as each router knows them
        self.seen_at = [-1e9] * len(self.routers)
        self.done: List = []  # (when, node, number of the request)
        self.waiting: List[Dict[int, Request]] = [{} for _ in range(n)]
        self.draw = random.Random(seed)
        self.waits: List[float] = []
        self.found = self.tokens = self.number = self.again = self.most_load = 0
        self.full_s = self.choice_s = 0.0

    def run(self, requests: Sequence[Request]) -> Outcome:
        deaths, reports = deque(sorted(self.setting.deaths)), 0.0
        for request in requests:
            while deaths and deaths[0] <= request.at:
                self._die(deaths.popleft())
            if self.setting.reports_every_s and request.at >= reports:
                reports = request.at + self.setting.reports_every_s
                self._report()
            self.full_s += cost(0, request.n_tokens) / self.setting.speed
            self.tokens += request.n_tokens
            self.found += self._send(request, request.at)
        return self._outcome()

    def _send(self, request: Request, now: float) -> int:
        while self.done and self.done[0][0] <= now:
            _, node, number = heapq.heappop(self.done)
            if self.waiting[node].pop(number, None) is not None:
                self.loads[node] -= 1
        which = self.draw.randrange(len(self.routers))
        began = time.process_time()
        node = self.routers[which].choose(request, self._view(which, now))
        self.choice_s += time.process_time() - began
        return self._take(request, now, which, node)

    def _view(self, which: int, now: float) -> View:
        loads = self.loads
        if self.setting.loads_every_s:
            if now - self.seen_at[which] >= self.setting.loads_every_s:
                self.seen[which], self.seen_at[which] = list(self.loads), now
            loads = self.seen[which]
        return View(loads, self.alive, self.setting.capacity)

    def _take(self, request: Request, now: float, which: int, node: int) -> int:
        there = self.nodes[node]
        seconds = there.seconds(request) / self.setting.speed
        found = there.found(request)
        begin = max(now, there.free_at)
        there.free_at = begin + seconds
        there.busy_s += seconds
        self.waits.append(begin - now)
        self.loads[node] += 1
        if self.setting.loads_every_s:
            self.seen[which][node] += 1
        self.most_load = max(self.most_load, self.loads[node])
        self.number += 1
        self.waiting[node][self.number] = request
        heapq.heappush(self.done, (there.free_at, node, self.number))
        return found

    def _die(self, now: float) -> None:
        node = self.draw.choice([i for i, up in enumerate(self.alive) if up])
        left = list(self.waiting[node].values())
        self.alive[node], self.loads[node], self.waiting[node] = False, 0, {}
        self.nodes[node].busy_s -= max(0.0, self.nodes[node].free_at - now)
        self.nodes[node].alive = False
        for router in self.routers:
            if isinstance(router, Beginnings):
                router.forget(node)
        for request in left:
            self.again += 1
            self._send(request, now)

    def _report(self) -> None:
        for index, node in enumerate(self.nodes):
            newest = [b for b, _ in zip(reversed(node.blocks), range(self.setting.reported_blocks))]
            for router in self.routers:
                if node.alive and isinstance(router, Beginnings):
                    router.note(index, newest)

    def _outcome(self) -> Outcome:
        busy = [node.busy_s for node in self.nodes if node.alive]
        waits = sorted(self.waits)
        table = max(self.routers, key=lambda r: len(getattr(r, "table", ())))
        return Outcome(self.found / self.tokens,
                       1 - sum(n.busy_s for n in self.nodes) / self.full_s,
                       max(busy) / statistics.fmean(busy), waits[len(waits) // 2],
                       waits[len(waits) * 95 // 100], self.most_load,
                       1e6 * self.choice_s / len(waits), len(getattr(table, "table", ())),
                       getattr(table, "n_held", 0), self.again)


def setting_of(requests: List[Request], n_nodes: int, stores: float, busy: float = 0.6) -> Setting:
    """Nodes that are busy for a part of the time where nothing is found, whose stores have together
    a part of the working set."""
    blocks = {block for r in requests for block in r.blocks}
    seconds = sum(cost(0, r.n_tokens) for r in requests)
    length = requests[-1].at - requests[0].at
    return Setting(n_nodes, max(1, round(stores * len(blocks) / n_nodes)),
                   seconds / (length * n_nodes * busy))


def strains(requests: List[Request], n_nodes: int, stores: float, busy: float):
    """name, requests, setting, kind of router."""
    plain = setting_of(requests, n_nodes, stores, busy)
    length = requests[-1].at

    def only_reports(n, seed):
        return Beginnings(n, seed, learns=False)

    def small_table(n, seed):
        return Beginnings(n, seed, most_digests=1 << 15)

    def large_table(n, seed):
        return Beginnings(n, seed, most_digests=1 << 24)

    def unbounded(n, seed):
        return Beginnings(n, seed, bounded=False)

    yield "any beginning counts", requests, plain, any_beginning
    yield "a tenth of the request, or none", requests, plain, Beginnings
    yield "table of 32,768 digests", requests, plain, small_table
    yield "table without a bound", requests, plain, large_table
    for seconds in (10, 60):
        yield (f"knows reports alone, every {seconds} s", requests,
               plain._replace(reports_every_s=seconds), only_reports)
    for seconds in (1, 10):
        yield (f"16 routers, loads {seconds} s old", requests,
               plain._replace(n_routers=16, loads_every_s=seconds), Beginnings)
    yield ("16 routers, loads 10 s old, reports every 10 s", requests,
           plain._replace(n_routers=16, loads_every_s=10, reports_every_s=10), Beginnings)
    rush = crowd(requests, 0.5, 16)
    yield "half ask for one new text, a while", rush, plain, Beginnings
    yield "the same without a bound of load", rush, plain, unbounded
    yield "the same, hashing", rush, plain, Hashing
    dying = [length / 2 + i for i in range(n_nodes // 20)]
    yield "a node of twenty dies", requests, plain._replace(deaths=dying), Beginnings
    yield "the same, hashing", requests, plain._replace(deaths=dying), Hashing


HEAD = (f"{'':46} {'found':>6} {'saved':>6} {'busiest':>7} {'wait p50':>9} {'p95':>8} {'load':>5} "
        f"{'us':>6} {'digests':>8} {'held':>8} {'again':>5}")


def row(name: str, o: Outcome) -> str:
    return (f"{name:46} {o.found:6.1%} {o.saved:6.1%} {o.busiest:6.2f}x {o.waits_p50:8.2f}s "
            f"{o.waits_p95:7.1f}s {o.most_load:5} {o.choice_us:6.0f} {o.table:8} {o.held:8} "
            f"{o.again:5}")


def main(argv: Optional[Sequence[str]] = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("--nodes", default="8,100,1000")
    parser.add_argument("--strain", type=int, help="so many nodes, and what is hard for a router")
    parser.add_argument("--stores", type=float, default=0.25,
                        help="what all stores have together, of the working set (0.25)")
    parser.add_argument("--busy", type=float, default=0.6,
                        help="part of the time that nodes compute if nothing is found (0.6)")
    parser.add_argument("--json")
    a = parser.parse_args(argv)
    if not Path(a.trace).is_file():
        raise SystemExit(f"no trace {a.trace}: its source is in bench/README.md")
    trace = read(a.trace)
    rows = []
    print(HEAD)
    if a.strain:
        requests = spread_over(trace, a.strain)
        cases = list(strains(requests, a.strain, a.stores, a.busy))
    else:
        cases = []
        for n in [int(n) for n in a.nodes.split(",")]:
            requests = spread_over(trace, n)
            setting = setting_of(requests, n, a.stores, a.busy)
            cases += [(f"{n} nodes, {way}", requests, setting, kind) for way, kind in WAYS.items()]
            whole = setting._replace(n_nodes=1, store_blocks=n * setting.store_blocks,
                                     speed=n * setting.speed)
            cases.append((f"{n} nodes as one", requests, whole, InTurn))
    for name, requests, setting, kind in cases:
        outcome = Fleet(setting, kind).run(requests)
        rows.append({"name": name, "nodes": setting.n_nodes, **outcome._asdict()})
        print(row(name, outcome), flush=True)
    if a.json:
        Path(a.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
