"""A text as pieces at its own borders: sections, paragraphs, lines, sentences, words.

1. Pieces are spans that cover the text, in order, without gap or overlap.
2. A piece has at most `max_tokens` tokens, unless a single character has more.
3. Neighbours of one section that fit into one piece are one; whole sections are, up to half a piece.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Callable, Iterator, List, Tuple

from .headings import headings_of, is_underline

__all__ = ["Split", "split"]

Span = Tuple[int, int]  # [start, end) in characters
Count = Callable[[str], int]  # tokens of a text

# A border is behind a match, from coarse to fine.
_BORDERS = [
    re.compile(r"\n[ \t]*\n\s*"),
    re.compile(r"\n"),
    re.compile(r"""(?<=[.!?…])["'”’»)\]]*\s+|(?<=[。！？])"""),
    re.compile(r"\s+"),
]


@dataclasses.dataclass(frozen=True)
class Split:
    """A piece of a text: text[start:end]."""

    headings: Tuple[str, ...]  # of the sections that all of it stands in, the outermost first
    start: int
    end: int
    n_tokens: int


def split(text: str, marked: bool, max_tokens: int, count: Count) -> List[Split]:
    """marked: headings and fences of Markdown count. count: the tokens of a text."""
    pieces = []
    for headings, (start, end) in _joined(_sections(text, marked), text, max_tokens // 2, count):
        for a, b in _packed(_cut(text, (start, end), 0, max_tokens, count), text, max_tokens, count):
            pieces.append(Split(headings, a, b, count(text[a:b])))
    return pieces


Section = Tuple[Tuple[str, ...], Span]


def _sections(text: str, marked: bool) -> List[Section]:
    path: List[Tuple[int, str]] = []
    sections: List[Section] = []
    start = 0
    for place, level, title in headings_of(text) if marked else ():
        if place > start:
            sections.append((tuple(t for _, t in path), (start, place)))
        path = [p for p in path if p[0] < level] + [(level, title)]
        start = place
    if len(text) > start:
        sections.append((tuple(t for _, t in path), (start, len(text))))
    return sections


def _joined(
    sections: List[Section], text: str, max_tokens: int, count: Count
) -> List[Section]:
    """Small sections beside each other as one, under the headings that they share; a heading with
    nothing under it but sections, with the first of them."""
    joined: List[Section] = []
    for headings, (start, end) in sections:
        if joined:
            before, (a, _) = joined[-1]
            if before and before == headings[: len(before)] and _is_heading(text[a:start]):
                joined[-1] = (headings, (a, end))
                continue
            if end - a <= 16 * max_tokens and count(text[a:end]) <= max_tokens:
                joined[-1] = (_shared(before, headings), (a, end))
                continue
        joined.append((headings, (start, end)))
    return joined


def _is_heading(section: str) -> bool:
    lines = [line for line in section.split("\n") if line.strip()]
    return len(lines) == 1 or (len(lines) == 2 and is_underline(lines[1]))


def _shared(a: Tuple[str, ...], b: Tuple[str, ...]) -> Tuple[str, ...]:
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return a[:n]


def _cut(text: str, span: Span, level: int, max_tokens: int, count: Count) -> Iterator[Span]:
    """The span as parts that fit, at the coarsest borders that make them fit."""
    start, end = span
    if end - start <= 1 or count(text[start:end]) <= max_tokens:
        yield span
        return
    if level < len(_BORDERS):
        ends = [m.end() for m in _BORDERS[level].finditer(text, start, end)]
        ends = [place for place in ends if start < place < end]
    else:
        ends = [(start + end) // 2]
    for part in zip([start, *ends], [*ends, end]):
        yield from _cut(text, part, min(level + 1, len(_BORDERS)), max_tokens, count)


def _packed(parts: Iterator[Span], text: str, max_tokens: int, count: Count) -> Iterator[Span]:
    """Neighbours that fit together as one."""
    a = b = -1
    for start, end in parts:
        if a < 0:
            a, b = start, end
        elif count(text[a:end]) <= max_tokens:
            b = end
        else:
            yield a, b
            a, b = start, end
    if a >= 0:
        yield a, b
