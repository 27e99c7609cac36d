"""LlamaIndex's LLM: pip install promptcache[llama-index].

    from promptcache.integrations.llama_index import PromptcacheLLM

    llm = PromptcacheLLM(model="model.gguf", max_tokens=64)
    print(llm.complete("Hello"))
"""

from __future__ import annotations

import functools
from typing import Any, Dict, List, Optional, Sequence

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseGen,
    LLMMetadata,
    MessageRole,
)
from llama_index.core.bridge.pydantic import ConfigDict, Field
from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback
from llama_index.core.llms.custom import CustomLLM

from promptcache import Engine, Session

__all__ = ["PromptcacheLLM"]


class PromptcacheLLM(CustomLLM):
    """A model's answers, computed in this process."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    model: Any  # a GGUF file or a folder, or an Engine that is open
    engine_options: Dict[str, Any] = Field(default_factory=dict)
    max_tokens: int = 256
    temperature: float = 0.0
    answer_options: Dict[str, Any] = Field(default_factory=dict)  # others of Session

    @functools.cached_property
    def engine(self) -> Engine:
        if isinstance(self.model, Engine):
            return self.model
        return Engine(self.model, **self.engine_options)

    @property
    def metadata(self) -> LLMMetadata:
        facts = self.engine.facts
        return LLMMetadata(
            context_window=facts.context_tokens,
            num_output=self.max_tokens,
            is_chat_model=facts.has_chat_format,
            model_name=str(self.model),
        )

    def _asked(self, options: Dict[str, Any]) -> Dict[str, Any]:
        known = {"max_tokens": self.max_tokens, "temperature": self.temperature, **self.answer_options}
        return {**known, **{k: v for k, v in options.items() if k != "formatted"}}

    def _chat_session(self, messages: Sequence[ChatMessage], options: Dict[str, Any]) -> Session:
        turns: List[Dict[str, Any]] = [
            {"role": m.role.value, "content": m.content or ""} for m in messages
        ]
        return self.engine.write_chat(turns).session(**self._asked(options))

    @llm_chat_callback()
    def chat(self, messages: Sequence[ChatMessage], **options: Any) -> ChatResponse:
        with self._chat_session(messages, options) as session:
            text = session.text()
            session.try_keep()
        return _response(text)

    @llm_chat_callback()
    def stream_chat(self, messages: Sequence[ChatMessage], **options: Any) -> ChatResponseGen:
        def generate() -> ChatResponseGen:
            said = ""
            with self._chat_session(messages, options) as session:
                for text in session:
                    said += text
                    yield _response(said, text)
                session.try_keep()

        return generate()

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **options: Any) -> CompletionResponse:
        with self.engine.plain().text(prompt).session(**self._asked(options)) as session:
            return CompletionResponse(text=session.text())

    @llm_completion_callback()
    def stream_complete(
        self, prompt: str, formatted: bool = False, **options: Any
    ) -> CompletionResponseGen:
        def generate() -> CompletionResponseGen:
            said = ""
            with self.engine.plain().text(prompt).session(**self._asked(options)) as session:
                for text in session:
                    said += text
                    yield CompletionResponse(text=said, delta=text)

        return generate()


def _response(text: str, delta: Optional[str] = None) -> ChatResponse:
    return ChatResponse(message=ChatMessage(role=MessageRole.ASSISTANT, content=text), delta=delta)
