"""Calls in a program: of another program, whose text becomes a module, and of doc()."""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING, Any, Dict, Tuple

from .computing import tabulated
from .declared import Choices, Declared, Several, Text, one_of
from .definition import Definition
from .expressions import Argument, Collection, Constant, Expression, Operation, Table, is_text
from .knowledge import Environment
from .pieces import File, Piece
from .reader import read_text
from .texts import decision_of_table

if TYPE_CHECKING:
    from .statements import Reading

__all__ = ["arguments_of_call", "file_pieces"]


def arguments_of_call(reading: Reading, called: Definition, node: ast.Call) -> Environment:
    """What is known of the called program's parameters."""
    reader = reading.reader
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        raise reading.source.error(node, "a program is called with plain arguments, without * and **")
    positional = [reader.read(argument) for argument in node.args]
    named = {str(k.arg): reader.read(k.value) for k in node.keywords}
    try:
        bound = called.signature.bind(*positional, **named)
    except TypeError as error:
        raise reading.source.error(node, f"{called.name}(): {error}") from None
    names: Dict[str, Any] = {}
    for name, declared in called.parameters.items():
        given = bound.arguments.get(name, Constant(called.signature.parameters[name].default))
        try:
            names[name] = _passed(name, declared, tabulated(given))
        except (TypeError, ValueError) as error:
            raise reading.source.error(node, f"{called.name}(): {name} {error}") from None
    return names


def _passed(name: str, declared: Declared, given: Expression) -> Expression:
    """An argument as the called program knows it. Raises where it is none of what that may be."""
    domain = declared.values if isinstance(declared, Choices) else ()
    if isinstance(given, Constant):
        return Constant(declared.accept(given.value), domain)
    if isinstance(given, Table):
        rows = tuple((choice, declared.accept(value)) for choice, value in given.rows)
        return Table(given.parameter, rows, domain, name)
    if isinstance(declared, Text) and is_text(given):
        is_blank = isinstance(given, Argument) and given.declared.length is None
        return Argument(name, declared, given) if declared.length or is_blank else given
    if isinstance(declared, Several) and isinstance(given, Collection):
        if all(one_of(value, declared.values) for value in given.domain):
            return Collection(given.parameter, declared.values, name)
    if (
        isinstance(declared, Choices)
        and set(map(type, declared.values)) == {bool}
        and _is_condition(given)
    ):
        return given
    raise TypeError("is not what is passed; pass a constant, or a parameter that is declared alike")


def _is_condition(expression: Expression) -> bool:
    if not isinstance(expression, Operation):
        return False
    if expression.kind in ("and", "or"):
        return all(_is_condition(e) or _is_bool_table(e) for e in expression.operands)
    return expression.kind != "if"


def _is_bool_table(expression: Expression) -> bool:
    return isinstance(expression, Table) and all(type(value) is bool for _, value in expression.rows)


def file_pieces(reading: Reading, node: ast.Call) -> Tuple[Piece, ...]:
    """doc(path): a file's text; a path that a choice decides is a union."""
    if len(node.args) != 1 or node.keywords:
        raise reading.source.error(node, "doc() takes a path")
    path = tabulated(read_text(reading.reader, node.args[0]))
    if isinstance(path, Constant):
        return (_file(reading, node, path.value),)
    if isinstance(path, Table):
        make = lambda value: (_file(reading, node, value),)  # noqa: E731
        return (decision_of_table(path, reading.around.scope, make),)
    raise reading.source.error(
        node, "the path is known with the prompt only; decide by a Literal or an Enum"
    )


def _file(reading: Reading, node: ast.Call, path: str) -> File:
    """A path as the schema has it: relative to the folder of the program whose schema it is."""
    parts = path.replace(os.sep, "/").split("/")
    if not path or os.path.isabs(path) or ".." in parts:
        raise reading.source.error(
            node, f"{path!r} is not below the folder of this file, where doc() reads"
        )
    whole = os.path.relpath(os.path.join(reading.source.folder, path), reading.whole.folder)
    if whole.split(os.sep)[0] == "..":
        raise reading.source.error(
            node,
            f"{path!r} is not below {reading.whole.folder}, "
            "the folder of the program that calls this one",
        )
    return File(whole.replace(os.sep, "/"))
