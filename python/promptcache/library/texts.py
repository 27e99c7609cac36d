"""What a file says, as one text with a title: plain text, Markdown, HTML, PDF.

HTML and PDF are made Markdown's headings and paragraphs, so that one splitter serves all.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Optional

from .. import _xml
from .decoding import text_decoded
from .headings import headings_of, short
from .html_text import html_text
from .pdf_text import lacks_pypdf, pdf_text

__all__ = ["Text", "is_readable", "lacking", "read"]

_PLAIN = {".txt", ".text", ".log"}
_MARKDOWN = {".md", ".markdown", ".mdown", ".mkd"}
_HTML = {".html", ".htm", ".xhtml"}
_PDF = {".pdf"}


@dataclasses.dataclass(frozen=True)
class Text:
    """A file's title and text; lines end in \\n, paragraphs in an empty line."""

    title: str
    body: str
    marked: bool  # lines may be headings and fences of Markdown


def is_readable(path: Path) -> bool:
    """A file of a kind that a library reads, by the end of its name."""
    return path.suffix.lower() in _PLAIN | _MARKDOWN | _HTML | _PDF


def lacking(path: Path) -> Optional[str]:
    """What has to be installed before a file of this kind is read: a sentence. None: nothing."""
    return lacks_pypdf() if path.suffix.lower() in _PDF else None


def read(path: Path, raw: bytes) -> Text:
    """The text of a file's bytes. Unreadable: a sentence says why there is none."""
    kind = path.suffix.lower()
    if kind in _PDF:
        title, body = pdf_text(raw)
    elif kind in _HTML:
        title, body = html_text(raw)
    else:
        title, body = "", text_decoded(raw)
    body = body.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n\n")
    body = _xml.cleaned(body)  # so that PML can say it
    marked = kind not in _PLAIN | _PDF
    if marked and not title:
        title = next((t for _, level, t in headings_of(body) if level == 1 and t), "")
    return Text(short(" ".join(_xml.cleaned(title).split())) or path.stem, body, marked)
