"""if and match: what they say is a union of which a prompt has one member at most."""

from __future__ import annotations

import ast
import dataclasses
import functools
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple

from .computing import combine, conditional
from .expressions import Constant, Expression
from .knowledge import Unsure
from .names import name_of_condition, name_of_rest
from .pieces import Branch, Decision, Module, Piece
from .reader import Reader

if TYPE_CHECKING:
    from .statements import Reading

__all__ = ["decide", "ways_of_if", "ways_of_match"]

# A condition, read with what is left where no way before it is taken, and the statements under it.
Way = Tuple[Callable[[Reader], Expression], Sequence[ast.stmt]]


def _always(reader: Reader) -> Expression:
    return Constant(True)


def _test(node: ast.expr, reader: Reader) -> Expression:
    return reader.read(node)


def ways_of_if(node: ast.If) -> List[Way]:
    """if, elif, ..., else."""
    ways: List[Way] = []
    rest: Sequence[ast.stmt] = [node]
    while len(rest) == 1 and isinstance(rest[0], ast.If):
        ways.append((functools.partial(_test, rest[0].test), rest[0].body))
        rest = rest[0].orelse
    return [*ways, (_always, rest)] if rest else ways


def ways_of_match(node: Any) -> List[Way]:
    """match and its cases. node: ast.Match, which Python 3.9 has not."""

    return [(functools.partial(_case, node.subject, case), case.body) for case in node.cases]


def _case(subject: ast.expr, case: Any, reader: Reader) -> Expression:
    matches = _matches(reader, case.pattern, reader.read(subject))
    if case.guard is None:
        return matches
    inner = Reader(reader.source, dict(reader.names))
    inner.assume(matches, holds=True)
    return combine("and", [matches, inner.read(case.guard)])


def _matches(reader: Reader, pattern: Any, subject: Expression) -> Expression:
    kind = type(pattern).__name__
    if kind == "MatchValue":
        return reader.compare(pattern, "==", subject, reader.read(pattern.value))
    if kind == "MatchSingleton":
        return reader.compare(pattern, "is", subject, Constant(pattern.value))
    if kind == "MatchOr":
        return combine("or", [_matches(reader, p, subject) for p in pattern.patterns])
    if kind == "MatchAs" and pattern.pattern is None and pattern.name is None:
        return Constant(True)
    raise reader.source.error(pattern, "a case is a constant, constants with | between them, or _")


@dataclasses.dataclass
class _Taken:
    condition: Expression
    pieces: Tuple[Piece, ...]
    words: str
    names: Dict[str, Any]  # at its end


def decide(reading: Reading, node: ast.stmt, ways: Sequence[Way]) -> Tuple[Piece, ...]:
    """What an if or a match says. Where constants decide it, that is the taken way's own text."""
    left = Reader(reading.source, dict(reading.reader.names))
    taken: List[_Taken] = []
    assigned: List[str] = []
    for read_condition, body in ways:
        condition = read_condition(left)
        if isinstance(condition, Constant):
            if not condition.value:
                continue
            if not taken:
                return reading.read_all(body)
            condition = Constant(True)
        inner = reading.branch(dict(left.names), condition)
        words = _words(condition, taken)
        taken.append(_Taken(condition, inner.read_all(body), words, inner.reader.names))
        assigned += inner.assigned
        left.assume(condition, holds=False)
        if isinstance(condition, Constant):
            break
    _merge(reading, node, taken, assigned)
    branches = [_branch(reading, way) for way in taken]
    return (Decision(tuple(branches)),) if any(b.module for b in branches) else ()


def _branch(reading: Reading, way: _Taken) -> Branch:
    if not way.pieces:
        return Branch(way.condition, None)
    scope = reading.around.scope
    if len(way.pieces) == 1 and isinstance(way.pieces[0], Module):
        module = way.pieces[0]  # a program or a module() alone: not one module in another
        return Branch(way.condition, dataclasses.replace(module, name=scope.module(module.name)))
    return Branch(way.condition, Module(scope.module(way.words), way.pieces))


def _words(condition: Expression, before: Sequence[_Taken]) -> str:
    """What a way's module is called; `else` by what is left, where one parameter decides."""
    if not isinstance(condition, Constant):
        return name_of_condition(condition)
    return name_of_rest([way.condition for way in before])


def _merge(reading: Reading, node: ast.stmt, taken: Sequence[_Taken], assigned: Sequence[str]) -> None:
    """Names that a way sets have behind it what the way that is taken gave them."""
    names = reading.reader.names
    for name in dict.fromkeys(assigned):
        value = names.get(name) if not taken or not isinstance(taken[-1].condition, Constant) else None
        ways = list(taken)
        if value is None and ways and isinstance(ways[-1].condition, Constant):
            value = ways.pop().names.get(name)
        merged: Optional[Any] = value
        for way in reversed(ways):
            own = way.names.get(name)
            if merged is None or own is None or isinstance(own, Unsure) or isinstance(merged, Unsure):
                merged = None
                break
            merged = conditional(way.condition, own, merged)
        names[name] = Unsure(reading.source.place(node)) if merged is None else merged
        reading.assigned.append(name)
