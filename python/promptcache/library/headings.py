"""The headings of a Markdown text: where they stand, and their titles, no longer than a line."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Tuple

__all__ = ["atx", "headings_of", "is_underline", "short"]

# Characters of a title. It stands before each piece of its section, in the index and in prompts: a
# line of any length that begins with # must not.
_LONGEST = 120

_SETEXT = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def short(title: str) -> str:
    """The title, or its beginning and "…"."""
    title = title.strip()
    return title if len(title) <= _LONGEST else title[: _LONGEST - 1].rstrip() + "…"


def atx(line: str) -> Optional[Tuple[int, str]]:
    """Level and title of a line that begins with #; None of any other line. Not by a pattern: one with
    so much white space that may be there tries each way of sharing it, on a line of any length."""
    bare = line.lstrip(" ")
    level = len(bare) - len(bare.lstrip("#"))
    rest = bare[level:]
    if len(line) - len(bare) > 3 or not 1 <= level <= 6 or rest[:1] not in ("", " ", "\t"):
        return None
    title = rest.strip(" \t")
    open_end = title.rstrip("#")
    if open_end[-1:] in ("", " ", "\t"):  # signs behind a blank close the heading
        title = open_end
    return level, title.strip()


def is_underline(line: str) -> bool:
    """Whether it makes a heading of the line above."""
    return _SETEXT.match(line) is not None


def headings_of(text: str) -> Iterator[Tuple[int, int, str]]:
    """Where a heading's line begins, its level and its title."""
    fence = "---" if text.startswith("---\n") else ""  # front matter is no heading
    above, above_at, place = "", 0, 0
    for bare in text.split("\n"):
        length = len(bare) + 1
        opening, heading = _FENCE.match(bare), atx(bare)
        if fence:
            closed = place > 0 and bare.strip().startswith(fence) and not bare.strip(" \t`~-")
            fence = "" if closed else fence
            bare = ""
        elif opening:
            fence, bare = opening.group(1), ""
        elif heading:
            yield place, heading[0], short(heading[1])
            bare = ""
        elif above and is_underline(bare):
            yield above_at, 1 if "=" in bare else 2, short(above)
            bare = ""
        above, above_at, place = bare.strip(), place, place + length
