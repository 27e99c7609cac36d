"""What an answer must be: a JSON Schema, one of several texts, a pattern, a grammar.

    form = engine.json_schema({"type": "object", "properties": {"city": {"type": "string"}}})
    prompt.generate(constraint=form)

Compiled once for an engine's tokens; any number of its sessions may be held to it at once. An answer
may end where it is whole, and ends where nothing else can come; max_tokens cuts it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from ._handle import Handle
from ._library import lib

if TYPE_CHECKING:
    from .engine import Engine

__all__ = ["Constraint"]


class Constraint(Handle):
    """Engine.json_schema, .choices, .regex, .gbnf."""

    _what = "constraint"

    def __init__(self, make: Callable[[], Any], engine: Engine, kind: str) -> None:
        self._own(make(), lib.pc_constraint_close)
        self.engine = engine
        self._kind = kind

    def __repr__(self) -> str:
        return f"<promptcache.Constraint by {self._kind}>"
