"""The schema of pieces, and the prompt of a question, in PML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

from .. import _xml
from .pieces import Piece

if TYPE_CHECKING:
    from ..engine import Engine
    from ..prompt import Prompt
    from ..schema import Schema

__all__ = ["REPAIR", "SYSTEM", "module_name", "prompt_in", "schema_of", "text_of"]

SYSTEM = (
    "Answer the question from the documents, in few words. Behind the answer write the number of "
    "the document that it is from, as in [7]."
)
# Of several pieces; docs/ANSWERS.md, "By task".
REPAIR = "attended:15%"


def module_name(number: int) -> str:
    return f"p{number}"


def text_of(piece: Piece) -> str:
    """What the model reads of a piece; the same in every prompt."""
    return f"[{piece.number}] {piece.heading}\n{piece.text}\n\n"


def schema_of(
    engine: Engine,
    system: str,
    pieces: Sequence[Piece],
    stand_ins: Sequence[Piece],
    *,
    scaffold: bool = False,
    fillers: int = 0,
) -> Schema:
    """pieces: in the order in which they stand. stand_ins: in the order of slots; none: each piece
    sees the instruction alone. scaffold: the pieces are encoded together. fillers: modules that are
    computed each time and may stand before the pieces, which so are in later slots."""
    attend = "slots" if stand_ins else "prefix"
    schema = [f'<schema name="library" attend="{attend}" repair="{REPAIR}">']
    schema += [f"<stand-in {_EXACT}>{_said(text_of(p))}</stand-in>" for p in stand_ins]
    if engine.facts.has_chat_format:
        schema.append(f"<system>{_said(system)}</system>")
    else:
        schema.append(_module("", f"{system}\n\n"))
    schema += [f'<module name="{_filler(i)}" cache="false">.</module>' for i in range(fillers)]
    schema += [_module(module_name(p.number), text_of(p)) for p in pieces]
    if scaffold:
        names = " ".join(module_name(p.number) for p in pieces)
        schema.append(f'<scaffold name="set" modules="{names}"/>')
    return engine.schema("".join([*schema, "</schema>"]))


def prompt_in(schema: Schema, pieces: Sequence[Piece], question: str, *, fillers: int = 0) -> Prompt:
    """A question with pieces of the schema. fillers: so many stand before them."""
    turns = schema.engine.facts.has_chat_format
    names = [*map(_filler, range(fillers)), *(module_name(piece.number) for piece in pieces)]
    imports = "".join(f"<{name}/>" for name in names)
    asked = f"Question: {question}" if turns else f"Question: {question}\nAnswer:"
    inner = imports + _said(asked)
    inner = f"<user>{inner}</user>" if turns else inner
    return schema.prompt(f'<prompt schema="library" {_EXACT}>{inner}</prompt>')


_EXACT = 'xml:space="preserve"'


def _filler(i: int) -> str:
    return f"f{i}"


def _module(name: str, text: str) -> str:
    named = f' name="{name}"' if name else ""
    return f"<module{named} {_EXACT}>{_said(text)}</module>"


def _said(text: str) -> str:
    """A file's name and a question may have what no file's text has here."""
    return _xml.text(_xml.cleaned(text))
