"""The text of an HTML document: headings, paragraphs, items and cells as Markdown writes them."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Dict, List, Optional, Tuple

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
_CHARSET = re.compile(rb"""<meta[^>]+charset=["']?\s*([A-Za-z0-9_.:-]+)""", re.I)


class _Reader(HTMLParser):
    """Collects what is seen. Tags that nobody closes are closed by their parents' ends."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.parts: List[str] = []
        self._unseen: List[str] = []
        self._in_title = False
        self._pre = 0

    def handle_starttag(self, tag: str, attributes: List[Tuple[str, Optional[str]]]) -> None:
        if tag == "title" and self._unseen in ([], ["head"]):
            self._in_title = True
        elif tag == "body":
            self._unseen.clear()  # a head that nobody closed
        elif self._unseen:
            if tag in self._unseen:
                self._unseen.append(tag)
        elif tag in _UNSEEN:
            self._unseen.append(tag)
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

    def handle_startendtag(self, tag: str, attributes: List[Tuple[str, Optional[str]]]) -> None:
        if tag not in _UNSEEN | {"title", "pre"} and not self._unseen:
            self._open(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in self._unseen:
            del self._unseen[len(self._unseen) - 1 - self._unseen[::-1].index(tag) :]
        elif self._unseen:
            return
        elif tag == "pre" and self._pre:
            self._pre -= 1
            self.parts.append("\n```\n\n")
        elif tag in _HEADINGS or tag in _BLOCKS:
            self.parts.append("\n\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._unseen:
            self.parts.append(data if self._pre else _SPACE.sub(" ", data))


def html_text(raw: bytes) -> Tuple[str, str]:
    """Title and text."""
    reader = _Reader()
    reader.feed(_decoded(raw))
    reader.close()
    return reader.title, _tidied("".join(reader.parts))


def _decoded(raw: bytes) -> str:
    """As the document says, else UTF-8; bytes that are neither are taken as browsers take them."""
    declared = _CHARSET.search(raw[:2048])
    names: Dict[str, None] = dict.fromkeys(["utf-8-sig"])
    if declared:
        names[declared.group(1).decode("ascii")] = None
    for name in names:
        try:
            return raw.decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
    return raw.decode("cp1252", "replace")


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
