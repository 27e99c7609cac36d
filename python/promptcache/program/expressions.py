"""What is known of a value when a program is compiled, and its value when a prompt is made.

A *constant* is known. A *table* is known for each choice of one parameter. An *argument* is a text that
comes with the prompt, a *collection* some of the choices. *Joined* text and *operations* are made of
others, and computed with the arguments of a prompt.
"""

from __future__ import annotations

import dataclasses
import operator
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from .declared import Text, check_equality, same

__all__ = [
    "OPERATIONS",
    "Argument",
    "Collection",
    "Constant",
    "Expression",
    "Joined",
    "Operation",
    "Table",
    "evaluate",
    "is_text",
    "join",
    "said",
]


@dataclasses.dataclass(frozen=True)
class Constant:
    value: Any
    domain: Tuple[Any, ...] = ()  # what it may be, where it is a parameter of a called program


@dataclasses.dataclass(frozen=True)
class Table:
    """A value for each choice of a parameter: place, texts[place], place == "oslo"."""

    parameter: str  # of the program whose schema it is
    rows: Tuple[Tuple[Any, Any], ...]  # (choice, value); choices that cannot be here are left out
    domain: Tuple[Any, ...] = ()  # what the parameter may be, where this is the parameter itself
    word: str = ""  # what a called program calls the parameter, where that is another name


@dataclasses.dataclass(frozen=True)
class Argument:
    """A text that comes with the prompt. `source`: of what the caller's program makes it."""

    parameter: str
    declared: Text
    source: Optional[Expression] = None


@dataclasses.dataclass(frozen=True)
class Collection:
    """Some of the choices."""

    parameter: str  # of the program whose schema it is
    domain: Tuple[Any, ...]
    word: str = ""


@dataclasses.dataclass(frozen=True)
class Joined:
    """Texts, one behind the other."""

    parts: Tuple[Expression, ...]


@dataclasses.dataclass(frozen=True)
class Operation:
    """`kind` is one of OPERATIONS; "if", of a condition, the value where it holds and that where not;
    or "and" or "or" of two."""

    kind: str
    operands: Tuple[Expression, ...]


Expression = Union[Constant, Table, Argument, Collection, Joined, Operation]


def _equal(a: Any, b: Any) -> bool:
    check_equality(type(a))
    check_equality(type(b))
    return bool(a == b)


OPERATIONS: Dict[str, Callable[..., Any]] = {
    "==": _equal,
    "!=": lambda a, b: not _equal(a, b),
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
    "not": operator.not_,
}


def is_text(expression: Expression) -> bool:
    """Whether it is a string in every prompt (or an argument that was left out)."""
    if isinstance(expression, Constant):
        return type(expression.value) is str
    if isinstance(expression, Table):
        return all(type(value) is str for _, value in expression.rows)
    if isinstance(expression, Operation):
        return expression.kind == "if" and all(is_text(e) for e in expression.operands[1:])
    return isinstance(expression, (Argument, Joined))


def evaluate(expression: Expression, arguments: Mapping[str, Any]) -> Any:
    """Its value in a prompt. TypeError where text is made of a string that was left out."""
    if isinstance(expression, Constant):
        return expression.value
    if isinstance(expression, Table):
        chosen = arguments[expression.parameter]
        return next(value for choice, value in expression.rows if same(choice, chosen))
    if isinstance(expression, Argument) and expression.source is not None:
        return evaluate(expression.source, arguments)
    if isinstance(expression, (Argument, Collection)):
        return arguments[expression.parameter]
    if isinstance(expression, Joined):
        return "".join(said(part, arguments) for part in expression.parts)
    if expression.kind == "if":
        condition, then, otherwise = expression.operands
        return evaluate(then if evaluate(condition, arguments) else otherwise, arguments)
    if expression.kind in ("and", "or"):  # what stands behind may have no value where this decides
        first, rest = expression.operands
        decides = bool(evaluate(first, arguments)) is (expression.kind == "or")
        return evaluate(first if decides else rest, arguments)
    return OPERATIONS[expression.kind](*(evaluate(e, arguments) for e in expression.operands))


def said(expression: Expression, arguments: Mapping[str, Any]) -> str:
    """The text that a prompt says there."""
    value = evaluate(expression, arguments)
    if not isinstance(value, str):
        name = expression.parameter if isinstance(expression, Argument) else "a text"
        raise TypeError(
            f"{name} is {value!r} where the program says it; say it under `if {name} is not None:`"
        )
    return value


def join(parts: Sequence[Expression]) -> Expression:
    """The parts as one text, constants beside each other as one."""
    flat: List[Expression] = []
    for part in parts:
        for piece in part.parts if isinstance(part, Joined) else (part,):
            if isinstance(piece, Constant) and flat and isinstance(flat[-1], Constant):
                flat[-1] = Constant(flat[-1].value + piece.value)
            elif not (isinstance(piece, Constant) and piece.value == ""):
                flat.append(piece)
    if not flat:
        return Constant("")
    return flat[0] if len(flat) == 1 else Joined(tuple(flat))
