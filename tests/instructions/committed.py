"""Counts of instructions beside those that are committed."""

import sys

SKIPPED = 77


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def compare(counts, committed, bound, file):
    """What is wrong with counts, path -> instructions, for which `file` has `committed`."""
    problems = [f"{name} is in one of program and {file} alone" for name in sorted(counts.keys() ^ committed.keys())]
    print(f"{'path':<32}{'committed':>10}{'now':>10}{'ratio':>8}")
    for name in sorted(counts.keys() & committed.keys()):
        ratio = counts[name] / committed[name]
        print(f"{name:<32}{committed[name]:>10}{counts[name]:>10}{ratio:>8.3f}")
        if ratio > bound:
            problems.append(f"{name} takes {ratio:.2f} times the instructions that are committed")
    return problems
