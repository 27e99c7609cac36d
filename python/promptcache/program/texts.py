"""What a said expression is in the tree: text, parameters, blanks, and a union where it is decided."""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Tuple

from .computing import tabulated
from .declared import same
from .errors import Place
from .expressions import Argument, Constant, Expression, Joined, Operation, Table
from .names import Scope, name_of_choices, name_of_condition, name_of_rest
from .pieces import Blank, Branch, Decision, Module, Parameter, Piece, Said

__all__ = ["decision_of_table", "pieces_of", "said_pieces"]


def said_pieces(
    expression: Expression, scope: Scope, in_module: bool, place: Place
) -> Tuple[Piece, ...]:
    """The pieces of one say(). Text that one choice decides is whole in each member of the union: a
    sentence is not cut where the choice stands. Outside of modules there are no parameters, so that a
    text that has one is a module of the parameter's name."""
    expression = tabulated(expression)
    first = None if in_module else _first_parameter(expression)
    if first is None:
        return pieces_of(expression, scope, place)
    name = scope.module(first.parameter)
    return (Module(name, pieces_of(expression, Scope(), place)),)


def _first_parameter(expression: Expression) -> Optional[Argument]:
    parts = expression.parts if isinstance(expression, Joined) else (expression,)
    return next((e for e in parts if isinstance(e, Argument) and e.declared.length), None)


def pieces_of(expression: Expression, scope: Scope, place: Place) -> Tuple[Piece, ...]:
    """scope: of what the pieces stand in."""
    if isinstance(expression, Joined):
        return tuple(p for part in expression.parts for p in pieces_of(part, scope, place))
    if isinstance(expression, Constant):
        return (Said(expression.value, place),) if expression.value else ()
    if isinstance(expression, Table):
        make = lambda text: pieces_of(Constant(text), Scope(), place)  # noqa: E731
        return (decision_of_table(expression, scope, make),)
    if isinstance(expression, Argument):
        length = expression.declared.length
        if length is None:
            return (Blank(scope.module(expression.parameter), expression, place),)
        return (Parameter(scope.parameter(expression.parameter), length, expression, place),)
    assert isinstance(expression, Operation), "the reader lets only texts be said"
    return (_decision_of_condition(expression, scope, place),)


def decision_of_table(table: Table, scope: Scope, make: Callable[[str], Tuple[Piece, ...]]) -> Decision:
    """A union of what is made of the values that the choices lead to; choices with one value are one
    member."""
    groups: List[Tuple[Any, List[Any]]] = []
    for choice, value in table.rows:
        group = next((choices for known, choices in groups if known == value), None)
        if group is None:
            groups.append((value, [choice]))
        else:
            group.append(choice)
    every = [choice for choice, _ in table.rows]
    branches = []
    for value, choices in groups:
        rows = tuple((choice, any(same(choice, c) for c in choices)) for choice in every)
        words = name_of_choices(table.word or table.parameter, choices, every)
        branches.append(
            _branch(Table(table.parameter, rows, word=table.word), make(value), words, scope)
        )
    return Decision(tuple(branches))


def _branch(condition: Expression, pieces: Tuple[Piece, ...], words: str, scope: Scope) -> Branch:
    return Branch(condition, Module(scope.module(words), pieces) if pieces else None)


def _decision_of_condition(choice: Operation, scope: Scope, place: Place) -> Decision:
    """`a if x else b if y else c`."""
    branches: List[Branch] = []
    rest: Expression = choice
    while isinstance(rest, Operation):
        condition, then, rest = rest.operands
        pieces = pieces_of(then, Scope(), place)
        branches.append(_branch(condition, pieces, name_of_condition(condition), scope))
    words = name_of_rest([branch.condition for branch in branches])
    branches.append(_branch(Constant(True), pieces_of(rest, Scope(), place), words, scope))
    return Decision(tuple(branches))
