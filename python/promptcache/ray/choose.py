"""Which replica answers a request: what each has of its beginning, and how busy each is, decide.

Replicas that have the longest beginning go first, as long as none of them gets much more than its
share: one is passed over where its load reaches `spread` times the mean load, plus `slack` (the rule
of consistent hashing with bounded loads). Among equals two are drawn, and the less busy one is taken
(the power of two choices). Pure functions, which need no Ray: what they draw comes from the caller.
"""

from __future__ import annotations

import random
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence

__all__ = ["LEAST_SHARE", "SLACK", "SPREAD", "Replica", "choose", "ranks", "that_count"]

# A fourth more than the mean leaves most beginnings where they are, and no replica far behind.
SPREAD = 1.25
# A fleet with nothing to do has a mean of 0: one request more than that is nobody's burden.
SLACK = 1.0
# Of a request, what a beginning must be to draw it anywhere: one that all requests share would draw
# all to the few that have it. Of 0, 0.1, 0.25 and 0.5 this found most on a trace (docs/SCALE.md).
LEAST_SHARE = 0.1


def that_count(has: Dict[str, int], request: int) -> Dict[str, int]:
    """Of the stores that have something of a request of this size, those that have a tenth of it."""
    return {store: n for store, n in has.items() if n >= LEAST_SHARE * request}


class Replica(NamedTuple):
    """What is known of a replica when a request comes."""

    has: int  # how much of the request's beginning it has, in whatever unit all of them are told in
    load: int  # requests that it answers or holds in its queue
    capacity: int  # requests that it takes at most


def choose(
    replicas: Sequence[Replica],
    draw: random.Random,
    *,
    spread: float = SPREAD,
    slack: float = SLACK,
) -> Optional[int]:
    """The index of the replica that shall answer; None where all of them are full."""
    for rank in ranks(replicas, draw, spread=spread, slack=slack):
        return rank[0]
    return None


def ranks(
    replicas: Sequence[Replica],
    draw: random.Random,
    *,
    spread: float = SPREAD,
    slack: float = SLACK,
) -> Iterator[List[int]]:
    """Indices of all replicas that are not full, the best ones first, in ranks of one or two, the
    less busy one first: who finds a rank full after all goes on to the next."""
    if not replicas:
        return
    bound = spread * sum(replica.load for replica in replicas) / len(replicas) + slack
    within: Dict[int, List[int]] = {}
    beyond: List[int] = []
    for index, replica in enumerate(replicas):
        if replica.load < min(bound, replica.capacity):
            within.setdefault(replica.has, []).append(index)
        elif replica.load < replica.capacity:
            beyond.append(index)
    for has in sorted(within, reverse=True):
        yield from _pairs(within[has], replicas, draw)
    yield from _pairs(beyond, replicas, draw)


def _pairs(
    equals: List[int], replicas: Sequence[Replica], draw: random.Random
) -> Iterator[List[int]]:
    """All of them in a random order, two at a time; no more is drawn than is asked for."""
    while equals:
        pair = [_drawn(equals, draw) for _ in range(min(2, len(equals)))]
        yield sorted(pair, key=lambda index: replicas[index].load)


def _drawn(equals: List[int], draw: random.Random) -> int:
    place = draw.randrange(len(equals))
    equals[place], equals[-1] = equals[-1], equals[place]
    return equals.pop()
