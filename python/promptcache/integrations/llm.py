"""A plug-in of the command `llm`: pip install promptcache[llm].

    PROMPTCACHE_MODELS=qwen=~/models/qwen.gguf llm -m promptcache/qwen "Hello"

PROMPTCACHE_MODELS names models and their files or folders, NAME=PATH, divided by ':'.
"""

from __future__ import annotations

import functools
import os
from typing import Any, Dict, Iterator, Optional

import llm
from pydantic import Field

from promptcache import Engine

__all__ = ["PromptcacheModel", "named_models", "register_models"]


def named_models() -> Dict[str, str]:
    """What PROMPTCACHE_MODELS says."""
    models = {}
    for entry in filter(None, os.environ.get("PROMPTCACHE_MODELS", "").split(":")):
        name, equals, path = entry.partition("=")
        if not equals or not name or not path:
            raise llm.ModelError(f"PROMPTCACHE_MODELS has {entry!r}; an entry is NAME=PATH")
        models[name] = os.path.expanduser(path)
    return models


@functools.lru_cache(maxsize=None)
def _engine(path: str) -> Engine:
    return Engine(path)


class PromptcacheModel(llm.Model):
    can_stream = True

    class Options(llm.Options):
        max_tokens: Optional[int] = Field(default=None, description="of an answer")
        temperature: Optional[float] = Field(default=None, description="0: the likeliest tokens")
        seed: Optional[int] = Field(default=None, description="of the sampler")

    def __init__(self, name: str, path: str) -> None:
        self.model_id = f"promptcache/{name}"
        self._path = path

    def execute(
        self, prompt: Any, stream: bool, response: Any, conversation: Any = None
    ) -> Iterator[str]:
        past_turns = list(conversation.responses) if conversation else []
        system = prompt.system or next((p.prompt.system for p in past_turns if p.prompt.system), None)
        messages = [{"role": "system", "content": system}] if system else []
        for past in past_turns:
            messages += [
                {"role": "user", "content": past.prompt.prompt},
                {"role": "assistant", "content": past.text()},
            ]
        messages.append({"role": "user", "content": prompt.prompt})
        engine = _engine(self._path)
        options = {k: v for k, v in prompt.options.model_dump().items() if v is not None}
        with engine.write_chat(messages).session(**options) as session:
            yield from session
            stats = session.stats
            response.set_usage(input=stats.prompt_tokens, output=stats.generated_tokens)
            session.try_keep()


@llm.hookimpl
def register_models(register: Any) -> None:
    for name, path in named_models().items():
        register(PromptcacheModel(name, path))
