"""An answer of a library, and what it is from."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Sequence, Tuple

from .pieces import Piece

if TYPE_CHECKING:
    from ..session import Stats

__all__ = ["Answer", "Source", "sources_of"]

_CITED = re.compile(r"\[(\d{1,18}(?:\s*,\s*\d{1,18})*)\]")


@dataclasses.dataclass(frozen=True)
class Source:
    """A piece that stood in the prompt."""

    number: int  # as the answer cites it
    path: str
    title: str  # of the document
    heading: str  # the title, and the headings that the piece stands under
    text: str
    cited: bool  # the answer names its number

    def __str__(self) -> str:
        return f"[{self.number}] {self.heading} ({self.path})"


@dataclasses.dataclass(frozen=True)
class Answer:
    """An answer. str(answer) is its text."""

    text: str
    sources: Tuple[Source, ...]  # in the order of the prompt
    finish: str  # "eos", "stop" or "length"
    stats: Stats

    def __str__(self) -> str:
        return self.text

    @property
    def cited(self) -> Tuple[Source, ...]:
        """The sources whose numbers the text names."""
        return tuple(source for source in self.sources if source.cited)


def sources_of(pieces: Sequence[Piece], answer: str = "") -> Tuple[Source, ...]:
    named = {int(n) for group in _CITED.findall(answer) for n in group.split(",")}
    return tuple(
        Source(p.number, p.path, p.title, p.heading, p.text, p.number in named) for p in pieces
    )
