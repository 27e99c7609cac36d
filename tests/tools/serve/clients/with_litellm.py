"""litellm against URL: chats, streams, calls, types, texts, responses, its own error for what is too long."""
import json
import sys

import litellm
import pydantic

ASKED = {"model": "openai/calling", "api_base": sys.argv[1] + "/v1", "api_key": "none", "temperature": 0, "max_tokens": 400}
USER = [{"role": "user", "content": "What time is it?"}]
TOOL = {"type": "function", "function": {"name": "now", "description": "The time.",
                                         "parameters": {"type": "object", "properties": {}}}}


class Choice(pydantic.BaseModel):
    is_day: bool


whole = litellm.completion(messages=USER, **ASKED).choices[0].message.content
parts = litellm.completion(messages=USER, stream=True, stream_options={"include_usage": True}, **ASKED)
assert "".join(part.choices[0].delta.content or "" for part in parts if part.choices) == whole

called = litellm.completion(messages=USER, tools=[TOOL], **ASKED).choices[0].message
assert called.tool_calls[0].function.name == "now"
streamed = litellm.completion(messages=USER, tools=[TOOL], stream=True, **ASKED)
assert litellm.stream_chunk_builder(list(streamed)).choices[0].message.tool_calls[0].function.name == "now"
turns = [*USER, called.model_dump(), {"role": "tool", "tool_call_id": called.tool_calls[0].id, "content": "noon"}]
assert litellm.completion(messages=turns, tools=[TOOL], **ASKED).choices[0].message.content == "Yes"

typed = litellm.completion(messages=USER, response_format=Choice, **ASKED).choices[0].message.content
assert isinstance(json.loads(typed)["is_day"], bool)
text = litellm.text_completion(prompt="Once", **ASKED | {"model": "text-completion-openai/calling"})
assert isinstance(text.choices[0].text, str)
assert litellm.responses(input="Hi", model="openai/calling", api_base=ASKED["api_base"], api_key="none",
                         max_output_tokens=8).output
try:
    litellm.completion(messages=[{"role": "user", "content": "word " * 5000}], **ASKED)
    raise AssertionError("not refused")
except litellm.ContextWindowExceededError:
    pass
