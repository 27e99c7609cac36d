"""What is known of a value when a program is compiled, and its value when a prompt is made.

A *constant* is known. A *table* is known for each choice of one parameter. An *argument* is a text that
comes with the prompt, a *collection* some of the choices. *Joined* text and *operations* are made of
others, and computed with the arguments of a prompt.
"""

from __future__ import annotations

import dataclasses
import operator
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from .declared import Text, same

__all__ = [
    "OPERATIONS",
    "Argument",
    "Collection",
    "Constant",
    "Expression",
    "Joined",
    "Operation",
    "Table",
    "apply",
    "conditional",
    "evaluate",
    "join",
    "narrow",
    "tabulated",
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
    """`kind`, one of OPERATIONS, or "if": condition, value where it holds, value where not."""

    kind: str
    operands: Tuple[Expression, ...]


Expression = Union[Constant, Table, Argument, Collection, Joined, Operation]

OPERATIONS: Dict[str, Callable[..., Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
    "not": operator.not_,
    "and": lambda *values: next((v for v in values[:-1] if not v), values[-1]),
    "or": lambda *values: next((v for v in values[:-1] if v), values[-1]),
}


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


def tabulated(expression: Expression) -> Expression:
    """Joined text as a constant or a table, where one parameter decides all of it."""
    if isinstance(expression, Joined):
        made = apply(lambda *texts: "".join(texts), expression.parts)
        return expression if made is None else made
    return expression


def apply(function: Callable[..., Any], operands: Sequence[Expression]) -> Optional[Expression]:
    """The function's value for each choice of the one parameter that decides the operands; None where
    more than that is needed. Raises what the function raises."""
    known = [tabulated(operand) for operand in operands]
    tables = [e for e in known if isinstance(e, Table)]
    if (
        not all(isinstance(e, (Constant, Table)) for e in known)
        or len({t.parameter for t in tables}) > 1
    ):
        return None
    if not tables:
        return Constant(function(*(evaluate(e, {}) for e in known)))
    name = tables[0].parameter
    rows = [
        (choice, function(*(evaluate(e, {name: choice}) for e in known)))
        for choice, _ in tables[0].rows
    ]
    return _of_rows(tables[0], rows)


def _of_rows(table: Table, rows: Sequence[Tuple[Any, Any]]) -> Expression:
    """What is made of a table's rows."""
    if rows and all(same(value, rows[0][1]) for _, value in rows):
        return Constant(rows[0][1])
    return Table(table.parameter, tuple(rows), word=table.word)


def conditional(condition: Expression, then: Expression, otherwise: Expression) -> Expression:
    """then where the condition holds, else otherwise."""
    if isinstance(condition, Constant):
        return then if condition.value else otherwise
    if isinstance(condition, Table):
        ends = (tabulated(then), tabulated(otherwise))
        if all(
            isinstance(e, Constant) or isinstance(e, Table) and e.parameter == condition.parameter
            for e in ends
        ):
            rows = [
                (choice, evaluate(ends[0] if holds else ends[1], {condition.parameter: choice}))
                for choice, holds in condition.rows
            ]
            return _of_rows(condition, rows)
    return Operation("if", (condition, then, otherwise))


def narrow(expression: Expression, parameter: str, choices: Sequence[Any]) -> Expression:
    """What is left of it where the parameter is one of these choices."""
    if isinstance(expression, Table) and expression.parameter == parameter:
        rows = [row for row in expression.rows if any(same(row[0], c) for c in choices)]
        if rows and all(same(value, rows[0][1]) for _, value in rows):
            return Constant(rows[0][1], expression.domain)
        return dataclasses.replace(expression, rows=tuple(rows))
    if isinstance(expression, Joined):
        return join([narrow(part, parameter, choices) for part in expression.parts])
    if isinstance(expression, Argument) and expression.source is not None:
        return dataclasses.replace(expression, source=narrow(expression.source, parameter, choices))
    if isinstance(expression, Operation):
        return _narrowed(expression, [narrow(e, parameter, choices) for e in expression.operands])
    return expression


def _narrowed(operation: Operation, operands: List[Expression]) -> Expression:
    if operation.kind == "if":
        return conditional(operands[0], operands[1], operands[2])
    made = apply(OPERATIONS[operation.kind], operands)
    return Operation(operation.kind, tuple(operands)) if made is None else made
