"""What a parameter of a program may be, as its annotation declares it."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import typing
from typing import Any, Iterable, Optional, Tuple, Union

__all__ = ["Choices", "Declared", "Len", "Several", "Text", "check_equality", "declare", "one_of", "same"]

HINT = (
    "declare it as bool, Literal[...], an Enum, str, Annotated[str, Len(8)], "
    "or a Set of a Literal or an Enum"
)

# What typing and collections.abc call a collection, once get_origin has looked.
_COLLECTIONS = (
    set,
    frozenset,
    list,
    tuple,
    *(getattr(collections.abc, n) for n in ("Set", "Sequence", "Collection")),
)


@dataclasses.dataclass(frozen=True)
class Len:
    """How long a text may be: Annotated[str, Len(8)] is room for 8 tokens in a module."""

    tokens: int
    scaffold: Optional[str] = None  # stands in the room while the module is encoded


@dataclasses.dataclass(frozen=True)
class Choices:
    """One of these values."""

    values: Tuple[Any, ...]

    def accept(self, value: Any) -> Any:
        if not one_of(value, self.values):
            raise ValueError(f"is one of {_listed(self.values)}, not {value!r}")
        return value


@dataclasses.dataclass(frozen=True)
class Several:
    """Any number of these values."""

    values: Tuple[Any, ...]

    def accept(self, value: Any) -> Tuple[Any, ...]:
        """Each once, in the order in which they are declared: that of a set is another one in each
        process."""
        if isinstance(value, str) or not isinstance(value, collections.abc.Iterable):
            raise TypeError(f"is a collection of {_listed(self.values)}, not {value!r}")
        items = tuple(value)
        for item in items:
            if not one_of(item, self.values):
                raise ValueError(f"has members of {_listed(self.values)}, not {item!r}")
        return tuple(declared for declared in self.values if one_of(declared, items))


@dataclasses.dataclass(frozen=True)
class Text:
    """A string: a parameter of a module where it has a length, else the prompt's own text."""

    length: Optional[Len] = None
    optional: bool = False  # None is allowed

    def accept(self, value: Any) -> Optional[str]:
        if type(value) is not str and not (value is None and self.optional):
            raise TypeError(f"is a string, not {value!r}")
        text: Optional[str] = value
        return text


Declared = Union[Choices, Several, Text]


def check_equality(kind: type) -> None:
    """TypeError for an Enum whose members say by code of their own what is equal: it would be run."""
    if issubclass(kind, enum.Enum):
        for base in kind.__mro__:
            if "__eq__" in vars(base) and issubclass(base, enum.Enum) and base.__module__ != "enum":
                raise TypeError(f"{kind.__name__} has an __eq__ of its own, which is not called here")


def same(a: Any, b: Any) -> bool:
    """Equal, and of one type: True is not 1. Members of an Enum are the same or are not: what == says
    of them may be code of the Enum's own."""
    if isinstance(a, enum.Enum) or isinstance(b, enum.Enum):
        return a is b
    return type(a) is type(b) and bool(a == b)


def one_of(value: Any, values: Iterable[Any]) -> bool:
    return any(same(value, v) for v in values)


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(map(repr, values))


def declare(annotation: Any) -> Declared:
    """What an annotation declares. TypeError, which says what there is, for any other."""
    if annotation is str:
        return Text()
    if annotation is bool:
        return Choices((True, False))
    if annotation is None or annotation is type(None):
        return Choices((None,))
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        check_equality(annotation)
        return Choices(tuple(annotation))
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return Choices(arguments)
    if origin is typing.Annotated:
        return _with_length(declare(arguments[0]), arguments[1:])
    if origin is Union or getattr(origin, "__name__", "") == "UnionType":
        return _optional([declare(argument) for argument in arguments])
    if origin in _COLLECTIONS:
        inner = declare(arguments[0]) if arguments[1:] in ((), (...,)) else None
        if isinstance(inner, Choices):
            return Several(inner.values)
    raise TypeError(f"nothing is known of what it may be; {HINT}")


def _with_length(inner: Declared, extras: Tuple[Any, ...]) -> Declared:
    lengths = [extra for extra in extras if isinstance(extra, Len)]
    if not lengths:
        return inner
    if not isinstance(inner, Text):
        raise TypeError("only a string has a length")
    return Text(lengths[-1], inner.optional)


def _optional(kinds: typing.List[Declared]) -> Declared:
    """A union of types: choices together are choices; a string and None may be left out."""
    if all(isinstance(kind, Choices) for kind in kinds):
        return Choices(tuple(v for kind in kinds for v in typing.cast(Choices, kind).values))
    texts = [kind for kind in kinds if isinstance(kind, Text)]
    if len(texts) == 1 and len(kinds) == 2 and Choices((None,)) in kinds:
        return Text(texts[0].length, True)
    raise TypeError(f"it may be things that do not go together; {HINT}")
