"""Tools of a conversation: what the model is told of them, and their calls in its answers."""

from __future__ import annotations

import dataclasses
import json
import secrets
import string
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._handle import Handle
from ._library import call, ffi, lib, make, owned_text, text_of, utf8
from .constraint import Constraint
from .tool_schemas import described

if TYPE_CHECKING:
    from .engine import Engine

__all__ = ["CallReader", "Tool", "ToolCall", "Tools"]

# As chat protocols have it, {"type": "function", "function": {...}}, or a function of Python's.
Tool = Union[Mapping[str, Any], Callable[..., Any]]
_LETTERS = string.ascii_letters + string.digits


@dataclasses.dataclass(frozen=True)
class ToolCall:
    """A call that a model made."""

    name: str
    arguments: Dict[str, Any]
    # Nine letters and digits, which is what Mistral's templates want.
    id: str = dataclasses.field(
        default_factory=lambda: "".join(secrets.choice(_LETTERS) for _ in range(9))
    )
    whole: bool = True  # False: the answer ended within the call, whose arguments are not all there

    def result(self, value: Any) -> Dict[str, Any]:
        """The message that tells the model what came of it: a text, or a value in JSON."""
        content = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return {"role": "tool", "tool_call_id": self.id, "name": self.name, "content": content}

    @property
    def as_message(self) -> Dict[str, Any]:
        """As the answer's message has it, in "tool_calls"."""
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": "function", "function": function}


class Tools(Handle):
    """Tools for an engine's model. Raises Unsupported where the model's template writes no calls that
    can be read."""

    _what = "list of tools"

    def __init__(self, engine: Engine, tools: Sequence[Tool]) -> None:
        self.engine = engine
        self.described = [described(tool) for tool in tools]
        raw, n = utf8(json.dumps(self.described))
        self._own(make(lib.pc_tools_read, "pc_tools", engine.handle, raw, n), lib.pc_tools_close)

    def __repr__(self) -> str:
        names = [tool.get("function", {}).get("name") for tool in self.described]
        return f"<promptcache.Tools {', '.join(map(str, names))}>"

    def constraint(
        self, name: Optional[str] = None, form: Optional[Mapping[str, Any]] = None
    ) -> Constraint:
        """Answers are a call, of the tool of this name or of any, or else JSON by the schema `form`."""
        raw = ffi.NULL if name is None else utf8(name)[0]
        schema, n = (ffi.NULL, 0) if form is None else utf8(json.dumps(form))

        def made() -> Any:
            function = lib.pc_constraint_from_tools
            return make(function, "pc_constraint", self.handle, raw, schema, n)

        return Constraint(made, self.engine, "calls of tools")

    def read(self, answer: str) -> Tuple[str, List[ToolCall]]:
        """The text of a whole answer, and the calls in it."""
        raw, n = utf8(answer)
        read = json.loads(owned_text(lib.pc_calls_read, self.handle, 0, raw, n))
        return read["content"], [ToolCall(**made) for made in read["tool_calls"]]

    def reader(self, *, forced: bool = False, as_written: bool = False) -> CallReader:
        """What reads one answer while it comes."""
        return CallReader(self, forced, as_written)


class CallReader(Handle):
    """Reads one answer, piece by piece. forced: it is held to be a call. as_written: JSON and fenced
    blocks that the template does not write are text."""

    _what = "reader of calls"

    def __init__(self, tools: Tools, forced: bool, as_written: bool) -> None:
        flags = (lib.PC_CALLS_FORCED if forced else 0) | (
            lib.PC_CALLS_AS_WRITTEN if as_written else 0
        )
        self._tools = tools
        handle = make(lib.pc_call_reader_open, "pc_call_reader", tools.handle, flags)
        self._own(handle, lib.pc_call_reader_close)
        self._name: Optional[str] = None  # of the call that is not over
        self._heard: List[str] = []  # its arguments
        self.calls: List[ToolCall] = []  # those that are over

    def push(self, text: str) -> str:
        """What of the answer is certain to be text by what came of it. Calls that became whole are
        in `calls` then."""
        return self._read(*utf8(text))

    def finish(self) -> str:
        """The answer is over: the rest of its text. A call that was cut off is in `calls` then."""
        said = self._read(ffi.NULL, 0)
        if self._name is not None:
            self._end(whole=False)
        return said

    def _read(self, text: Any, n: int) -> str:
        pieces, n_pieces = ffi.new("pc_answer_piece **"), ffi.new("size_t *")
        call(lib.pc_call_reader_push, self.handle, text, n, pieces, n_pieces)
        said: List[str] = []
        for piece in pieces[0][0 : n_pieces[0]] if n_pieces[0] else ():
            words = text_of(piece.text, piece.bytes)
            if piece.kind == lib.PC_ANSWER_TEXT:
                said.append(words)
            elif piece.kind == lib.PC_ANSWER_CALL:
                self._name, self._heard = words, []
            elif piece.kind == lib.PC_ANSWER_ARGUMENTS:
                self._heard.append(words)
            else:
                self._end()
        return "".join(said)

    def _end(self, whole: bool = True) -> None:
        read = _arguments("".join(self._heard))
        self.calls.append(ToolCall(self._name or "", read, whole=whole))
        self._name = None


def _arguments(text: str) -> Dict[str, Any]:
    try:
        read = json.loads(text)
    except ValueError:
        return {}
    return dict(read) if isinstance(read, dict) else {}
