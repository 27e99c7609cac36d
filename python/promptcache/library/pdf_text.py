"""The text of a PDF, by the pypdf package where it is installed."""

from __future__ import annotations

import io
import re
from typing import Optional, Tuple

from .decoding import Unreadable

__all__ = ["lacks_pypdf", "pdf_text"]

_HYPHEN = re.compile(r"(?<=[^\W\d_])-\n(?=[a-z])")  # a word that a line's end parts


def lacks_pypdf() -> Optional[str]:
    """Why no PDF can be read: a sentence. None: one can."""
    try:
        import pypdf  # type: ignore[import-not-found,unused-ignore]  # noqa: F401
    except ImportError:
        return "reading PDF takes the package pypdf: pip install pypdf"
    return None


def pdf_text(raw: bytes) -> Tuple[str, str]:
    """Title and text; a page begins a paragraph."""
    lacking = lacks_pypdf()
    if lacking:
        raise Unreadable(lacking)
    import pypdf

    try:
        reader = pypdf.PdfReader(io.BytesIO(raw))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("it is encrypted; save a copy without a password")
        pages = [page.extract_text() for page in reader.pages]
        title = (reader.metadata.title if reader.metadata else None) or ""
    except Unreadable:
        raise
    except Exception as error:  # of damaged files pypdf raises whatever it stumbles over
        raise Unreadable(f"it is no PDF that pypdf reads ({error!r})") from error
    text = "\n\n".join(pages)
    if not text.strip():
        raise Unreadable("its pages hold no text; if they are pictures of text, recognise it first")
    # What pypdf gives may hold halves of surrogate pairs, which no encoding has.
    text, title = (t.encode("utf-8", "replace").decode("utf-8") for t in (text, str(title)))
    return title, _HYPHEN.sub("", text)
