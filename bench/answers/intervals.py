"""Differences of two ways of answering the same questions, with what chance allows."""

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
