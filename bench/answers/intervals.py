"""Differences of two ways of answering the same questions, with what chance allows."""

import math
import random

RESAMPLES = 4000


def mean(values):
    return sum(values) / len(values)


def difference(a, b, seed=1):
    """Mean of a - b over pairs, and its 95 % interval: percentiles of the bootstrap over questions
    (Efron 1979)."""
    pairs = [x - y for x, y in zip(a, b, strict=True)]
    draw = random.Random(seed)
    means = sorted(mean(draw.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    return mean(pairs), means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]


def mcnemar(a, b):
    """How likely chance alone parts two ways at least so far whose answers are right (1) or wrong
    (0): McNemar's exact test, two-sided. None where an answer may be right in part."""
    pairs = list(zip(a, b, strict=True))
    if any(value not in (0, 1) for pair in pairs for value in pair):
        return None
    won, lost = pairs.count((1, 0)), pairs.count((0, 1))
    n = won + lost
    return min(1.0, 2 * sum(math.comb(n, k) for k in range(min(won, lost) + 1)) / 2 ** n)
