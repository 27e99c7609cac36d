"""Modules that are made before a question needs them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Dict, Sequence

from ..store import Store
from .index import Index
from .keeping import write_down
from .pieces import Piece, pieces_of
from .prompts import prompt_in, schema_of

if TYPE_CHECKING:
    from ..engine import Engine
    from ..schema import Schema

__all__ = ["MOST_PIECES", "Step", "encode_ahead"]

# In one call, which lays them out as one schema, stand-ins included. Pieces whose modules are there
# take only that: a call is short whatever the store has.
MOST_PIECES = 16
_SLOTS = 4  # of a piece: those of a question with as many pieces
_ROOM = 0.9  # of the store's budget: beyond it a new module drives out one that somebody asked for


@dataclasses.dataclass(frozen=True)
class Step:
    """What a call did."""

    last: int  # number of the last piece that has its modules
    n_pieces: int  # that were looked at; 0: there is none left, or no room


def encode_ahead(
    engine: Engine,
    index: Index,
    system: str,
    stand_ins: Sequence[Piece],
    after: int,
    limit: int,
) -> Step:
    """Looks for the modules of the `limit` pieces behind number `after`, MOST_PIECES at most, and
    encodes those that are not there."""
    cache = engine.describe()["cache"]
    numbers = [
        int(row[0])
        for row in index.rows(
            "SELECT id FROM pieces WHERE id > ? ORDER BY id LIMIT ?", after, min(limit, MOST_PIECES)
        )
    ]
    if not numbers or not cache.get("writable"):
        return Step(after, 0)
    pieces = pieces_of(index, numbers)
    n_slots = _SLOTS if stand_ins else 1
    schema = schema_of(engine, system, pieces, stand_ins, fillers=n_slots - 1)
    for n, piece in enumerate(pieces):
        if not all(_is_there(index, schema, piece, slot, cache) for slot in range(n_slots)):
            return Step(after, n)
        after = piece.number
    return Step(numbers[-1], len(numbers))


def _is_there(index: Index, schema: Schema, piece: Piece, slot: int, cache: Dict[str, Any]) -> bool:
    """Whether the piece has its module of a slot, now at the latest; False: there is no room."""
    prompt = prompt_in(schema, [piece], "", fillers=slot)
    if prompt.counts.modules_missing and not _has_room(cache):
        return False
    write_down(index, [piece], prompt.explain(), cache["dir"])
    prompt.encode()
    return True


def _has_room(cache: Dict[str, Any]) -> bool:
    with Store(cache["dir"]) as store:
        return bool(store.describe()["bytes"] < _ROOM * cache["budget_bytes"])
