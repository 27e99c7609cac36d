#!/usr/bin/env python3
"""Seconds of computing saved against a store's budget, a line for each policy, as an SVG; no
package is needed.

    python3 bench/traces/savings_plot.py FILE.svg NAME=RUNS.json [NAME=RUNS.json ...]

From what traces_bench --json writes; a panel for each name."""

import json
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from svg_bars import text  # noqa: E402

# On white; those that are drawn, in the order of the legend.
COLOURS = {"farthest": "#8a8f98", "worth": "#1f6feb", "lru": "#cf222e", "sglang-lru": "#2da44e",
           "lmcache-cost": "#bf5700", "s3-fifo": "#8250df", "gdsf": "#57606a"}
LEFT, TOP, WIDTH, HEIGHT, APART, RIGHT, BOTTOM = 56, 84, 360, 280, 52, 24, 46
TICK = 10  # per cent


def curves(runs):
    """policy -> [(budget in % of the working set, seconds saved in %)], by budget."""
    found = {}
    for run in runs["runs"]:
        if run["policy"] in COLOURS:
            saved = 100 * (run["full_s"] - run["computed_s"]) / run["full_s"]
            found.setdefault(run["policy"], []).append((run["budget_percent"], saved))
    if not found:
        raise ValueError("no run of a policy that is drawn: " + ", ".join(COLOURS))
    return {policy: sorted(points) for policy, points in found.items()}


class Axes:
    """Where values stand on the paper: budgets by their logarithm."""

    def __init__(self, lines, left):
        points = [p for line in lines.values() for p in line]
        self.left = left
        self.low, self.high = (f(math.log(b) for b, _ in points) for f in (min, max))
        self.most = TICK * math.ceil(max(max(s for _, s in points), TICK) / TICK)

    def x(self, budget):
        span = self.high - self.low or 1
        return self.left + WIDTH * (math.log(budget) - self.low) / span

    def y(self, saved):
        return TOP + HEIGHT * (1 - saved / self.most)


def panel(name, lines, left):
    axes = Axes(lines, left)
    out = [text(left + WIDTH / 2, TOP - 12, name, "middle", 13)]
    for saved in range(0, axes.most + 1, TICK):
        out.append(f'<line x1="{left}" x2="{left + WIDTH}" y1="{axes.y(saved):.1f}" '
                   f'y2="{axes.y(saved):.1f}" stroke="#dddddd"/>')
        out.append(text(left - 6, axes.y(saved) + 4, f"{saved}", "end", 11))
    for budget in sorted({b for line in lines.values() for b, _ in line}):
        out.append(text(axes.x(budget), TOP + HEIGHT + 17, f"{budget:g}", "middle", 11))
    out.append(text(left + WIDTH / 2, TOP + HEIGHT + 38, "budget, % of the working set", "middle"))
    for policy, colour in COLOURS.items():
        points = " ".join(f"{axes.x(b):.1f},{axes.y(s):.1f}" for b, s in lines.get(policy, ()))
        dashes = ' stroke-dasharray="5 4"' if policy == "farthest" else ""
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" '
                   f'stroke-width="{2.5 if policy == "worth" else 1.5}"{dashes}/>')
    return out


def plot(studies):
    """studies: {name: what traces_bench wrote}."""
    width = LEFT + len(studies) * WIDTH + (len(studies) - 1) * APART + RIGHT
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
           f'height="{TOP + HEIGHT + BOTTOM}" font-family="sans-serif">',
           '<rect width="100%" height="100%" fill="white"/>',
           text(10, 20, "Seconds of computing saved, % of those without a store", size=14)]
    for i, (policy, colour) in enumerate(COLOURS.items()):
        x = 10 + 112 * i
        out.append(f'<rect x="{x}" y="34" width="12" height="12" fill="{colour}"/>')
        out.append(text(x + 17, 44, policy))
    for i, (name, runs) in enumerate(studies.items()):
        out += panel(name, curves(runs), LEFT + i * (WIDTH + APART))
    return "\n".join(out) + "\n</svg>\n"


def main():
    if len(sys.argv) < 3 or not all("=" in a for a in sys.argv[2:]):
        sys.exit(__doc__)
    studies = {}
    for argument in sys.argv[2:]:
        name, _, path = argument.partition("=")
        studies[name] = json.loads(Path(path).read_text())
    Path(sys.argv[1]).write_text(plot(studies))


if __name__ == "__main__":
    main()
