"""Grouped horizontal bars on a logarithmic axis, as an SVG text; no package is needed."""

import math
from xml.sax.saxutils import escape

COLOURS = ("#8a8f98", "#1f6feb", "#2da44e")
LEFT, WIDTH, BAR, GAP, TOP = 150, 560, 11, 9, 58


def text(x, y, words, anchor="start", size=12):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">'
            f"{escape(words)}</text>")


def plot(title, series, groups):
    """groups: [(label, [a positive value for each of series])]."""
    values = [v for _, row in groups for v in row]
    low = math.floor(math.log10(min(values)))
    high = max(math.ceil(math.log10(max(values))), low + 1)
    step = len(series) * BAR + GAP

    def x(value):
        return LEFT + WIDTH * (math.log10(value) - low) / (high - low)

    height = TOP + step * len(groups) + 30
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 70}" height="{height}" '
           'font-family="sans-serif">', '<rect width="100%" height="100%" fill="white"/>',
           text(10, 20, title, size=14)]
    for i, name in enumerate(series):
        out.append(f'<rect x="{LEFT + 150 * i}" y="32" width="12" height="12" fill="{COLOURS[i]}"/>')
        out.append(text(LEFT + 150 * i + 17, 42, name))
    for power in range(low, high + 1):
        out.append(f'<line x1="{x(10 ** power):.1f}" x2="{x(10 ** power):.1f}" y1="{TOP - 6}" '
                   f'y2="{height - 24}" stroke="#dddddd"/>')
        out.append(text(x(10 ** power), height - 8, f"{10 ** power:g}", "middle"))
    for i, (label, row) in enumerate(groups):
        top = TOP + step * i
        out.append(text(LEFT - 8, top + len(row) * BAR / 2 + 4, label, "end"))
        for j, value in enumerate(row):
            y = top + j * BAR
            out.append(f'<rect x="{LEFT}" y="{y}" width="{x(value) - LEFT:.1f}" '
                       f'height="{BAR - 1}" fill="{COLOURS[j]}"/>')
            out.append(text(x(value) + 4, y + BAR - 2, f"{value:.0f}", size=10))
    return "\n".join(out) + "\n</svg>\n"
