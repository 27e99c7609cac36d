"""LangChain's chat model: pip install promptcache[langchain].

    from promptcache.integrations.langchain import ChatPromptcache

    model = ChatPromptcache(model="model.gguf", max_tokens=64)
    print(model.invoke("Hello").text)

Parts of a message may be modules, whose states are computed once and shared by all conversations:
HumanMessage([{"type": "text", "text": document, "module": True}, {"type": "text", "text": question}]).
What a conversation computed is kept, so that its next turn computes its new text alone. Tools are bound
as ever (bind_tools, with_structured_output): their calls are read as the model's template writes them.
"""

from __future__ import annotations

import functools
import json
from typing import Any, AsyncIterator, Dict, Iterator, List, Optional, Sequence, Union

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.messages.tool import invalid_tool_call, tool_call, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict, Field

from promptcache import Engine, Reply, Session, Stats, ToolCall
from promptcache import chat as chats
from promptcache.batch import in_thread

__all__ = ["ChatPromptcache"]

_ASKED = (
    "model",
    "engine_options",
    "max_tokens",
    "temperature",
    "top_p",
    "seed",
    "answer_options",
)
_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}


class ChatPromptcache(BaseChatModel):
    """A model's answers, computed in this process. Fields: those of Engine and of an answer."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    model: Any  # a GGUF file or a folder, or an Engine that is open
    engine_options: Dict[str, Any] = Field(default_factory=dict)
    max_tokens: Optional[int] = None
    temperature: Optional[float] = None
    top_p: Optional[float] = None
    seed: Optional[int] = None
    answer_options: Dict[str, Any] = Field(default_factory=dict)  # others of Session

    @functools.cached_property
    def engine(self) -> Engine:
        if isinstance(self.model, Engine):
            return self.model
        return Engine(self.model, **self.engine_options)

    @property
    def _llm_type(self) -> str:
        return "promptcache"

    @property
    def _identifying_params(self) -> Dict[str, Any]:
        """All that an answer depends on: LangChain's cache finds answers by it."""
        return {name: str(getattr(self, name)) for name in _ASKED}

    def _answer(
        self, messages: List[BaseMessage], stop: Optional[List[str]], options: Dict[str, Any]
    ) -> _Answer:
        asked: Dict[str, Any] = {
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": self.seed,
            **self.answer_options,
            **options,
        }
        if stop:
            asked["stop"] = stop
        return _Answer(self.engine, [_as_dict(m) for m in messages], asked)

    def _generate(
        self,
        messages: List[BaseMessage],
        stop: Optional[List[str]] = None,
        run_manager: Optional[CallbackManagerForLLMRun] = None,
        **options: Any,
    ) -> ChatResult:
        answer = self._answer(messages, stop, options)
        with answer.session as session:
            for text in session:
                answer.heard.take(text)
            reply = answer.heard.over(session)
            session.try_keep()
        return _result(reply)

    def _stream(
        self,
        messages: List[BaseMessage],
        stop: Optional[List[str]] = None,
        run_manager: Optional[CallbackManagerForLLMRun] = None,
        **options: Any,
    ) -> Iterator[ChatGenerationChunk]:
        answer = self._answer(messages, stop, options)
        with answer.session as session:
            for text in session:
                for chunk in answer.chunks(text):
                    if run_manager:
                        run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                    yield chunk
            for chunk in answer.last():
                if run_manager:
                    run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk
            session.try_keep()

    async def _agenerate(
        self,
        messages: List[BaseMessage],
        stop: Optional[List[str]] = None,
        run_manager: Optional[AsyncCallbackManagerForLLMRun] = None,
        **options: Any,
    ) -> ChatResult:
        answer = self._answer(messages, stop, options)
        with answer.session as session:
            async for text in session:
                answer.heard.take(text)
            reply = answer.heard.over(session)
            await in_thread(session.try_keep)
        return _result(reply)

    async def _astream(
        self,
        messages: List[BaseMessage],
        stop: Optional[List[str]] = None,
        run_manager: Optional[AsyncCallbackManagerForLLMRun] = None,
        **options: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        answer = self._answer(messages, stop, options)
        with answer.session as session:
            async for text in session:
                for chunk in answer.chunks(text):
                    if run_manager:
                        await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                    yield chunk
            for chunk in answer.last():
                if run_manager:
                    await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk
            await in_thread(session.try_keep)

    def bind_tools(
        self,
        tools: Sequence[Any],
        *,
        tool_choice: Optional[Union[str, bool, Dict[str, Any]]] = None,
        **options: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Tools as LangChain has them: functions, classes of pydantic, BaseTool, dicts. tool_choice:
        "auto", "none", "any" (or True) for any of them, a tool's name, or as OpenAI's API has it."""
        made = [convert_to_openai_tool(tool) for tool in tools]
        choice = {None: "auto", False: "none", True: "required", "any": "required"}
        if not isinstance(tool_choice, dict):
            tool_choice = choice.get(tool_choice, tool_choice)
        options.pop("ls_structured_output_format", None)  # for LangSmith alone
        return self.bind(tools=made, tool_choice=tool_choice, **options)


class _Answer:
    """One answer while it comes: its session, and what is read out of it."""

    def __init__(self, engine: Engine, turns: List[Dict[str, Any]], asked: Dict[str, Any]) -> None:
        tools, choice = asked.pop("tools", None), asked.pop("tool_choice", "auto")
        wanted = chats.Asked(engine, tools, choice, asked.pop("response_format", None))
        self._made: List[AIMessageChunk] = []
        self._n_calls = 0
        self.session: Session = engine.write_chat(turns, tools=wanted.tools).session(
            **{**asked, **wanted.options}
        )
        self.heard = chats.Heard(wanted, self._text, self._call)

    def chunks(self, text: str) -> List[ChatGenerationChunk]:
        """What became certain by this piece of it."""
        self.heard.take(text)
        return self._taken()

    def last(self) -> List[ChatGenerationChunk]:
        """The rest, when nothing more comes, and what was counted."""
        reply = self.heard.over(self.session)
        self._made.append(
            AIMessageChunk(content="", usage_metadata=_usage(reply.stats), response_metadata=_told(reply))
        )
        return self._taken()

    def _taken(self) -> List[ChatGenerationChunk]:
        made, self._made = self._made, []
        return [ChatGenerationChunk(message=message) for message in made]

    def _text(self, text: str) -> None:
        self._made.append(AIMessageChunk(content=text))

    def _call(self, made: ToolCall) -> None:
        # Of a call that was cut off, what is no object: LangChain then has it among the invalid ones.
        arguments = json.dumps(made.arguments if made.whole else None)
        piece = tool_call_chunk(name=made.name, args=arguments, id=made.id, index=self._n_calls)
        self._made.append(AIMessageChunk(content="", tool_call_chunks=[piece]))
        self._n_calls += 1


def _as_dict(message: BaseMessage) -> Dict[str, Any]:
    role = getattr(message, "role", None) or _ROLES.get(message.type)
    if role is None:
        raise ValueError(f"a message of the type {message.type!r} has no role in a chat")
    turn: Dict[str, Any] = {"role": role, "content": message.content}
    if getattr(message, "tool_call_id", None):
        turn["tool_call_id"] = getattr(message, "tool_call_id")
    calls = getattr(message, "tool_calls", None)
    if calls:
        turn["tool_calls"] = [
            {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["args"]}}
            for c in calls
        ]
    return turn


def _usage(stats: Stats) -> UsageMetadata:
    return UsageMetadata(
        input_tokens=stats.prompt_tokens,
        output_tokens=stats.generated_tokens,
        total_tokens=stats.prompt_tokens + stats.generated_tokens,
        input_token_details=InputTokenDetails(cache_read=stats.cached_tokens),
    )


def _told(reply: Reply) -> Dict[str, Any]:
    if reply.tool_calls:
        return {"finish_reason": "tool_calls"}
    return {"finish_reason": "length" if reply.finish == "length" else "stop"}


def _result(reply: Reply) -> ChatResult:
    message = AIMessage(
        reply.text,
        tool_calls=[
            tool_call(name=c.name, args=c.arguments, id=c.id) for c in reply.tool_calls if c.whole
        ],
        invalid_tool_calls=[
            invalid_tool_call(name=c.name, args=None, id=c.id, error="the answer ended within it")
            for c in reply.tool_calls
            if not c.whole
        ],
        usage_metadata=_usage(reply.stats),
        response_metadata=_told(reply),
    )
    return ChatResult(generations=[ChatGeneration(message=message)])
