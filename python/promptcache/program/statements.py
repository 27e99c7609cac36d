"""Reads the statements of a program: the tree of what it says."""

from __future__ import annotations

import ast
import dataclasses
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from . import vocabulary
from .blocks import Surroundings, opened, opens
from .calls import arguments_of_call, file_pieces
from .constants import is_constant
from .decisions import decide, ways_of_if, ways_of_match
from .definition import Defined, Definition, argument_of
from .errors import Place, ProgramError
from .expressions import Collection, Constant, Expression, join
from .knowledge import Environment
from .names import Scope
from .pieces import Decision, Module, Piece, Said, Tree, Turn
from .reader import Reader, read_text
from .room import check_room
from .source import Source
from .texts import said_pieces

__all__ = ["Reading", "read_program"]

_NAMED_CALLS = 4  # of those that lead to an error
_MOST_STATEMENTS = 65_536  # as many as a PML document has elements


@dataclasses.dataclass
class Whole:
    """What the readings of one schema share."""

    folder: str  # of the schema
    callers: List[Definition]  # the programs that are being read, the outermost first
    loops: List[Place] = dataclasses.field(default_factory=list)  # and the loops, likewise
    n_statements: int = 0


class Reading:
    """Reads the statements of one function, or of one branch of it. `assigned`: names that it set."""

    def __init__(self, source: Source, names: Environment, around: Surroundings, whole: Whole) -> None:
        self.source = source
        self.reader = Reader(source, names)
        self.around = around
        self.whole = whole
        self.assigned: List[str] = []

    def read_all(self, statements: Sequence[ast.stmt]) -> Tuple[Piece, ...]:
        return tuple(piece for statement in statements for piece in self._read(statement))

    def branch(self, names: Environment, condition: Expression) -> Reading:
        """The reading of a module that is there where the condition holds."""
        inner = Reading(self.source, names, self.around.inside_module(), self.whole)
        inner.reader.assume(condition, holds=True)
        return inner

    def function(self) -> Tuple[Piece, ...]:
        """The whole function: its docstring, and what it says."""
        body = self.source.node.body
        doc = ast.get_docstring(self.source.node, clean=False)
        pieces = self.read_all(body if doc is None else body[1:])
        if not doc:
            return pieces
        if self.around.turn is None and _has_turn(pieces):
            raise self.source.error(
                body[0],
                "a docstring is what a program says first, here outside of all turns; "
                "say it in one, or make it a comment",
            )
        return (Said(vocabulary.cleaned(doc), self.source.place(body[0])), *pieces)

    def _read(self, node: ast.stmt) -> Tuple[Piece, ...]:
        self.whole.n_statements += 1
        if self.whole.n_statements > _MOST_STATEMENTS:
            raise self.source.error(
                node,
                f"with loops written out, this has more than {_MOST_STATEMENTS:,} statements",
            )
        kind = type(node).__name__
        method: Optional[Callable[[Any], Tuple[Piece, ...]]] = getattr(self, f"_read_{kind}", None)
        if method is None:
            raise self.source.error(
                node,
                f"{_keyword(node)} is not compiled; a program has say(), doc(), calls of "
                "programs, if, match, for over constants, with and assignments",
            )
        try:
            return method(node)
        except RecursionError:
            raise self._too_deep(node) from None

    def _too_deep(self, node: ast.stmt) -> ProgramError:
        """Where what Python nests has an end. The innermost statement that has room to say so says it."""
        by = f", by the loop in line {self.whole.loops[-1].line}" if self.whole.loops else ""
        calls = " > ".join(definition.name for definition in self.whole.callers[-_NAMED_CALLS:])
        return self.source.error(
            node,
            f"this is nested deeper than Python goes{by}, in {calls}; "
            "say parts of it in statements of their own",
        )

    def set(self, node: ast.AST, name: str, value: Expression) -> None:
        """Gives a name its value."""
        self.reader.names[name] = self.reader.bounded(node, name, value)

    # ---- What says something

    def _read_Expr(self, node: ast.Expr) -> Tuple[Piece, ...]:
        call = node.value
        if not isinstance(call, ast.Call):
            raise self.source.error(node, "this says nothing when it is run; write say(...) around it")
        called = self.reader.resolve(call.func)
        if called is vocabulary.say:
            return self._say(call)
        if called is vocabulary.doc:
            return file_pieces(self, call)
        if isinstance(called, Defined):
            return self._call(called.definition, call)
        name = ast.unparse(call.func)
        if opens(called):
            raise self.source.error(node, f"write `with {name}(...):` and what it holds under it")
        raise self.source.error(
            node,
            f"{name}() is no program; what it does is in no schema. Make it a program, or pass its "
            "result as an argument",
        )

    def _say(self, call: ast.Call) -> Tuple[Piece, ...]:
        if call.keywords:
            raise self.source.error(call, "say() takes texts only")
        text = join([read_text(self.reader, argument) for argument in call.args])
        return said_pieces(text, self.around.scope, self.around.in_module, self.source.place(call))

    def _call(self, called: Definition, node: ast.Call) -> Tuple[Piece, ...]:
        if called in self.whole.callers:
            raise self.source.error(
                node, f"{called.name}() calls itself, so that its schema would have no end"
            )
        names = arguments_of_call(self, called, node)
        here = (str(self.source.place(node)), *self.source.called_from)
        source = dataclasses.replace(called.source, called_from=here)
        self.whole.callers.append(called)
        pieces = Reading(source, names, self.around.inside_module(), self.whole).function()
        self.whole.callers.pop()
        if not pieces:
            return ()
        name = self.around.scope.module(called.name)
        return (Module(name, pieces, called.options.of_module()),)

    def _read_With(self, node: ast.With) -> Tuple[Piece, ...]:
        around, wraps = self.around, []
        for item in node.items:
            wrap, around = opened(self.reader, item, around)
            wraps.append(wrap)
        inner = Reading(self.source, self.reader.names, around, self.whole)
        inner.assigned = self.assigned
        pieces = inner.read_all(node.body)
        for wrap in reversed(wraps):
            pieces = (wrap(pieces),)
        return pieces

    # ---- What decides

    def _read_If(self, node: ast.If) -> Tuple[Piece, ...]:
        return decide(self, node, ways_of_if(node))

    def _read_Match(self, node: Any) -> Tuple[Piece, ...]:
        return decide(self, node, ways_of_match(node))

    def _read_For(self, node: ast.For) -> Tuple[Piece, ...]:
        if node.orelse:
            raise self.source.error(
                node.orelse[0], "a for has no else here; write what it says behind the loop"
            )
        over = self.reader.read(node.iter)
        if isinstance(over, Collection):
            raise self.source.error(
                node.iter, f"loop over the choices, and say each under `if ... in {over.parameter}:`"
            )
        items = self.reader.constant(node.iter)
        if not isinstance(items, (list, tuple, range, str, dict)):
            raise self.source.error(
                node.iter,
                "a loop goes over a list, tuple, range, string or dict; "
                f"for a {type(items).__name__} write sorted(...)",
            )
        pieces: List[Piece] = []
        self.whole.loops.append(self.source.place(node))
        for item in items:
            self._assign(node.target, Constant(item))
            pieces += self.read_all(node.body)
        self.whole.loops.pop()
        return tuple(pieces)

    # ---- What sets names

    def _read_Assign(self, node: ast.Assign) -> Tuple[Piece, ...]:
        value = self.reader.read(node.value)
        for target in node.targets:
            self._assign(target, value)
        return ()

    def _read_AnnAssign(self, node: ast.AnnAssign) -> Tuple[Piece, ...]:
        if node.value is not None:
            self._assign(node.target, self.reader.read(node.value))
        return ()

    def _read_AugAssign(self, node: ast.AugAssign) -> Tuple[Piece, ...]:
        if not isinstance(node.target, ast.Name):
            raise self.source.error(node, "only names are set")
        old = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        value = self.reader.read(ast.copy_location(ast.BinOp(old, node.op, node.value), node))
        if isinstance(value, Constant) and isinstance(value.value, list):
            name = node.target.id  # Python would change the list for all that have it
            raise self.source.error(node, f"a list is not changed; write {name} = {name} + ...")
        self._assign(node.target, value)
        return ()

    def _assign(self, target: ast.expr, value: Expression) -> None:
        if isinstance(value, Constant) and not is_constant(value.value):
            kind = type(value.value).__name__
            raise self.source.error(target, f"a {kind} is no constant that a program can compute with")
        if isinstance(target, ast.Name):
            self.set(target, target.id, value)
            self.assigned.append(target.id)
            return
        if not isinstance(target, (ast.Tuple, ast.List)) or not isinstance(value, Constant):
            raise self.source.error(
                target, "only names are set, and several of them from constants only"
            )
        items = list(value.value) if isinstance(value.value, (tuple, list, str)) else []
        if len(items) != len(target.elts):
            raise self.source.error(target, f"{len(target.elts)} names, and {value.value!r}")
        for element, item in zip(target.elts, items):
            self._assign(element, Constant(item))

    def _read_Pass(self, node: ast.Pass) -> Tuple[Piece, ...]:
        return ()

    def _read_Return(self, node: ast.Return) -> Tuple[Piece, ...]:
        is_none = (
            node.value is None or isinstance(node.value, ast.Constant) and node.value.value is None
        )
        if not is_none:
            raise self.source.error(node, "a program returns nothing; write say(...)")
        if node is not self.source.node.body[-1]:
            raise self.source.error(
                node, "a program goes on to its end; put what follows under `else:`"
            )
        return ()


def _keyword(node: ast.stmt) -> str:
    return ast.unparse(node).split(None, 1)[0].rstrip(":")


def _has_turn(pieces: Sequence[Piece]) -> bool:
    for piece in pieces:
        if isinstance(piece, Turn):
            return True
        inner = piece.modules if isinstance(piece, Decision) else (piece,)
        if any(isinstance(module, Module) and _has_turn(module.pieces) for module in inner):
            return True
    return False


def read_program(definition: Definition) -> Tree:
    """The tree of the program's schema. ProgramError where there is none."""
    names: Dict[str, Any] = {n: argument_of(n, d) for n, d in definition.parameters.items()}
    whole = Whole(definition.source.folder, [definition])
    pieces = Reading(definition.source, names, Surroundings(Scope()), whole).function()
    tree = Tree(definition.name, pieces, definition.options.of_schema())
    check_room(tree)
    return tree
