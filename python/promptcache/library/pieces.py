"""Pieces of documents, as rows of the index."""

from __future__ import annotations

import dataclasses
from typing import Dict, List, Sequence, Tuple

from .index import Index

__all__ = ["Draft", "Piece", "pieces_of", "replace"]

_COLUMNS = (
    "pieces.id, documents.path, documents.title, pieces.heading, pieces.text, pieces.n_tokens"
)
_FROM = "FROM pieces JOIN documents ON documents.id = pieces.document"


@dataclasses.dataclass(frozen=True)
class Piece:
    """A piece of a document that is in the library."""

    number: int
    path: str
    title: str  # of the document
    heading: str  # the title, and the headings that the piece stands under
    text: str
    n_tokens: int  # of its text, by the tokenizer of the engine that added it


@dataclasses.dataclass(frozen=True)
class Draft:
    """A piece before it has a number."""

    heading: str
    text: str
    n_tokens: int


def pieces_of(index: Index, numbers: Sequence[int]) -> List[Piece]:
    """In the order of their numbers given; those that are gone are left out."""
    marks = ",".join("?" * len(numbers))
    rows = index.rows(f"SELECT {_COLUMNS} {_FROM} WHERE pieces.id IN ({marks})", *numbers)
    found = {row[0]: Piece(*row) for row in rows}
    return [found[number] for number in numbers if number in found]


def replace(index: Index, document: int, drafts: Sequence[Draft]) -> None:
    """Makes these a document's pieces, within a transaction. What stayed the same keeps its number,
    and with it its modules."""
    free: Dict[Tuple[str, str], List[int]] = {}
    for number, heading, text in index.rows(
        "SELECT id, heading, text FROM pieces WHERE document = ? ORDER BY ordinal DESC", document
    ):
        free.setdefault((heading, text), []).append(number)
    kept: List[Tuple[int, int]] = []
    new: List[Tuple[int, Draft]] = []
    for ordinal, draft in enumerate(drafts):
        numbers = free.get((draft.heading, draft.text))
        if numbers:
            kept.append((ordinal, numbers.pop()))
        else:
            new.append((ordinal, draft))
    for numbers in free.values():
        for number in numbers:
            index.do("DELETE FROM pieces WHERE id = ?", number)
    for ordinal, number in kept:
        index.do("UPDATE pieces SET ordinal = ? WHERE id = ?", ordinal, number)
    for ordinal, draft in new:
        index.do(
            "INSERT INTO pieces (document, ordinal, heading, text, n_tokens) VALUES (?, ?, ?, ?, ?)",
            document, ordinal, draft.heading, draft.text, draft.n_tokens,
        )  # fmt: skip
