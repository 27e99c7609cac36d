#!/usr/bin/env python3
"""Points against tokens computed anew, as an SVG; no package is needed.

    python3 bench/answers/plot.py ANSWERS.json FILE.svg [--metric NAME]

From what answers.py --json writes. Up goes what a way gains over the full prefill, in points of a
metric, with its 95 % interval; to the right, the share of the modules' tokens that it computes
anew. Each kind of repair is a curve that begins where nothing is repaired; ways that compute
nothing anew are points, the full prefill is a line."""

import argparse
import json
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from svg_bars import text  # noqa: E402

COLOURS = ("#1f6feb", "#2da44e", "#bf5700", "#8250df", "#cf222e", "#57606a")  # on white
LEFT, TOP, WIDTH, HEIGHT, RIGHT, BOTTOM = 64, 84, 500, 280, 36, 46
INSET = 36  # between the left axis and 0, for the points that stand side by side there
APART = 9   # between such points; a curve's own place beside the others' is half of it


def ticks(low, high, n=6):
    """At most about n round numbers from low to high."""
    step = 10 ** math.floor(math.log10(high - low))
    step = next(s for s in (step / 5, step / 2, step, 2 * step) if (high - low) / s <= n)
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def series_of(ways, metric):
    """kind of way -> its points [(amount, anew in %, gain, low, high in points)], by anew; a way
    that has no amount is the only point of its kind."""
    curves = {}
    for way, figures in ways.items():
        if way == "full":
            continue
        kind, _, amount = way.partition(":")
        gain = [100 * x for x in figures["metrics"][metric]["difference"]]
        curves.setdefault(kind, []).append((amount, 100 * figures["anew"], *gain))
    return {kind: sorted(points, key=lambda p: p[1]) for kind, points in curves.items()}


class Axes:
    """Where values stand on the paper."""

    def __init__(self, curves):
        points = [p for c in curves.values() for p in c]
        self.right = max([1.0, *(p[1] for p in points)]) * 1.05
        low, high = (f([0.0, *(p[i] for p in points)]) for f, i in ((min, 3), (max, 4)))
        margin = 0.06 * max(high - low, 1.0)
        self.low, self.high = low - margin, high + margin

    def x(self, anew):
        return LEFT + INSET + (WIDTH - INSET) * anew / self.right

    def y(self, gain):
        return TOP + HEIGHT * (self.high - gain) / (self.high - self.low)

    def drawn(self):
        for gain in ticks(self.low, self.high):
            yield line(LEFT, LEFT + WIDTH, self.y(gain), self.y(gain), "#dddddd")
            yield text(LEFT - 6, self.y(gain) + 4, f"{gain:+g}" if gain else "0", "end", 11)
        for anew in ticks(0, self.right):
            yield line(self.x(anew), self.x(anew), TOP + HEIGHT, TOP + HEIGHT + 4, "#57606a")
            yield text(self.x(anew), TOP + HEIGHT + 17, f"{anew:g} %", "middle", 11)
        yield line(LEFT, LEFT + WIDTH, TOP + HEIGHT, TOP + HEIGHT, "#57606a")
        yield line(LEFT, LEFT + WIDTH, self.y(0), self.y(0), "#000000", 1.5)
        yield text(LEFT + WIDTH / 2, TOP + HEIGHT + 38, "modules' tokens computed anew", "middle")


def line(x1, x2, y1, y2, colour, width=1.0):
    return (f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width}"/>')


def curve(axes, points, begin, colour, shift):
    """A curve's points, their intervals and amounts; begin: the point it goes out from, or None."""
    at = [(axes.x(p[1]) + shift, axes.y(p[2])) for p in points]
    if begin:
        at.insert(0, (axes.x(begin[1]), axes.y(begin[2])))
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
    for amount, anew, gain, low, high in points:
        x, y = axes.x(anew) + shift, axes.y(gain)
        yield line(x, x, axes.y(low), axes.y(high), colour, 1.5)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
        if amount:
            beside, anchor = (x - 6, "end") if shift < 0 else (x + 6, "start")
            yield f'<g fill="{colour}">{text(beside, y - 5, amount, anchor, 10)}</g>'


def legend(names):
    x = LEFT
    for colour, name in names:
        yield f'<circle cx="{x + 5:.1f}" cy="58" r="4" fill="{colour}"/>'
        yield text(x + 13, 62, name)
        x += 30 + 7 * len(name)


def plot(study, metric):
    """study: what answers.py --json writes."""
    curves = series_of(study["ways"], metric)
    single = [kind for kind, points in curves.items() if points[0][0] == ""]
    repairs = [kind for kind in curves if kind not in single]
    if len(curves) > len(COLOURS):
        raise ValueError(f"a plot has {len(COLOURS)} kinds of ways at most, not {len(curves)}")
    colours = dict(zip([*repairs, *single], COLOURS))
    full = study["ways"]["full"]
    axes, begin = Axes(curves), curves.get("none", [None])[0]
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" '
           f'height="{TOP + HEIGHT + BOTTOM}" font-family="sans-serif">',
           '<rect width="100%" height="100%" fill="white"/>',
           text(10, 20, f"{study['set']}, {study['model']}, {full['n']} questions", size=13),
           text(10, 38, f"{metric}: points against the full prefill's "
                f"{100 * full['metrics'][metric]['mean']:.1f} %, 95 % intervals"),
           *legend([("#000000", "full"), *((colours[k], k) for k in curves)]), *axes.drawn()]
    for i, kind in enumerate(repairs):
        shift = (i - (len(repairs) - 1) / 2) * APART / 2
        out += curve(axes, curves[kind], begin, colours[kind], shift)
    for i, kind in enumerate(k for k in single if k != "none"):
        out += curve(axes, curves[kind], None, colours[kind], -(i + 1) * APART)
    if begin:
        out += curve(axes, curves["none"], None, colours["none"], 0)
    return "\n".join(out) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("json", type=Path)
    parser.add_argument("svg", type=Path)
    parser.add_argument("--metric")
    a = parser.parse_args()
    study = json.loads(a.json.read_text())
    metric = a.metric or study["metrics"][0]
    if metric not in study["metrics"]:
        sys.exit(f"plot.py: {a.json} has no metric {metric}; it has {', '.join(study['metrics'])}")
    a.svg.write_text(plot(study, metric))


if __name__ == "__main__":
    main()
