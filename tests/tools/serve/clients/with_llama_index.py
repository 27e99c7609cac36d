"""llama-index against URL: chats, streams, a tool, a type, texts, responses."""
import sys

import pydantic
from llama_index.core.llms import ChatMessage
from llama_index.core.prompts import PromptTemplate
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike, OpenAILikeResponses

ASKED = {"model": "calling", "api_base": sys.argv[1] + "/v1", "api_key": "none", "temperature": 0}
USER = [ChatMessage(role="user", content="What time is it?")]


class Choice(pydantic.BaseModel):
    is_day: bool


def now() -> str:
    """The time."""
    return "noon"


model = OpenAILike(is_chat_model=True, is_function_calling_model=True, max_tokens=400, **ASKED)
whole = model.chat(USER).message.content
assert "".join(part.delta or "" for part in model.stream_chat(USER)) == whole
called = model.chat_with_tools([FunctionTool.from_defaults(now)], "What time is it?", tool_required=True)
assert [call.tool_name for call in model.get_tool_calls_from_response(called)] == ["now"]
assert isinstance(model.structured_predict(Choice, PromptTemplate("Hi")), Choice)
typed = OpenAILike(is_chat_model=True, should_use_structured_outputs=True, max_tokens=400, **ASKED)
assert isinstance(typed.structured_predict(Choice, PromptTemplate("Hi")), Choice)
assert OpenAILike(is_chat_model=False, max_tokens=8, **ASKED).complete("Once").text is not None
responses = OpenAILikeResponses(max_output_tokens=16, **ASKED)
assert responses.chat(USER).message.content
