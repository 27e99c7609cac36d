"""if and match: what they say is a union of which a prompt has one member at most."""

from __future__ import annotations

import ast
import dataclasses
import functools
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Sequence, Tuple, get_args

from .computing import behind, combine, conditional
from .expressions import Constant, Expression, is_text, join
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
    first: Dict[str, Any]  # the names at its beginning
    names: Dict[str, Any]  # and at its end


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
        words, first = _words(condition, taken), dict(inner.reader.names)
        taken.append(_Taken(condition, inner.read_all(body), words, first, inner.reader.names))
        assigned += inner.assigned
        left.assume(condition, holds=False)
        if isinstance(condition, Constant):
            break
    if taken:
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
        firsts, ends = [w.first.get(name) for w in taken], [w.names.get(name) for w in taken]
        if not isinstance(taken[-1].condition, Constant):  # there is a way on which none is taken
            firsts.append(names.get(name))
            ends.append(names.get(name))
        known = [end for end in ends if end is not None and not isinstance(end, Unsure)]
        if len(known) < len(ends):
            names[name] = Unsure(reading.source.place(node))
        else:
            reading.set(node, name, _merged(taken, names.get(name), firsts, known))
        reading.assigned.append(name)


def _merged(
    taken: Sequence[_Taken], before: Any, firsts: Sequence[Any], ends: Sequence[Expression]
) -> Expression:
    """One of the ends. Where all go on from the text before, only what they add is decided."""
    if all(isinstance(t, get_args(Expression)) and is_text(t) for t in [before, *firsts, *ends]):
        added = [behind(end, first) for first, end in zip(firsts, ends)]
        if None not in added:
            return join([before, _one_of(taken, [a for a in added if a is not None])])
    return _one_of(taken, ends)


def _one_of(taken: Sequence[_Taken], ends: Sequence[Expression]) -> Expression:
    """The value of the way that is taken; the last where none of those before it is."""
    value = ends[-1]
    for way, end in zip(reversed(taken[: len(ends) - 1]), reversed(ends[:-1])):
        value = conditional(way.condition, end, value)
    return value
