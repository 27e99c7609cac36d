"""What a library knows of states: which files belong to which pieces, and what was asked together."""

from __future__ import annotations

import os
import time
from typing import Any, Dict, List, Sequence

from ..errors import Error, NotFound
from ..store import Store
from .index import Index
from .pieces import Piece
from .prompts import module_name

__all__ = ["choose_stand_ins", "count_set", "places_of_set", "release", "write_down"]

MIN_PIECES = 32  # of a library with stand-ins: a stand-in that is in the prompt does harm
_SLOTS = 8  # stand-ins; pieces behind more see all of them
_MOST_SETS = 4096  # the latest


def write_down(
    index: Index, pieces: Sequence[Piece], explained: Dict[str, Any], store: str
) -> None:
    """The modules that a prompt uses, by what Prompt.explain says, in a transaction. Those of pieces
    that went meanwhile are released."""
    numbers = {module_name(piece.number): piece.number for piece in pieces}
    with index.write():
        for run in explained["runs"]:
            number = numbers.get(run["label"])
            if number is None or not run.get("key"):
                continue
            slot = 0 if run["scaffold"] else run.get("stand_ins", 0)
            index.do(
                "INSERT OR IGNORE INTO modules (key, store, piece, slot) "
                "SELECT ?, ?, id, ? FROM pieces WHERE id = ?",
                run["key"], store, slot, number,
            )  # fmt: skip
            index.do(
                "INSERT OR IGNORE INTO released (key, store) SELECT ?, ? "
                "WHERE NOT EXISTS (SELECT 1 FROM pieces WHERE id = ?)",
                run["key"], store, number,
            )  # fmt: skip


def release(index: Index) -> int:
    """Removes the files of states whose text is gone; gives how many there were. What cannot be
    removed now is tried again the next time."""
    n = 0
    stores: Dict[str, Store] = {}
    for key, directory in index.rows("SELECT key, store FROM released"):
        try:
            if os.path.isdir(directory):
                stores[directory] = stores.get(directory) or Store(directory)
                stores[directory].remove(key)
                n += 1
        except NotFound:
            pass  # it was evicted
        except Error:
            continue
        with index.write():
            index.do("DELETE FROM released WHERE key = ? AND store = ?", key, directory)
    return n


def choose_stand_ins(index: Index, max_tokens: int) -> List[int]:
    """Numbers of the pieces that stand in, by slot; those of slots that are empty are chosen now.
    None where the library is small."""
    slots = dict(index.rows("SELECT slot, piece FROM stand_ins"))
    if len(slots) < _SLOTS:
        with index.write():
            slots = dict(index.rows("SELECT slot, piece FROM stand_ins"))
            if index.row("SELECT count(*) FROM pieces")[0] < MIN_PIECES:
                return []
            for slot in range(_SLOTS):
                if slot not in slots:
                    slots[slot] = _stand_in(index, max_tokens // 4)
                    index.do("INSERT INTO stand_ins VALUES (?, ?)", slot, slots[slot])
    return [slots[slot] for slot in sorted(slots)]


def _stand_in(index: Index, min_tokens: int) -> int:
    """A piece that is none yet: the shortest of some length, of a document that has none yet."""
    return int(
        index.row(
            "SELECT id FROM pieces WHERE id NOT IN (SELECT piece FROM stand_ins) ORDER BY "
            "document IN (SELECT document FROM pieces JOIN stand_ins ON piece = pieces.id), "
            "n_tokens < ?, abs(n_tokens - ?), id LIMIT 1",
            min_tokens, min_tokens,
        )[0]
    )  # fmt: skip


def _key(numbers: Sequence[int]) -> str:
    return " " + " ".join(map(str, sorted(numbers))) + " "


def places_of_set(index: Index, numbers: Sequence[int], at_least: int) -> List[int]:
    """The set in the order of its first prompt, if this is the at_least-th at least; else []."""
    row = index.row("SELECT places, asked FROM sets WHERE pieces = ?", _key(numbers))
    return [int(n) for n in row[0].split()] if row and row[1] + 1 >= at_least else []


def count_set(index: Index, numbers: Sequence[int]) -> None:
    """Another prompt had these pieces, in this order."""
    now, places = int(time.time()), " ".join(map(str, numbers))
    with index.write():
        index.do(
            "INSERT INTO sets VALUES (?, ?, 1, ?) ON CONFLICT (pieces) DO UPDATE SET "
            "asked = asked + 1, latest = excluded.latest",
            _key(numbers), places, now,
        )  # fmt: skip
        index.do(
            "DELETE FROM sets WHERE pieces IN (SELECT pieces FROM sets ORDER BY latest "
            "LIMIT max(0, (SELECT count(*) FROM sets) - ?))",
            _MOST_SETS,
        )
