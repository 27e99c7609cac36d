"""Whole conversations, as chat protocols have them, in the text of the model's own template."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from ._library import call, ffi, lib, make, owned_text, text_of, utf8
from .batch import in_thread
from .tool_schemas import described
from .tools import CallReader, Tool, ToolCall, Tools

if TYPE_CHECKING:
    from .engine import Engine
    from .prompt import Prompt
    from .session import Session, Stats

__all__ = ["Asked", "Heard", "Message", "Reply", "aanswer", "answer", "prompt", "render"]

Message = Mapping[str, Any]
Variables = Optional[Dict[str, Any]]
# "auto", "none", "required", a tool's name, or as OpenAI's API has it.
ToolChoice = Union[str, Mapping[str, Any]]
OnText = Optional[Callable[[str], None]]
OnCall = Optional[Callable[[ToolCall], None]]


@dataclasses.dataclass(frozen=True)
class Reply:
    """An answer. str(reply) is its text."""

    text: str
    finish: str  # "eos", "stop" or "length"
    stats: Stats
    tool_calls: List[ToolCall] = dataclasses.field(default_factory=list)

    def __str__(self) -> str:
        return self.text

    @property
    def message(self) -> Dict[str, Any]:
        """What to append to the messages, to go on; the calls' results (ToolCall.result) follow it."""
        said: Dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.tool_calls:
            said["tool_calls"] = [made.as_message for made in self.tool_calls]
        return said


def _fitted(engine: Engine, message: Message) -> Dict[str, Any]:
    """As the model's template wants an answer that called tools."""
    if not message.get("tool_calls"):
        return dict(message)
    raw, n = utf8(json.dumps(message))
    read: Dict[str, Any] = json.loads(owned_text(lib.pc_chat_called, engine.handle, raw, n))
    return read


def _request(
    engine: Engine,
    messages: Sequence[Message],
    tools: Optional[Sequence[Tool]],
    variables: Variables,
) -> str:
    request: Dict[str, Any] = {"messages": [_fitted(engine, message) for message in messages]}
    if tools is not None:
        request["tools"] = [described(tool) for tool in tools]
    if variables:
        request["variables"] = variables
    return json.dumps(request)


def prompt(
    engine: Engine,
    messages: Sequence[Message],
    tools: Optional[Sequence[Tool]],
    variables: Variables,
) -> Prompt:
    from .prompt import Prompt

    raw, n = utf8(_request(engine, messages, tools, variables))
    return Prompt(make(lib.pc_prompt_from_chat, "pc_prompt", engine.handle, raw, n), engine)


def render(
    engine: Engine,
    messages: Sequence[Message],
    tools: Optional[Sequence[Tool]],
    variables: Variables,
) -> str:
    raw, n = utf8(_request(engine, messages, tools, variables))
    out, size = ffi.new("char **"), ffi.new("size_t *")
    call(lib.pc_chat_render, engine.handle, raw, n, out, size)
    try:
        return text_of(out[0], size[0])
    finally:
        lib.pc_free(out[0])


def _form(response_format: Optional[Mapping[str, Any]]) -> Optional[Mapping[str, Any]]:
    """The JSON Schema that a response_format of OpenAI's comes to."""
    if response_format is None or response_format.get("type") == "text":
        return None
    if response_format.get("type") == "json_schema":
        schema: Mapping[str, Any] = response_format["json_schema"]["schema"]
        return schema
    if response_format.get("type") == "json_object":
        return {"type": "object"}
    raise ValueError(
        f"response_format {dict(response_format)!r}: its type is text, json_object or json_schema"
    )


def _wanted(choice: ToolChoice, names: Sequence[str]) -> str:
    """One of the three words, or the name of a tool."""
    if isinstance(choice, str) and (choice in ("auto", "none", "required") or choice in names):
        return choice
    if not isinstance(choice, str):
        name = choice.get("function", {}).get("name")
        if choice.get("type") == "function" and name in names:
            return str(name)
    raise ValueError(
        f"tool_choice {choice!r}: it is auto, none, required or the name of a tool, of which there "
        f"are {', '.join(names) or 'none'}"
    )


class Asked:
    """What an answer may be, and how it is read."""

    def __init__(
        self,
        engine: Engine,
        tools: Optional[Sequence[Tool]],
        choice: ToolChoice,
        response_format: Optional[Mapping[str, Any]],
    ) -> None:
        self.options: Dict[str, Any] = {}
        self.tools = None if tools is None else [described(tool) for tool in tools]
        named = [tool.get("function", {}).get("name", "") for tool in self.tools or ()]
        wanted, form = _wanted(choice, named), _form(response_format)
        self._reads = bool(self.tools) and wanted != "none"
        self._forced = self._reads and wanted != "auto"
        self._as_written = form is not None
        if not self._reads:
            if wanted == "required":
                raise ValueError("tool_choice 'required': there are no tools to call")
            if form is not None:
                self.options["constraint"] = engine.json_schema(form)
            return
        self._known = Tools(engine, self.tools or ())
        self.options["spell_controls"] = 1
        if self._forced:
            name = None if wanted == "required" else wanted
            self.options["constraint"] = self._known.constraint(name)
        elif form is not None:
            self.options["constraint"] = self._known.constraint(form=form)

    def reader(self) -> Optional[CallReader]:
        if not self._reads:
            return None
        return self._known.reader(forced=self._forced, as_written=self._as_written)


class Heard:
    """An answer while it comes."""

    def __init__(self, asked: Asked, on_text: OnText, on_call: OnCall) -> None:
        self._reader = asked.reader()
        self._on_text, self._on_call = on_text, on_call
        self._texts: List[str] = []
        self._n_told = 0  # calls

    def take(self, text: str) -> None:
        self._tell(text if self._reader is None else self._reader.push(text))

    def over(self, session: Session) -> Reply:
        if self._reader is not None:
            self._tell(self._reader.finish())
        stats = session.stats
        calls = self._reader.calls if self._reader is not None else []
        return Reply("".join(self._texts), stats.finish or "", stats, calls)

    def _tell(self, text: str) -> None:
        if text:
            self._texts.append(text)
            if self._on_text is not None:
                self._on_text(text)
        calls = self._reader.calls if self._reader is not None else []
        for made in calls[self._n_told :]:
            self._n_told += 1
            if self._on_call is not None:
                self._on_call(made)


async def aanswer(
    asked: Asked,
    prompt: Prompt,
    keep: bool,
    on_text: OnText,
    on_call: OnCall,
    options: Dict[str, Any],
) -> Reply:
    with prompt.session(**{**options, **asked.options}) as session:
        heard = Heard(asked, on_text, on_call)
        async for text in session:
            heard.take(text)
        reply = heard.over(session)
        if keep:
            await in_thread(session.try_keep)
        return reply


def answer(
    asked: Asked,
    prompt: Prompt,
    keep: bool,
    on_text: OnText,
    on_call: OnCall,
    options: Dict[str, Any],
) -> Reply:
    with prompt.session(**{**options, **asked.options}) as session:
        heard = Heard(asked, on_text, on_call)
        for text in session:
            heard.take(text)
        reply = heard.over(session)
        if keep:
            session.try_keep()
        return reply
