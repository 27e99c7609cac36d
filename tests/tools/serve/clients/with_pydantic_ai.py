"""pydantic-ai against URL: agents with a tool, whose answers are texts and types, in both of OpenAI's protocols."""
import sys

import pydantic
from pydantic_ai import Agent, NativeOutput, ToolOutput
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

SETTINGS = {"max_tokens": 400, "temperature": 0}


class Choice(pydantic.BaseModel):
    is_day: bool


def now() -> str:
    """The time."""
    return "noon"


provider = OpenAIProvider(base_url=sys.argv[1] + "/v1", api_key="none")
for kind in (OpenAIChatModel, OpenAIResponsesModel):
    model = kind("calling", provider=provider)
    agent = Agent(model, tools=[now], model_settings=SETTINGS)
    assert agent.run_sync("What time is it?").output == "Yes"
    agent = Agent(model, tools=[now], output_type=NativeOutput(Choice), model_settings=SETTINGS)
    assert isinstance(agent.run_sync("What time is it?").output, Choice)
    agent = Agent(model, output_type=ToolOutput(Choice), model_settings=SETTINGS)
    assert isinstance(agent.run_sync("What time is it?").output, Choice)
