"""Writes a program with its arguments as a prompt of PML: which modules, with what in them."""

from __future__ import annotations

import dataclasses
from typing import Any, Iterator, List, Mapping, Sequence, Tuple

from .. import _xml
from .expressions import evaluate, said
from .pieces import Blank, Decision, Module, Parameter, Piece, Turn

__all__ = ["Import", "imports_of", "paths_of", "write_prompt"]


@dataclasses.dataclass(frozen=True)
class Import:
    """A module in a prompt."""

    name: str
    arguments: Mapping[str, str]
    text: str  # the prompt's own, at its end
    inner: Tuple[Import, ...]


def imports_of(pieces: Sequence[Piece], arguments: Mapping[str, Any]) -> Tuple[Import, ...]:
    """What the arguments import, in the order of the schema."""
    return tuple(found for piece in pieces for found in _imports(piece, arguments))


def _imports(piece: Piece, arguments: Mapping[str, Any]) -> Iterator[Import]:
    if isinstance(piece, Turn):
        yield from imports_of(piece.pieces, arguments)
    elif isinstance(piece, Decision):
        branch = next((b for b in piece.branches if evaluate(b.condition, arguments)), None)
        if branch is not None and branch.module is not None:
            yield _import(branch.module, arguments)
    elif isinstance(piece, Module):
        yield _import(piece, arguments)
    elif isinstance(piece, Blank):
        yield Import(piece.name, {}, said(piece.value, arguments), ())


def _import(module: Module, arguments: Mapping[str, Any]) -> Import:
    texts = {p.name: said(p.value, arguments) for p in _parameters(module.pieces)}
    return Import(module.name, texts, "", imports_of(module.pieces, arguments))


def _parameters(pieces: Sequence[Piece]) -> Iterator[Parameter]:
    """Those of the module that holds the pieces; turns are its own, modules in it are not."""
    for piece in pieces:
        if isinstance(piece, Parameter):
            yield piece
        elif isinstance(piece, Turn):
            yield from _parameters(piece.pieces)


def paths_of(imports: Sequence[Import], before: str = "") -> List[str]:
    """Each module's path, "europe/paris"."""
    paths = []
    for found in imports:
        paths += [before + found.name, *paths_of(found.inner, f"{before}{found.name}/")]
    return paths


def write_prompt(schema: str, imports: Sequence[Import]) -> str:
    """ValueError where a text has a character that XML cannot write."""
    return "\n".join(_lines("prompt", f" schema={_xml.attribute(schema)}", imports)) + "\n"


def _lines(tag: str, attributes: str, imports: Sequence[Import]) -> Iterator[str]:
    if not imports:
        yield f"<{tag}{attributes}/>"
        return
    yield f"<{tag}{attributes}>"
    for found in imports:
        written = "".join(f" {n}={_xml.attribute(_xml.check(v))}" for n, v in found.arguments.items())
        if found.text:
            space = "" if _xml.is_folded(found.text) else ' xml:space="preserve"'
            yield f"  <{found.name}{space}>{_xml.text(_xml.check(found.text))}</{found.name}>"
        else:
            for line in _lines(found.name, written, found.inner):
                yield "  " + line
    yield f"</{tag}>"
