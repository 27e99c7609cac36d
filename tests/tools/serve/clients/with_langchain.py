"""langchain-openai against URL: chats, streams, tools, types in each of its ways, responses, texts."""
import sys

import pydantic
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAI

ASKED = {"model": "calling", "base_url": sys.argv[1] + "/v1", "api_key": "none", "temperature": 0}


class Choice(pydantic.BaseModel):
    """What time it is."""
    is_day: bool


@tool
def now() -> str:
    """The time."""
    return "noon"


for options in ({}, {"use_responses_api": True}):
    model = ChatOpenAI(max_tokens=400, **ASKED, **options)
    assert model.invoke("Hi").content
    assert list(model.stream("Hi"))
    for choice in ({}, {"tool_choice": "now"}, {"strict": True}):
        called = model.bind_tools([now], **choice).invoke("What time is it?")
        assert [call["name"] for call in called.tool_calls] == ["now"], called
    turns = [HumanMessage("What time is it?"), called, ToolMessage("noon", tool_call_id=called.tool_calls[0]["id"])]
    assert model.bind_tools([now]).invoke(turns).text == "Yes"
model = ChatOpenAI(max_tokens=400, **ASKED)
for method in ("json_schema", "function_calling"):
    assert isinstance(model.with_structured_output(Choice, method=method).invoke("Hi"), Choice)
beside = model.with_structured_output(Choice, method="json_schema", tools=[now], strict=True, include_raw=True)
assert beside.invoke("Hi")["raw"].tool_calls[0]["name"] == "now"
assert isinstance(OpenAI(max_tokens=4, **ASKED).invoke("Once"), str)
