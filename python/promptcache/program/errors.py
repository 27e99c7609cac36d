"""What is wrong with a program: a sentence, and the place in its Python source."""

from __future__ import annotations

import dataclasses
from typing import Tuple

__all__ = ["Place", "ProgramError"]

_MOST_CALLS = 8  # in a message


class ProgramError(SyntaxError):
    """A program that has no schema: `filename`, `lineno` and `offset` are in its Python source, and
    `msg` says what to write instead."""


@dataclasses.dataclass(frozen=True)
class Place:
    """Where something stands in Python source, and what called the program that it stands in."""

    file: str
    line: int  # from 1
    column: int  # in characters, from 1
    text: str  # of the line
    called_from: Tuple[str, ...] = ()  # "FILE:LINE" of each call, the innermost first

    def error(self, message: str) -> ProgramError:
        calls = "".join(f"; called from {place}" for place in self.called_from[:_MOST_CALLS])
        if len(self.called_from) > _MOST_CALLS:
            calls += f" and {len(self.called_from) - _MOST_CALLS} more"
        return ProgramError(message + calls, (self.file, self.line, self.column, self.text))

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"
