"""A program as a tree: what is always said, what may be imported, what comes with the prompt."""

from __future__ import annotations

import dataclasses
from typing import Mapping, Optional, Tuple, Union

from .declared import Len
from .errors import Place
from .expressions import Expression

__all__ = [
    "Blank",
    "Branch",
    "Decision",
    "File",
    "Module",
    "Parameter",
    "Piece",
    "Said",
    "Tree",
    "Turn",
]


@dataclasses.dataclass(frozen=True)
class Said:
    """Text."""

    text: str
    place: Place


@dataclasses.dataclass(frozen=True)
class File:
    """A file's text; its path is relative to the schema's folder."""

    path: str


@dataclasses.dataclass(frozen=True)
class Parameter:
    """Room for a text in the module that it stands in. Its name is one of that module's."""

    name: str
    length: Len
    value: Expression
    place: Place


@dataclasses.dataclass(frozen=True)
class Blank:
    """An empty module, in which the prompt says a text of its own."""

    name: str
    value: Expression
    place: Place


@dataclasses.dataclass(frozen=True)
class Module:
    """What is encoded by itself. Its name is unique among its siblings."""

    name: str
    pieces: Tuple[Piece, ...]
    attributes: Mapping[str, str] = dataclasses.field(default_factory=dict)  # of PML, besides name


@dataclasses.dataclass(frozen=True)
class Branch:
    """What is said where the condition holds and no branch before it is taken; None: nothing."""

    condition: Expression
    module: Optional[Module]


@dataclasses.dataclass(frozen=True)
class Decision:
    """At most one of these, the first whose condition holds."""

    branches: Tuple[Branch, ...]

    @property
    def modules(self) -> Tuple[Module, ...]:
        return tuple(branch.module for branch in self.branches if branch.module is not None)


@dataclasses.dataclass(frozen=True)
class Turn:
    """A turn of the chat: "system", "user" or "assistant"."""

    role: str
    pieces: Tuple[Piece, ...]


Piece = Union[Said, File, Parameter, Blank, Module, Decision, Turn]


@dataclasses.dataclass(frozen=True)
class Tree:
    """A compiled program."""

    name: str  # of the schema
    pieces: Tuple[Piece, ...]
    attributes: Mapping[str, str]  # of <schema>, besides name
