"""Turns of a chat as the C API takes them: texts, and modules of a schema."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, List, Mapping, Sequence, Union

from ._library import c_text, ffi

__all__ = ["Messages", "Use"]


@dataclasses.dataclass(frozen=True)
class Use:
    """A module of the schema, amid the parts of a turn: its path ("europe/paris", which brings
    europe), and what its parameters are given."""

    module: str
    arguments: Mapping[str, str] = dataclasses.field(default_factory=dict)


class Messages:
    """pc_message[n], and all that it points to."""

    def __init__(self, messages: Sequence[Mapping[str, Any]]) -> None:
        self._kept: List[Any] = []
        self.n = len(messages)
        self.array = ffi.new("pc_message[]", max(self.n, 1))
        for turn, message in zip(self.array, messages):
            unknown = set(message) - {"role", "content"}
            if unknown:
                raise TypeError(
                    f"a turn has {sorted(unknown)}, which a prompt of a schema cannot say; "
                    "Engine.chat takes whole conversations, tools and their calls included"
                )
            self._fill(turn, message["role"], message["content"])

    def _text(self, text: str) -> Any:
        self._kept.append(ffi.new("char[]", text.encode("utf-8")))
        return self._kept[-1]

    def _name(self, text: str, what: str) -> Any:
        self._kept.append(ffi.new("char[]", c_text(text, what)))
        return self._kept[-1]

    def _fill(self, turn: Any, role: str, content: Union[str, Sequence[Union[str, Use]]]) -> None:
        turn.role = self._name(role, "a role")
        if isinstance(content, str):
            turn.content, turn.bytes = self._text(content), len(content.encode("utf-8"))
            return
        turn.parts = parts = ffi.new("pc_part[]", max(len(content), 1))
        turn.n_parts = len(content)
        self._kept.append(parts)
        for part, given in zip(parts, content):
            if isinstance(given, str):
                part.text, part.bytes = self._text(given), len(given.encode("utf-8"))
            else:
                part.module = self._name(given.module, "a module's path")
                self._fill_arguments(part, dict(given.arguments))

    def _fill_arguments(self, part: Any, arguments: Dict[str, str]) -> None:
        part.arguments = array = ffi.new("pc_argument[]", max(len(arguments), 1))
        part.n_arguments = len(arguments)
        self._kept.append(array)
        for argument, (name, value) in zip(array, arguments.items()):
            argument.name = self._name(name, "a parameter")
            argument.value = self._text(value)
            argument.bytes = len(value.encode("utf-8"))
