"""A program as it is declared: its function, its options, what its parameters may be."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import types
import typing
from typing import Any, Dict, Mapping, Optional

from .declared import HINT, Choices, Declared, Len, Several, Text, declare
from .expressions import Argument, Collection, Expression, Table
from .reader import Reader
from .source import Source, source_of

__all__ = ["Defined", "Definition", "Options", "argument_of"]


@dataclasses.dataclass(frozen=True)
class Options:
    """Attributes of PML. None: what PML has where none is written."""

    attend: Optional[str] = None
    positions: Optional[str] = None
    repair: Optional[str] = None
    cache: bool = True

    def of_schema(self) -> Dict[str, str]:
        given = {"attend": self.attend, "positions": self.positions, "repair": self.repair}
        return {name: value for name, value in given.items() if value is not None}

    def of_module(self) -> Dict[str, str]:
        return module_attributes(self.cache, self.repair)


def module_attributes(cache: bool, repair: Optional[str]) -> Dict[str, str]:
    attributes = {} if cache else {"cache": "false"}
    return attributes if repair is None else {**attributes, "repair": repair}


class Definition:
    """A function that is a program."""

    def __init__(
        self, function: types.FunctionType, name: str, options: Options, lengths: Mapping[str, int]
    ) -> None:
        self.function = function
        self.name = name
        self.options = options
        self.lengths = lengths

    @functools.cached_property
    def source(self) -> Source:
        return source_of(self.function)

    @property
    def docstring(self) -> Optional[str]:
        """As it is written: under python -OO the function itself has none."""
        return ast.get_docstring(self.source.node, clean=False)

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @functools.cached_property
    def parameters(self) -> Dict[str, Declared]:
        """What each parameter may be. ProgramError where that is not declared."""
        nodes = self.source.node.args
        for rest in (nodes.vararg, nodes.kwarg):
            if rest is not None:
                raise self.source.error(rest, "a program has no * and ** parameters; name each")
        every = [*nodes.posonlyargs, *nodes.args, *nodes.kwonlyargs]
        for name in self.lengths:
            if name not in (node.arg for node in every):
                raise self.source.error(
                    self.source.node, f"lengths= names {name!r}, which is no parameter"
                )
        return {node.arg: self._declared(node) for node in every}

    def _declared(self, node: ast.arg) -> Declared:
        if node.annotation is None:
            raise self.source.error(node, f"{node.arg}: nothing is known of what it may be; {HINT}")
        annotation = self.function.__annotations__.get(node.arg)
        try:
            if isinstance(annotation, str):
                annotation = _Annotations(self.source, {}).object_of(node.annotation)
            declared = declare(annotation)
            if node.arg in self.lengths:
                if not isinstance(declared, Text):
                    raise TypeError("only a string has a length")
                declared = Text(Len(self.lengths[node.arg]), declared.optional)
        except TypeError as error:
            raise self.source.error(node, f"{node.arg}: {error}") from None
        return declared

    def bind(self, *args: Any, **kwargs: Any) -> Dict[str, Any]:
        """The arguments of a call by name, checked. TypeError or ValueError names the wrong one."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}(): {error}") from None
        bound.apply_defaults()
        return {name: self._accepted(name, value) for name, value in bound.arguments.items()}

    def _accepted(self, name: str, value: Any) -> Any:
        try:
            return self.parameters[name].accept(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{self.name}(): {name} {error}") from None


class Defined:
    """What has a definition: a program, as another one finds it."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition


def argument_of(name: str, declared: Declared) -> Expression:
    """What is known of a parameter of the program whose schema it is."""
    if isinstance(declared, Choices):
        return Table(name, tuple((value, value) for value in declared.values), declared.values)
    if isinstance(declared, Several):
        return Collection(name, declared.values)
    return Argument(name, declared)


class _Annotations(Reader):
    """Reads an annotation that `from __future__ import annotations` has left as source."""

    def object_of(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Subscript):
            return self.object_of(node.value)[self._inner(node.slice)]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return typing.Union[self.object_of(node.left), self.object_of(node.right)]
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                return self.object_of(self._parsed(node, node.value))
            return node.value
        return self.resolve(node)

    def _parsed(self, node: ast.Constant, text: str) -> ast.expr:
        """An annotation that is a string. Its places are that of the string."""
        try:
            tree = ast.parse(text, mode="eval").body
        except SyntaxError:
            raise self.source.error(node, "this annotation is not Python") from None
        for inner in ast.walk(tree):
            ast.copy_location(inner, node)
        return tree

    def _inner(self, node: ast.AST) -> Any:
        """What stands in [...]: types, values of a Literal, and Len(...)."""
        if isinstance(node, ast.Tuple):
            return tuple(self._inner(element) for element in node.elts)
        if isinstance(node, ast.Call) and self.resolve(node.func) is Len:
            named = {k.arg: self.constant(k.value) for k in node.keywords if k.arg is not None}
            return Len(*(self.constant(argument) for argument in node.args), **named)
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.UnaryOp):
            return self.constant(node)
        return self.object_of(node)
