"""The tags of an HTML document and the text between them, for any bytes in linear time.

As the HTML standard reads them (13.2.5), without attributes, which no reader here asks for. Python's own
html.parser takes the square of the length for tags that nobody closes, raises for some declarations,
and reads scripts otherwise in each version.
"""

from __future__ import annotations

import html
import re
from typing import Dict, Iterator, NamedTuple

__all__ = ["Tag", "tags_of"]

_NAME = re.compile(r"[A-Za-z][^\s/>]*")
_QUOTE_OR_END = re.compile(r"""=[ \t\r\n\f]*(["'])|>""")
_DIGITS = re.compile(r"&#0*([0-9]{1,8})[0-9]*")
# What stands in these is no markup, up to their own end.
_RAW = {n: re.compile(rf"</{n}(?=[\s/>])", re.I) for n in ("script", "style")}


class Tag(NamedTuple):
    """What stands next: a text (`name` is ""), or a tag."""

    text: str = ""
    name: str = ""  # in lower case
    is_end: bool = False
    is_empty: bool = False  # <br/>


class _Places:
    """The next place of a string, for places asked in rising order: what was found once is not searched
    again, so that no part of the source is looked through twice for one string."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._next: Dict[str, int] = {}

    def of(self, text: str, start: int) -> int:
        """At or behind start; the source's length where there is none."""
        place = self._next.get(text, -1)
        if place < start:
            place = self._source.find(text, start)
            self._next[text] = place = len(self._source) if place < 0 else place
        return place


def tags_of(source: str) -> Iterator[Tag]:
    """The document in order. A comment or script that nobody closes hides the rest, as in browsers; a
    tag that nobody closes is text, and so is all behind it."""
    places, place, said = _Places(source), 0, 0
    while place < len(source):
        start = places.of("<", place)
        is_end = source.startswith("/", start + 1)
        name = _NAME.match(source, start + 1 + is_end)
        if name is not None:
            place = _behind_tag(source, name.end(), places)
            if place > len(source):
                break
        elif source[start + 1 : start + 2] in ("!", "?", "/"):
            place = _behind_comment(source, start, places)
        else:
            place = start + 1  # a sign like any other
            continue
        if start > said:
            yield Tag(_unescaped(source[said:start]))
        said = place
        if name is not None:
            is_empty = source[place - 2] == "/"
            yield Tag("", name.group().lower(), is_end, is_empty)
            if not is_end and not is_empty and name.group().lower() in _RAW:
                end = _RAW[name.group().lower()].search(source, place)
                said = place = len(source) if end is None else end.start()
    if said < len(source):
        yield Tag(_unescaped(source[said:]))


def _behind_tag(source: str, place: int, places: _Places) -> int:
    """Behind the sign that closes the tag; more than the source's length where none does. Values in
    quotes may have that sign; a quote that nobody closes is none."""
    while True:
        found = _QUOTE_OR_END.search(source, place)
        if found is None:
            return len(source) + 1
        place = found.end()
        if found.group(1) is None:
            return place
        closing = places.of(found.group(1), place)
        place = place if closing == len(source) else closing + 1


def _behind_comment(source: str, start: int, places: _Places) -> int:
    """Behind <!-- ... -->, and behind <!...>, <?...> and </...> that are no tags."""
    if not source.startswith("<!--", start):
        return min(places.of(">", start) + 1, len(source))
    for empty in ("<!-->", "<!--->"):
        if source.startswith(empty, start):
            return start + len(empty)
    usual, odd = places.of("-->", start + 4), places.of("--!>", start + 4)
    return min(usual + 3 if usual < odd else odd + 4, len(source))


def _unescaped(text: str) -> str:
    """With the characters that references stand for. Of a number's digits the first eight that count:
    there are no such characters, and Python takes the square of their number, or refuses them."""
    return html.unescape(_DIGITS.sub(r"&#\1", text))
