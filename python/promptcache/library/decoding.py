"""The bytes of a file as text, by the encoding that they are in."""

from __future__ import annotations

import codecs
import re
import warnings
from typing import Optional

__all__ = ["Unreadable", "html_decoded", "text_decoded"]

_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CHARSET = re.compile(rb"""<meta[^>]+charset=["']?\s*([A-Za-z0-9_.:-]+)""", re.I)
_HALF = re.compile("[\ud800-\udfff]")  # of a surrogate pair, which no text has


class Unreadable(Exception):
    """A file that a library cannot read: a sentence says why there is no text to be had of it, and what
    to do about it."""


def text_decoded(raw: bytes) -> str:
    """UTF-8, or UTF-16 where a byte order mark says so."""
    try:
        return raw.decode("utf-16" if raw.startswith(_MARKS) else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"it is not UTF-8 (byte {error.start}); save it as UTF-8") from error


def html_decoded(raw: bytes) -> str:
    """As text_decoded(); else as the document declares; one that declares nothing, as browsers take
    it."""
    try:
        return text_decoded(raw)
    except Unreadable:
        declared = _CHARSET.search(raw[:2048])
    if declared is None:
        return raw.decode("cp1252", "replace")
    name = declared.group(1).decode("ascii")
    text = _decoded_by(name, raw)
    if text is None:
        raise Unreadable(
            f"it says that its charset is {name[:40]}, and is neither that nor UTF-8; save it as UTF-8"
        )
    return text


def _decoded_by(name: str, raw: bytes) -> Optional[str]:
    """None where the bytes are no text in that encoding. Python's codecs raise more than they say, and
    some are of no charset: by those the declaration itself reads otherwise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes that are none
        try:
            text = raw.decode(name)
        except Exception:
            return None
    return None if _HALF.search(text) or f"charset={name}" not in _plain(text) else text


def _plain(text: str) -> str:
    """The beginning without quotes and white space."""
    return re.sub(r"""["'\s]""", "", text[:4096])
