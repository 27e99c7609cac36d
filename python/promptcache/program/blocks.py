"""with: turns of the chat, and text that is encoded by itself."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from typing import Any, Callable, Dict, Optional, Tuple

from . import vocabulary
from .definition import module_attributes
from .names import Scope
from .pieces import Module, Piece, Turn
from .reader import Reader

__all__ = ["Surroundings", "opened", "opens"]

_ROLES = ((vocabulary.system, "system"), (vocabulary.user, "user"), (vocabulary.assistant, "assistant"))

Wrap = Callable[[Tuple[Piece, ...]], Piece]


@dataclasses.dataclass(frozen=True)
class Surroundings:
    """Where a statement stands."""

    scope: Scope  # names of the module around it
    turn: Optional[str] = None
    in_module: bool = False

    def inside_module(self) -> Surroundings:
        return dataclasses.replace(self, scope=Scope(), in_module=True)


def _role(called: Any) -> Optional[str]:
    return next((role for word, role in _ROLES if word is called), None)


def opens(called: Any) -> bool:
    """Whether it is one of the words that stand behind `with`."""
    return called is vocabulary.module or _role(called) is not None


def opened(reader: Reader, item: ast.withitem, around: Surroundings) -> Tuple[Wrap, Surroundings]:
    """What a `with` makes of what it holds, and where that stands."""
    call = item.context_expr
    called = reader.resolve(call.func) if isinstance(call, ast.Call) else None
    if not isinstance(call, ast.Call) or item.optional_vars is not None or not opens(called):
        raise reader.source.error(
            item.context_expr,
            "of `with` there are system(), user(), assistant() and module(name), without `as`",
        )
    if called is vocabulary.module:
        name, attributes = _module(reader, call)
        name = around.scope.module(name)
        return (lambda pieces: Module(name, pieces, attributes)), around.inside_module()
    role = str(_role(called))
    if around.turn is not None:
        message = f"{role}() inside {around.turn}(): a turn does not stand in another one"
        raise reader.source.error(call, message)
    return (lambda pieces: Turn(role, pieces)), dataclasses.replace(around, turn=role)


def _module(reader: Reader, call: ast.Call) -> Tuple[str, Dict[str, str]]:
    """The name and the attributes of module(name, cache=, repair=)."""
    named = {str(k.arg): reader.constant(k.value) for k in call.keywords}
    try:
        bound = inspect.signature(vocabulary.module).bind(*map(reader.constant, call.args), **named)
    except TypeError as error:
        raise reader.source.error(call, f"module(): {error}") from None
    bound.apply_defaults()
    given = bound.arguments
    if type(given["name"]) is not str:
        raise reader.source.error(call, "module() has a name, a string")
    return given["name"], module_attributes(given["cache"], given["repair"])
