"""Writes a program's tree as a schema of PML, indented, with every text exactly as it is said."""

from __future__ import annotations

from typing import Iterator, List, Mapping, Sequence, Tuple, Union

from .. import _xml
from .pieces import Blank, Decision, File, Module, Parameter, Piece, Said, Tree, Turn

__all__ = ["write_schema"]

_INDENT = "  "


def write_schema(tree: Tree) -> str:
    """ProgramError where a text has a character that XML cannot write."""
    return "\n".join(_element("schema", {"name": tree.name, **tree.attributes}, tree.pieces)) + "\n"


def _tag(name: str, attributes: Mapping[str, str], *, empty: bool = False) -> str:
    written = "".join(f" {key}={_xml.attribute(value)}" for key, value in attributes.items())
    return f"<{name}{written}{'/' if empty else ''}>"


def _element(tag: str, attributes: Mapping[str, str], pieces: Sequence[Piece]) -> Iterator[str]:
    """The lines of an element: one where it holds text alone, else one and more for each piece."""
    if tag == "module" and pieces and isinstance(pieces[0], File):
        attributes, pieces = {**attributes, "src": pieces[0].path}, pieces[1:]
    if not pieces:
        yield _tag(tag, attributes, empty=True)
    elif tag != "schema" and all(isinstance(piece, (Said, Parameter)) for piece in pieces):
        yield _line(tag, attributes, pieces)
    else:
        yield _tag(tag, attributes)
        for run in _runs(pieces):
            for line in _piece(run):
                yield _INDENT + line
        yield f"</{tag}>"


def _runs(pieces: Sequence[Piece]) -> Iterator[Union[Piece, Tuple[Piece, ...]]]:
    """The pieces, texts and parameters side by side as one."""
    texts: List[Piece] = []
    for piece in pieces:
        if isinstance(piece, (Said, Parameter)):
            texts.append(piece)
            continue
        if texts:
            yield tuple(texts)
            texts = []
        yield piece
    if texts:
        yield tuple(texts)


def _piece(piece: Union[Piece, Tuple[Piece, ...]]) -> Iterator[str]:
    if isinstance(piece, tuple):
        yield _line("module", {}, piece)  # without a name: text of what it stands in
    elif isinstance(piece, File):
        yield _tag("module", {"src": piece.path}, empty=True)
    elif isinstance(piece, Blank):
        yield _tag("module", {"name": piece.name}, empty=True)
    elif isinstance(piece, Module):
        yield from _element("module", {"name": piece.name, **piece.attributes}, piece.pieces)
    elif isinstance(piece, Turn):
        yield from _element(piece.role, {}, piece.pieces)
    else:
        assert isinstance(piece, Decision)
        yield from _decision(piece)


def _decision(decision: Decision) -> Iterator[str]:
    modules = decision.modules
    if len(modules) == 1:
        yield from _piece(modules[0])
        return
    yield "<union>"
    for module in modules:
        for line in _piece(module):
            yield _INDENT + line
    yield "</union>"


def _line(tag: str, attributes: Mapping[str, str], pieces: Sequence[Piece]) -> str:
    """An element of texts and parameters. Its text may have line breaks; nothing is indented."""
    inner: List[Union[str, Parameter]] = []
    for piece in pieces:
        if isinstance(piece, Parameter):
            inner.append(piece)
            continue
        assert isinstance(piece, Said)
        try:
            said = _xml.check(piece.text)
        except ValueError as error:
            raise piece.place.error(str(error)) from None
        if inner and isinstance(inner[-1], str):
            inner[-1] += said
        else:
            inner.append(said)
    texts = [part for part in inner if isinstance(part, str)]
    space = {} if all(map(_xml.is_folded, texts)) else {"xml:space": "preserve"}
    written = "".join(_xml.text(part) if isinstance(part, str) else _parameter(part) for part in inner)
    return f"{_tag(tag, {**attributes, **space})}{written}</{tag}>"


def _parameter(parameter: Parameter) -> str:
    attributes = {"name": parameter.name, "len": str(parameter.length.tokens)}
    if parameter.length.scaffold is not None:
        attributes["scaffold"] = parameter.length.scaffold
    return _tag("param", attributes, empty=True)
