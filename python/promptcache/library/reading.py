"""Documents in the index: what a file says, and whether it was otherwise."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Callable, Dict, List, Optional, Tuple

from .decoding import Unreadable
from .files import Found, digest
from .index import Index
from .pieces import Draft, replace
from .splitting import Count, split
from .texts import Text, lacking, read

__all__ = ["Changes", "Known", "known_documents", "remove", "update"]

# Between the title and headings of a piece.
_STEP = " › "
_UNTRIED = ""  # digest of a file that was not read: it could not be opened, or a package is missing


@dataclasses.dataclass
class Changes:
    """What was found to be otherwise than the index said, in documents."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    # (path, sentence): files that are new or changed and have no text to be had.
    refused: List[Tuple[str, str]] = dataclasses.field(default_factory=list)
    # (path, sentence): what nobody can look at now, as it is unreadable or on a disk that is not there.
    # Its documents stay. It is there each time, and no change.
    unreachable: List[Tuple[str, str]] = dataclasses.field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed or self.refused)


@dataclasses.dataclass(frozen=True)
class Known:
    """A document's row."""

    id: int
    mtime_ns: int
    size: int
    digest: str


def known_documents(index: Index, path: Optional[str] = None) -> Dict[str, Known]:
    where, values = ("", ()) if path is None else (" WHERE path = ?", (path,))
    rows = index.rows(f"SELECT path, id, mtime_ns, size, digest FROM documents{where}", *values)
    return {row[0]: Known(*row[1:]) for row in rows}


def remove(index: Index, document: int) -> None:
    with index.write():
        index.do("DELETE FROM documents WHERE id = ?", document)


def update(
    index: Index,
    found: Found,
    known: Optional[Known],
    max_tokens: int,
    count: Count,
    changes: Changes,
) -> None:
    if known and found.mtime_ns and (known.mtime_ns, known.size) == (found.mtime_ns, found.size):
        changes.unchanged += 1
        return
    missing = lacking(Path(found.path))
    if missing and (known is None or known.digest == _UNTRIED):
        _refuse(index, found, known, missing, changes)
        return
    try:
        raw = Path(found.path).read_bytes()
    except OSError as error:
        _refuse(index, found, known, str(error.strerror or error), changes)
        return
    now = digest(raw)
    if known and known.digest == now:
        changes.unchanged += 1
        if known.mtime_ns != found.mtime_ns:
            with index.write():
                index.do("UPDATE documents SET mtime_ns = ? WHERE id = ?", found.mtime_ns, known.id)
        return
    if missing:
        _refuse(index, found, known, missing, changes)
        return
    title, drafts, problem = _made(found.path, raw, max_tokens, count)
    with index.write():
        _put(index, found, now, title, problem, drafts)
    if problem:
        changes.refused.append((found.path, problem))
    elif known:
        changes.changed += 1
    else:
        changes.added += 1


def _refuse(
    index: Index, found: Found, known: Optional[Known], why: str, changes: Changes
) -> None:
    """A file that cannot be opened, or whose package is missing, is told of once and tried each time."""
    if known and known.digest == _UNTRIED:
        changes.unchanged += 1
        return
    with index.write():
        _put(index, dataclasses.replace(found, mtime_ns=0), _UNTRIED, Path(found.path).stem, why, [])
    changes.refused.append((found.path, why))


def _made(
    path: str, raw: bytes, max_tokens: int, count: Count
) -> Tuple[str, List[Draft], Optional[str]]:
    """Title, pieces, and why there are none."""
    try:
        text = read(Path(path), raw)
    except Unreadable as error:
        return Path(path).stem, [], str(error)
    return text.title, _drafts(text, max_tokens, count), None


def _drafts(text: Text, max_tokens: int, count: Callable[[str], int]) -> List[Draft]:
    drafts = []
    for piece in split(text.body, text.marked, max_tokens, count):
        body = text.body[piece.start : piece.end].strip()
        if body:
            steps = [text.title, *(h for h in piece.headings if h and h != text.title)]
            drafts.append(Draft(_STEP.join(steps), body, piece.n_tokens))
    return drafts


def _put(
    index: Index, found: Found, now: str, title: str, problem: Optional[str], drafts: List[Draft]
) -> None:
    index.do(
        "INSERT INTO documents (path, mtime_ns, size, digest, title, problem) "
        "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET mtime_ns = excluded.mtime_ns, "
        "size = excluded.size, digest = excluded.digest, title = excluded.title, "
        "problem = excluded.problem",
        found.path, found.mtime_ns, found.size, now, title, problem,
    )  # fmt: skip
    document = index.row("SELECT id FROM documents WHERE path = ?", found.path)[0]
    replace(index, document, drafts)
