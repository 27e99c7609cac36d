"""Modules that are made before a question needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Sequence, Tuple

from ..store import Store
from .index import Index
from .keeping import write_down
from .pieces import Piece, pieces_of
from .prompts import prompt_of

if TYPE_CHECKING:
    from ..engine import Engine

__all__ = ["encode_ahead"]

_SLOTS = 4  # of a piece: those of a question with as many pieces
_ROOM = 0.9  # of the store's budget: beyond it a new module drives out one that somebody asked for


def encode_ahead(
    engine: Engine,
    index: Index,
    system: str,
    stand_ins: Sequence[Piece],
    after: int,
    limit: Optional[int],
) -> Tuple[int, int]:
    """Looks for the modules of the pieces whose numbers are greater than `after`, and encodes those
    that are not there, until it did so for `limit` pieces. Gives the last number, and for how many."""
    cache = engine.describe()["cache"]
    if not cache.get("writable"):
        return after, 0
    n = 0
    while n != limit and _has_room(cache["dir"], cache["budget_bytes"]):
        row = index.row("SELECT id FROM pieces WHERE id > ? ORDER BY id LIMIT 1", after)
        if row is None:
            break
        after = int(row[0])
        for piece in pieces_of(index, [after]):
            n += _encoded(engine, index, system, stand_ins, piece, cache["dir"])
    return after, n


def _has_room(directory: str, budget_bytes: int) -> bool:
    with Store(directory) as store:
        return bool(store.describe()["bytes"] < _ROOM * budget_bytes)


def _encoded(
    engine: Engine,
    index: Index,
    system: str,
    stand_ins: Sequence[Piece],
    piece: Piece,
    directory: str,
) -> bool:
    """Whether one of the piece's slots had to be encoded."""
    new = False
    for slot in range(_SLOTS if stand_ins else 1):
        prompt = prompt_of(engine, system, [piece], stand_ins, "", before=slot)
        write_down(index, [piece], prompt.explain(), directory)
        new |= prompt.encode().modules_encoded > 0
    return new
