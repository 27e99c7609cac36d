"""Pages of metrics, as Prometheus reads them: those of many servers as one.

Every sample gets the labels of its server; a metric is described once. Pure.
"""

from __future__ import annotations

import re
from typing import Dict, List, Mapping, Tuple

__all__ = ["merged"]

_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)")
_SUFFIX = re.compile(r"_(?:bucket|sum|count)$")


def merged(pages: List[Tuple[Mapping[str, str], str]]) -> str:
    """pages: each with the labels that its samples get."""
    described: Dict[str, List[str]] = {}
    samples: Dict[str, List[str]] = {}
    for labels, page in pages:
        for line in page.splitlines():
            if line.startswith("# "):
                name = line.split(" ", 3)[2]
                if line not in described.setdefault(name, []):
                    described[name].append(line)
            elif found := _SAMPLE.fullmatch(line):
                samples.setdefault(_family(found[1], described), []).append(
                    _labelled(found[1], found[2] or "", labels, found[3])
                )
    return "".join(
        line + "\n" for name, lines in samples.items() for line in described.get(name, []) + lines
    )


def _family(name: str, described: Mapping[str, object]) -> str:
    """Of a histogram's series the histogram."""
    return name if name in described else _SUFFIX.sub("", name)


def _labelled(name: str, own: str, labels: Mapping[str, str], value: str) -> str:
    added = [f'{key}="{_escaped(text)}"' for key, text in labels.items()]
    inside = ",".join([own, *added] if own else added)
    return f"{name}{{{inside}}} {value}" if inside else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
