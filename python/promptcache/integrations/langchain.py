"""LangChain's chat model: pip install promptcache[langchain].

    from promptcache.integrations.langchain import ChatPromptcache

    model = ChatPromptcache(model="model.gguf", max_tokens=64)
    print(model.invoke("Hello").text)

Parts of a message may be modules, whose states are computed once and shared by all conversations:
HumanMessage([{"type": "text", "text": document, "module": True}, {"type": "text", "text": question}]).
What a conversation computed is kept, so that its next turn computes its new text alone. Calls of tools
are not read out of answers: bind_tools is refused.
"""

from __future__ import annotations

import functools
from typing import Any, AsyncIterator, Dict, Iterator, List, Optional, Sequence

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import ConfigDict, Field

from promptcache import Engine, Session, Stats
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

    def _session(
        self, messages: List[BaseMessage], stop: Optional[List[str]], options: Dict[str, Any]
    ) -> Session:
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
        return self.engine.write_chat([_as_dict(m) for m in messages]).session(**asked)

    def _generate(
        self,
        messages: List[BaseMessage],
        stop: Optional[List[str]] = None,
        run_manager: Optional[CallbackManagerForLLMRun] = None,
        **options: Any,
    ) -> ChatResult:
        with self._session(messages, stop, options) as session:
            text, stats = session.text(), session.stats
            session.try_keep()
        return _result(text, stats)

    def _stream(
        self,
        messages: List[BaseMessage],
        stop: Optional[List[str]] = None,
        run_manager: Optional[CallbackManagerForLLMRun] = None,
        **options: Any,
    ) -> Iterator[ChatGenerationChunk]:
        with self._session(messages, stop, options) as session:
            for text in session:
                if run_manager:
                    run_manager.on_llm_new_token(text)
                yield _chunk(text)
            yield _last(session.stats)
            session.try_keep()

    async def _agenerate(
        self,
        messages: List[BaseMessage],
        stop: Optional[List[str]] = None,
        run_manager: Optional[AsyncCallbackManagerForLLMRun] = None,
        **options: Any,
    ) -> ChatResult:
        with self._session(messages, stop, options) as session:
            text = await session.atext()
            stats = session.stats
            await in_thread(session.try_keep)
        return _result(text, stats)

    async def _astream(
        self,
        messages: List[BaseMessage],
        stop: Optional[List[str]] = None,
        run_manager: Optional[AsyncCallbackManagerForLLMRun] = None,
        **options: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        with self._session(messages, stop, options) as session:
            async for text in session:
                if run_manager:
                    await run_manager.on_llm_new_token(text)
                yield _chunk(text)
            yield _last(session.stats)
            await in_thread(session.try_keep)

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        raise NotImplementedError(
            "ChatPromptcache does not read calls of tools out of answers; `promptcache serve` does: "
            "ask it by ChatOpenAI(base_url=...)"
        )


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


def _told(stats: Stats) -> Dict[str, Any]:
    return {"finish_reason": "length" if stats.finish == "length" else "stop"}


def _result(text: str, stats: Stats) -> ChatResult:
    message = AIMessage(text, usage_metadata=_usage(stats), response_metadata=_told(stats))
    return ChatResult(generations=[ChatGeneration(message=message)])


def _chunk(text: str) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(content=text))


def _last(stats: Stats) -> ChatGenerationChunk:
    return ChatGenerationChunk(
        message=AIMessageChunk(content="", usage_metadata=_usage(stats), response_metadata=_told(stats))
    )
