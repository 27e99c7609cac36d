"""Operations that are done when a program is compiled: pure ones, on values of built-in types."""

from __future__ import annotations

import ast
import enum
import inspect
import operator
import textwrap
from typing import Any, Callable, Dict, Tuple

__all__ = [
    "ARITHMETIC",
    "COMPARISONS",
    "PURE",
    "attribute_of",
    "checked",
    "formatted",
    "is_constant",
    "method_of",
    "ordered",
]

_PLAIN = (str, int, float, bool, type(None), tuple, list, dict, set, frozenset, range, slice)


def _remainder(left: Any, right: Any) -> Any:
    """left % right. A string's says what an f-string may say of each value, and no more: the text of a
    set or an Enum's member is another one in each process or version."""
    if type(left) is not str:
        return operator.mod(left, right)
    if type(right) is dict:
        return left % _Named({key: _sayable(value) for key, value in right.items()})
    return left % (tuple(map(_sayable, right)) if type(right) is tuple else _sayable(right))


class _Named(Dict[Any, Any]):
    """Values for %(name)s. As a whole they are no text."""

    def __repr__(self) -> str:
        raise TypeError("a dict is no text; say its parts")


ARITHMETIC: Dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: _remainder,
}

COMPARISONS: Dict[type, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


def _listed(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: list(function(*values))


def _sorted(values: Any) -> Any:
    """Of sets, < says which holds which: no order."""
    if any(isinstance(value, (set, frozenset)) for value in values):
        raise TypeError("sets have no order among each other; sort what they hold")
    return sorted(values)


# Functions that a program may call, each as what is called in its place.
PURE: Tuple[Tuple[Any, Callable[..., Any]], ...] = (
    (range, range),
    (enumerate, _listed(enumerate)),
    (zip, _listed(zip)),
    (reversed, _listed(reversed)),
    (sorted, _sorted),
    (list, list),
    (tuple, tuple),
    (len, len),
    (str, lambda value: formatted(value, "", "")),
    (textwrap.dedent, textwrap.dedent),
    (inspect.cleandoc, inspect.cleandoc),
)

_STR_METHODS = (
    "capitalize casefold center count endswith expandtabs find join ljust lower lstrip partition "
    "removeprefix removesuffix replace rfind rjust rpartition rsplit rstrip split splitlines "
    "startswith strip swapcase title upper zfill"
).split()
_DICT_METHODS = ("items", "keys", "values", "get")


_CONVERSIONS: Dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}


def is_constant(value: Any) -> bool:
    """Whether it may be computed with: a value of a built-in type itself, or a member of an Enum."""
    return type(value) in _PLAIN or isinstance(value, enum.Enum)


def checked(value: Any) -> Any:
    """The value; TypeError where it is none to compute with."""
    if not is_constant(value):
        raise TypeError(f"a {type(value).__name__} is no constant that a program can say")
    return value


def _sayable(value: Any) -> Any:
    """The value; TypeError where its text is not the same for all time."""
    if isinstance(value, enum.Enum):
        raise TypeError(
            "the text of an Enum's member depends on Python's version; write .value or .name"
        )
    if type(value) not in (str, int, float, bool, type(None)):
        raise TypeError(f"a {type(value).__name__} is no text; say its parts")
    return value


def formatted(value: Any, conversion: str, spec: str) -> str:
    """What an f-string makes of a constant. conversion: "", "r", "s" or "a"."""
    value = _sayable(value)
    if conversion:
        value = _CONVERSIONS[conversion](value)
    return format(value, spec)


def ordered(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, refusing sets: their order is another one in each process."""

    def call(*values: Any) -> Any:
        if any(isinstance(value, (set, frozenset)) for value in values):
            raise TypeError("a set has no order that stays; write sorted(...)")
        return function(*values)

    return call


def attribute_of(value: Any, name: str) -> Any:
    """.name and .value of an Enum's member."""
    if isinstance(value, enum.Enum) and name in ("name", "value"):
        return checked(getattr(value, name))
    raise TypeError(f"{value!r}.{name} is not known when the program is compiled")


def method_of(value: Any, name: str, *arguments: Any) -> Any:
    """A pure method of a string or a dict."""
    is_pure = (
        type(value) is str and name in _STR_METHODS or type(value) is dict and name in _DICT_METHODS
    )
    if not is_pure:
        raise TypeError(f"{type(value).__name__}.{name}() is not done when a program is compiled")
    made = ordered(getattr(value, name))(*arguments)
    return made if is_constant(made) else list(made)
