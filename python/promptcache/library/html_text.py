"""The text of an HTML document: headings, paragraphs, items and cells as Markdown writes them."""

from __future__ import annotations

import re
from typing import List, Tuple

from .decoding import html_decoded
from .html_tags import Tag, tags_of

__all__ = ["html_text"]

_UNSEEN = {"script", "style", "template", "svg", "head"}
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "dd", "details", "div", "dl", "dt",
    "figcaption", "figure", "footer", "form", "header", "main", "nav", "ol", "p", "section",
    "summary", "table", "ul", "hr",
}  # fmt: skip
_LINES = {"br", "tr"}
_SPACE = re.compile(r"[ \t\r\n\f]+")


class _Reader:
    """Collects what is seen. Tags that nobody closes are closed by their parents' ends."""

    def __init__(self) -> None:
        self.titles: List[str] = []
        self.parts: List[str] = []
        self._unseen = ""  # the tag that hides what stands in it
        self._depth = 0  # of such tags in each other
        self._in_title = False
        self._pre = 0

    def read(self, tag: Tag) -> None:
        if not tag.name:
            self._say(tag.text)
        elif tag.is_end:
            self._end(tag.name)
        elif not tag.is_empty:
            self._start(tag.name)
        elif tag.name not in _UNSEEN | {"title", "pre"} and not self._depth:
            self._open(tag.name)

    def _start(self, tag: str) -> None:
        if tag == "title" and (not self._depth or self._unseen == "head"):
            self._in_title = True
        elif tag == "body":
            self._depth = 0  # a head that nobody closed
        elif self._depth:
            self._depth += tag == self._unseen
        elif tag in _UNSEEN:
            self._unseen, self._depth = tag, 1
        else:
            self._open(tag)

    def _open(self, tag: str) -> None:
        if tag in _HEADINGS:
            self.parts.append("\n\n" + _HEADINGS[tag])
        elif tag == "pre":
            self._pre += 1
            self.parts.append("\n\n```\n")
        elif tag in _BLOCKS:
            self.parts.append("\n\n")
        elif tag == "li":
            self.parts.append("\n- ")
        elif tag in _LINES:
            self.parts.append("\n")
        elif tag in ("td", "th"):
            self.parts.append(" | ")

    def _end(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif self._depth:
            self._depth -= tag == self._unseen
        elif tag == "pre" and self._pre:
            self._pre -= 1
            self.parts.append("\n```\n\n")
        elif tag in _HEADINGS or tag in _BLOCKS:
            self.parts.append("\n\n")

    def _say(self, text: str) -> None:
        if self._in_title:
            self.titles.append(text)
        elif not self._depth:
            self.parts.append(text if self._pre else _SPACE.sub(" ", text))


def html_text(raw: bytes) -> Tuple[str, str]:
    """Title and text. Unreadable: its charset is not the one that it says."""
    reader = _Reader()
    for tag in tags_of(html_decoded(raw)):
        reader.read(tag)
    return "".join(reader.titles), _tidied("".join(reader.parts))


def _tidied(text: str) -> str:
    """Without spaces at the ends of lines, and with one empty line between paragraphs."""
    out: List[str] = []
    fenced = False
    for line in text.split("\n"):
        if line == "```":
            fenced = not fenced
        line = line.rstrip() if fenced else line.strip(" \t")
        if line or (out and out[-1]):
            out.append(line)
    return "\n".join(out).strip("\n") + "\n"
