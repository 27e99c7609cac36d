"""Whole conversations, as chat protocols have them, in the text of the model's own template."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional, Sequence

from ._library import call, ffi, lib, make, text_of, utf8
from .batch import in_thread

if TYPE_CHECKING:
    from .engine import Engine
    from .prompt import Prompt
    from .session import Stats

__all__ = ["Message", "Reply", "aanswer", "answer", "held_to", "prompt", "render"]

Message = Mapping[str, Any]
Tools = Optional[Sequence[Dict[str, Any]]]
Variables = Optional[Dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Reply:
    """An answer. str(reply) is its text."""

    text: str
    finish: str  # "eos", "stop" or "length"
    stats: Stats

    def __str__(self) -> str:
        return self.text

    @property
    def message(self) -> Dict[str, str]:
        """What to append to the messages, to go on."""
        return {"role": "assistant", "content": self.text}


def _request(messages: Sequence[Message], tools: Tools, variables: Variables) -> str:
    request: Dict[str, Any] = {"messages": list(messages)}
    if tools is not None:
        request["tools"] = list(tools)
    if variables:
        request["variables"] = variables
    return json.dumps(request)


def prompt(engine: Engine, messages: Sequence[Message], tools: Tools, variables: Variables) -> Prompt:
    from .prompt import Prompt

    raw, n = utf8(_request(messages, tools, variables))
    return Prompt(make(lib.pc_prompt_from_chat, "pc_prompt", engine.handle, raw, n), engine)


def render(engine: Engine, messages: Sequence[Message], tools: Tools, variables: Variables) -> str:
    raw, n = utf8(_request(messages, tools, variables))
    out, size = ffi.new("char **"), ffi.new("size_t *")
    call(lib.pc_chat_render, engine.handle, raw, n, out, size)
    try:
        return text_of(out[0], size[0])
    finally:
        lib.pc_free(out[0])


async def aanswer(
    engine: Engine,
    messages: Sequence[Message],
    tools: Tools,
    variables: Variables,
    keep: bool,
    options: Dict[str, Any],
) -> Reply:
    with prompt(engine, messages, tools, variables).session(**options) as session:
        text = await session.atext()
        stats = session.stats
        if keep:
            await in_thread(session.try_keep)
        return Reply(text, stats.finish or "", stats)


def held_to(engine: Engine, response_format: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    """The option that a response_format of OpenAI's comes to."""
    if response_format is None or response_format.get("type") == "text":
        return {}
    if response_format.get("type") == "json_schema":
        return {"constraint": engine.json_schema(response_format["json_schema"]["schema"])}
    if response_format.get("type") == "json_object":
        return {"constraint": engine.json_schema({"type": "object"})}
    raise ValueError(
        f"response_format {dict(response_format)!r}: its type is text, json_object or json_schema"
    )


def answer(
    engine: Engine,
    messages: Sequence[Message],
    tools: Tools,
    variables: Variables,
    keep: bool,
    on_text: Optional[Callable[[str], None]],
    options: Dict[str, Any],
) -> Reply:
    with prompt(engine, messages, tools, variables).session(**options) as session:
        texts = []
        for text in session:
            texts.append(text)
            if on_text is not None:
                on_text(text)
        stats = session.stats
        if keep:
            session.try_keep()
        return Reply("".join(texts), stats.finish or "", stats)
