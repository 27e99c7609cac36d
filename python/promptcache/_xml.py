"""Text in XML, which PML is: what is escaped, what cannot be written, and when its white space has to be
said to be meant. All of the package that writes PML writes it by these."""

from __future__ import annotations

import re

__all__ = ["attribute", "check", "cleaned", "is_folded", "text"]

# XML 1.0 has no way to write these.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WHITE = " \t\r\n"


def check(said: str) -> str:
    """The text; ValueError where it has a character that XML cannot write."""
    found = _UNWRITABLE.search(said)
    if found:
        raise ValueError(
            f"the text has U+{ord(found.group()):04X}, which XML, and so PML, cannot write"
        )
    return said


def cleaned(said: str) -> str:
    """The text with a space for each character that XML cannot write."""
    return _UNWRITABLE.sub(" ", said)


def text(said: str) -> str:
    escaped = said.replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;")
    return escaped.replace("\r", "&#13;")


def attribute(value: str) -> str:
    """The value in quotes."""
    escaped = text(value).replace('"', "&quot;")
    return '"' + escaped.replace("\n", "&#10;").replace("\t", "&#9;") + '"'


def is_folded(said: str) -> bool:
    """Whether PML takes this text, between two tags, as it stands (docs/PML.md, 3)."""
    inner = said.strip(_WHITE)
    before, _, behind = said.partition(inner) if inner else (said, "", "")
    return bool(inner) and before in ("", " ") and behind in ("", " ")
