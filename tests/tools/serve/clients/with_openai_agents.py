"""openai-agents against URL: a tool makes its round, and a type comes beside tools, in both protocols, streamed too."""
import asyncio
import sys

import pydantic
from agents import (Agent, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool,
                    set_tracing_disabled)
from openai import AsyncOpenAI


class Choice(pydantic.BaseModel):
    is_day: bool


@function_tool
def now() -> str:
    """The time."""
    return "noon"


async def main():
    client = AsyncOpenAI(base_url=sys.argv[1] + "/v1", api_key="none")
    for kind in (OpenAIChatCompletionsModel, OpenAIResponsesModel):
        for output, wanted in ((None, str), (Choice, Choice)):
            agent = Agent(name="clock", instructions="Be brief.", model=kind("calling", openai_client=client), tools=[now],
                          output_type=output, model_settings=ModelSettings(max_tokens=400, temperature=0))
            answer = (await Runner.run(agent, "What time is it?", max_turns=3)).final_output
            assert isinstance(answer, wanted), answer
            streamed = Runner.run_streamed(agent, "What time is it?", max_turns=3)
            async for _ in streamed.stream_events():
                pass
            assert streamed.final_output == answer


set_tracing_disabled(True)
asyncio.run(main())
