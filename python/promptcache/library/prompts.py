"""The prompt of a question and its pieces, in PML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

from .. import _xml
from .pieces import Piece

if TYPE_CHECKING:
    from ..engine import Engine
    from ..prompt import Prompt

__all__ = ["REPAIR", "SYSTEM", "module_name", "prompt_of", "text_of"]

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


def prompt_of(
    engine: Engine,
    system: str,
    pieces: Sequence[Piece],
    stand_ins: Sequence[Piece],
    question: str,
    *,
    scaffold: bool = False,
    before: int = 0,
) -> Prompt:
    """pieces: in the order in which they stand. stand_ins: in the order of slots; none: each piece
    sees the instruction alone. scaffold: the pieces are encoded together. before: modules that are
    computed each time and stand before the pieces, which so are in later slots."""
    fillers = [f"f{i}" for i in range(before)]
    names = [*fillers, *(module_name(piece.number) for piece in pieces)]
    turns = engine.facts.has_chat_format
    attend = "slots" if stand_ins else "prefix"
    schema = [f'<schema name="library" attend="{attend}" repair="{REPAIR}">']
    schema += [f"<stand-in {_EXACT}>{_xml.text(text_of(p))}</stand-in>" for p in stand_ins]
    schema.append(f"<system>{_xml.text(_xml.cleaned(system))}</system>" if turns else _module("", f"{system}\n\n"))
    schema += [f'<module name="{name}" cache="false">.</module>' for name in fillers]
    schema += [_module(module_name(p.number), text_of(p)) for p in pieces]
    if scaffold:
        schema.append(f'<scaffold name="set" modules={_xml.attribute(" ".join(names))}/>')
    imports = "".join(f"<{name}/>" for name in names)
    asked = _xml.cleaned(f"Question: {question}" if turns else f"Question: {question}\nAnswer:")
    frame = "<user>{}</user>" if turns else "{}"
    prompt = f'<prompt schema="library" {_EXACT}>{frame.format(imports + _xml.text(asked))}</prompt>'
    return engine.schema("".join([*schema, "</schema>"])).prompt(prompt)


_EXACT = 'xml:space="preserve"'


def _module(name: str, text: str) -> str:
    named = f' name="{name}"' if name else ""
    return f"<module{named} {_EXACT}>{_xml.text(_xml.cleaned(text))}</module>"
