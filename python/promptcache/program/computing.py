"""Computes with expressions: what is known is a constant or a table, what is not stays as it is."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, List, Optional, Sequence, Tuple

from .declared import one_of, same
from .expressions import (
    OPERATIONS,
    Argument,
    Constant,
    Expression,
    Joined,
    Operation,
    Table,
    evaluate,
    is_text,
    join,
)

__all__ = ["apply", "behind", "combine", "conditional", "is_larger", "narrow", "tabulated"]


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
    forks = [i for i, e in enumerate(known) if isinstance(e, Operation) and e.kind == "if"]
    if len(forks) == 1:
        return _on_both_sides(function, known, forks[0])
    tables = [e for e in known if isinstance(e, Table)]
    if (
        not all(isinstance(e, (Constant, Table)) for e in known)
        or len({t.parameter for t in tables}) > 1
    ):
        return None
    if not tables:
        return Constant(function(*(evaluate(e, {}) for e in known)))
    name = tables[0].parameter
    choices = [c for c, _ in tables[0].rows if all(one_of(c, [d for d, _ in t.rows]) for t in tables)]
    rows = [(choice, function(*(evaluate(e, {name: choice}) for e in known))) for choice in choices]
    return _of_rows(tables[0], rows)


def _on_both_sides(
    function: Callable[..., Any], operands: List[Expression], fork: int
) -> Optional[Expression]:
    """The function of `a if condition else b` is one of a or one of b."""
    decided = operands[fork]
    assert isinstance(decided, Operation)
    condition, *ends = decided.operands
    made = [apply(function, [*operands[:fork], end, *operands[fork + 1 :]]) for end in ends]
    return None if made[0] is None or made[1] is None else conditional(condition, made[0], made[1])


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


def combine(kind: str, values: Sequence[Expression]) -> Expression:
    """`a and b`, `a or b`: the value that decides, as Python has it."""
    made = values[-1]
    for value in reversed(values[:-1]):
        ends = (value, made) if kind == "or" else (made, value)
        decided = conditional(value, *ends)
        is_open = isinstance(decided, Operation) and not isinstance(value, Constant)
        made = Operation(kind, (value, made)) if is_open and not all(map(is_text, ends)) else decided
    return made


def behind(text: Expression, beginning: Expression) -> Optional[Expression]:
    """What a text says behind its beginning; None where it begins otherwise."""
    parts, first = _parts(text), _parts(beginning)
    n = len(first)
    if n == 0:
        return text
    if len(parts) < n or parts[: n - 1] != first[: n - 1]:
        return None
    own, last = parts[n - 1], first[n - 1]
    if own == last:
        return join(parts[n:])
    if isinstance(own, Constant) and isinstance(last, Constant) and own.value.startswith(last.value):
        return join([Constant(own.value[len(last.value) :]), *parts[n:]])
    return None


def _parts(text: Expression) -> Tuple[Expression, ...]:
    if isinstance(text, Joined):
        return text.parts
    return () if isinstance(text, Constant) and text.value == "" else (text,)


def is_larger(expression: Expression, n: int, depth: int) -> bool:
    """Whether it has more than n parts, parts of parts included, or more than depth of them in each
    other."""
    left, open_ones = n, [(expression, depth)]
    while open_ones and left >= 0:
        part, deeper = open_ones.pop()
        left -= 1
        if deeper < 0:
            return True
        inner: Sequence[Expression] = ()
        if isinstance(part, Joined):
            inner = part.parts
        elif isinstance(part, Operation):
            inner = part.operands
        elif isinstance(part, Argument) and part.source is not None:
            inner = (part.source,)
        open_ones += [(e, deeper - 1) for e in inner]
    return left < 0


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
    if operation.kind in ("and", "or"):
        return combine(operation.kind, operands)
    made = apply(OPERATIONS[operation.kind], operands)
    return Operation(operation.kind, tuple(operands)) if made is None else made
