"""instructor against URL: a type in each of its modes, and as it arises."""
import sys
import typing

import instructor
import openai
import pydantic


class Choice(pydantic.BaseModel):
    is_day: bool
    kind: typing.Literal["a", "b"]


ASKED = {"model": "calling", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 400, "temperature": 0,
         "max_retries": 0}
for mode in ("TOOLS", "TOOLS_STRICT", "JSON_SCHEMA"):
    client = instructor.from_openai(openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none"),
                                    mode=getattr(instructor.Mode, mode))
    whole = client.chat.completions.create(response_model=Choice, **ASKED)
    assert isinstance(whole, Choice)
    if mode != "TOOLS_STRICT":
        parts = list(client.chat.completions.create_partial(response_model=Choice, **ASKED))
        assert len(parts) > 2 and parts[-1].kind == whole.kind, parts
