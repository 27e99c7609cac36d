"""Bringing an index to what the files say."""

from __future__ import annotations

import os
from typing import Container, Dict, Iterable, Iterator, Mapping, Sequence, Set, Tuple

from ..progress import Bar
from .files import NOTHING, closed, found_at, is_under, walk
from .index import Index
from .reading import Changes, known_documents, remove, update
from .splitting import Count

__all__ = ["bring_up", "bring_up_one", "forget"]


def bring_up(
    index: Index, roots: Sequence[str], max_tokens: int, count: Count, bar: Bar
) -> Changes:
    """Looks at every file under the roots; documents of the index that are not there go, unless nobody
    can tell."""
    known = known_documents(index)
    changes = Changes()
    seen: Set[str] = set()
    unknown: Dict[str, str] = {}
    files = [found for root in roots for found in walk(root, _is_file(root, known), unknown)]
    for n, found in enumerate(files):
        bar("reading documents", n, len(files))
        if found.path not in seen:
            seen.add(found.path)
            update(index, found, known.get(found.path), max_tokens, count, changes)
    bar("reading documents", len(files), len(files))
    for path, row in known.items():
        if path not in seen and _is_under_one(path, roots) and not _is_under_one(path, unknown):
            remove(index, row.id)
            changes.removed += 1
    changes.unreachable += _remarks(unknown, known)
    return changes


def forget(index: Index, roots: Sequence[str]) -> None:
    """Removes all documents whose files can be looked at."""
    known = known_documents(index)
    unknown: Dict[str, str] = {}
    for root in roots:
        for _ in walk(root, _is_file(root, known), unknown):
            pass
    for path, row in known.items():
        if not _is_under_one(path, unknown):
            remove(index, row.id)


def bring_up_one(index: Index, path: str, max_tokens: int, count: Count) -> bool:
    """The same for one document. Whether it was otherwise."""
    known = known_documents(index, path).get(path)
    try:
        found = found_at(path)
    except OSError:
        return False
    if found is not None:
        changes = Changes()
        update(index, found, known, max_tokens, count, changes)
        return bool(changes)
    roots = [row[0] for row in index.rows("SELECT path FROM roots")]
    if known is None or any(is_under(path, root) and closed(root, root == path) for root in roots):
        return False
    remove(index, known.id)
    return True


def _is_file(root: str, known: Container[str]) -> bool:
    """Also where it is gone."""
    return root in known or os.path.isfile(root)


def _is_under_one(path: str, roots: Iterable[str]) -> bool:
    return any(is_under(path, root) for root in roots)


def _remarks(unknown: Mapping[str, str], known: Iterable[str]) -> Iterator[Tuple[str, str]]:
    for path, why in unknown.items():
        n = sum(is_under(document, path) for document in known)
        if n:
            yield path, f"{why}; {n} documents of it stay as they were read, until they are removed"
        elif why not in NOTHING:
            yield path, why
