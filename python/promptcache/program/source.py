"""A function's source: its node in the file's syntax tree, places in it, and what its names mean."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import inspect
import os
import types
from typing import Any, Dict, List, Sequence, Tuple

from .errors import Place, ProgramError

__all__ = ["Source", "Unknown", "source_of"]


class Unknown(LookupError):
    """A name or an attribute that has no value when the program is compiled."""


@dataclasses.dataclass(frozen=True)
class Source:
    """A function as it is written. `called_from`: "FILE:LINE" of the calls that lead to it."""

    function: types.FunctionType
    file: str
    lines: Tuple[str, ...]  # of the whole file
    node: ast.FunctionDef
    called_from: Tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """Where the files of doc() are; a notebook's are where it runs."""
        return os.path.dirname(os.path.abspath(self.file)) if os.path.exists(self.file) else os.getcwd()

    def place(self, node: ast.AST) -> Place:
        line = getattr(node, "lineno", self.node.lineno)
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        before = text.encode("utf-8")[: getattr(node, "col_offset", 0)]
        column = len(before.decode("utf-8", "replace")) + 1
        return Place(self.file, line, column, text.rstrip("\n"), self.called_from)

    def error(self, node: ast.AST, message: str) -> ProgramError:
        return self.place(node).error(message)

    def has_local(self, name: str) -> bool:
        """Whether Python takes this name for one of the function's own."""
        return name in self.function.__code__.co_varnames or name in self.function.__code__.co_cellvars

    def look_up(self, name: str) -> Any:
        """The value of a name that is not the function's own: in its closure, its globals, builtins."""
        if name in self.function.__code__.co_freevars and self.function.__closure__:
            cell = self.function.__closure__[self.function.__code__.co_freevars.index(name)]
            try:
                return cell.cell_contents
            except ValueError:
                raise Unknown(name) from None
        found: Dict[str, Any] = getattr(self.function, "__globals__")  # of a field pyright makes a method
        for names in (found, vars(builtins)):
            if name in names:
                return names[name]
        raise Unknown(name)


def attribute(value: Any, name: str) -> Any:
    """An attribute of a module or a class that lies there as it is: nothing is computed to find it."""
    if isinstance(value, types.ModuleType) and name in vars(value):
        return vars(value)[name]
    if isinstance(value, type):
        members = getattr(value, "__members__", {})
        for names in (members, *(vars(base) for base in value.__mro__)):
            if name in names:
                return names[name]
    raise Unknown(name)


def _node_of(lines: Sequence[str], first: int) -> ast.stmt:
    """The statement that begins in a line, numbered from 1. Its places are those in the file."""
    block = inspect.getblock(list(lines[first - 1 :]))
    if block[0][:1].isspace():  # a function in a function, or a method
        around = ast.parse("if True:\n" + "".join(block)).body[0]
        assert isinstance(around, ast.If)
        node = around.body[0]
        ast.increment_lineno(node, first - 2)
        return node
    node = ast.parse("".join(block)).body[0]
    ast.increment_lineno(node, first - 1)
    return node


def source_of(function: types.FunctionType) -> Source:
    """Finds a function's source. ProgramError where there is none, or it has changed since."""
    file = inspect.getsourcefile(function) or function.__code__.co_filename
    first = function.__code__.co_firstlineno
    here, name = Place(file, first, 1, ""), function.__name__
    try:
        lines = tuple(inspect.findsource(function)[0])
        node = _node_of(lines, first)
    except (OSError, SyntaxError, IndexError):
        message = f"the source of {name}() cannot be read; a program is compiled from it"
        raise here.error(message) from None
    except (RecursionError, MemoryError):  # the parser's own limits
        raise here.error(f"{name}() is nested too deeply to be read; make parts of it programs") from None
    if isinstance(node, ast.AsyncFunctionDef):
        raise here.error("a program is a function by def, not by async def")
    if not isinstance(node, ast.FunctionDef) or node.name != name:
        raise here.error(f"{name}() is not there any more; the file was changed since it was imported")
    source = Source(function, file, lines, node)
    _check_that_it_runs(source)
    _check_names(source)
    return source


def _check_that_it_runs(source: Source) -> None:
    """A yield anywhere, also where nothing ever comes, makes a function that only begins when somebody
    asks for its items: a call of it says nothing."""
    if source.function.__code__.co_flags & inspect.CO_GENERATOR:
        found = [n for n in _inner(source.node) if isinstance(n, (ast.Yield, ast.YieldFrom))]
        raise source.error(
            found[0] if found else source.node,
            "yield makes this a generator, which says nothing when it is called; write say(...)",
        )


def _check_names(source: Source) -> None:
    """In a class Python takes __name for _Class__name; the source has the one, its values the other."""
    around = _class_around(source.function.__qualname__)
    for node in _inner(source.node) if around else ():
        for field in ("id", "attr", "arg"):
            name = getattr(node, field, None)
            if isinstance(name, str) and name.startswith("__") and not name.endswith("__"):
                raise source.error(
                    node, f"in a class {name} is {around}{name} to Python; write it with one underscore"
                )


def _class_around(qualified: str) -> str:
    """_Class of the innermost class that a function stands in; "" where it stands in none."""
    parts = qualified.split(".")[:-1]
    classes = [a for a, b in zip(parts, [*parts[1:], ""]) if a != "<locals>" and b != "<locals>"]
    bare = classes[-1].lstrip("_") if classes else ""
    return f"_{bare}" if bare else ""


def _inner(function: ast.FunctionDef) -> List[ast.AST]:
    """All nodes of its parameters and statements, in the order of their places."""
    every = [n for part in (function.args, *function.body) for n in ast.walk(part)]
    return sorted(
        (n for n in every if hasattr(n, "lineno")),
        key=lambda n: (getattr(n, "lineno", 0), getattr(n, "col_offset", 0)),
    )
