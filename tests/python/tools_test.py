"""Tools: functions as schemas, calls read out of answers, results that go back."""

import asyncio
import enum
import json
import os
import pathlib
from typing import Annotated, Any, Dict, List, Literal, Optional

import pytest

import promptcache
from promptcache.tool_schemas import described

import calling_model  # conftest.py says where it is


class Sky(enum.Enum):
    CLEAR = "clear"
    GREY = "grey"


def now() -> str:
    """The time."""
    return "noon"


def weather(
    city: str,
    days: int = 1,
    *,
    sky: Optional[Sky] = None,
    unit: Literal["C", "F"] = "C",
    limits: Annotated[List[float], "lowest, highest"] = (),  # type: ignore[assignment]
    labels: Dict[str, bool] = {},  # noqa: B006
    anything: Any = None,
) -> str:
    """What the weather will be.

    It knows cities alone.

    Args:
        city: its name,
            without the country.
        days (int): how many
    """
    return f"{city}: {days}"


@pytest.fixture(scope="module")
def forced(tmp_path_factory, cache_dir):
    """Its weights are random, and words of its template are control tokens."""
    folder = tmp_path_factory.mktemp("forced")
    calling_model.write_with_controls(folder)
    with promptcache.Engine(folder, cache_dir=cache_dir, threads=1) as opened:
        yield opened


QUESTION = [{"role": "user", "content": "When?"}]


def test_a_function_is_a_schema():
    function = described(weather)["function"]
    assert function["name"] == "weather"
    assert function["description"] == "What the weather will be.\n\nIt knows cities alone."
    parameters = function["parameters"]
    assert parameters["required"] == ["city"] and parameters["additionalProperties"] is False
    assert parameters["properties"] == {
        "city": {"type": "string", "description": "its name, without the country."},
        "days": {"type": "integer", "description": "how many"},
        "sky": {"anyOf": [{"type": "string", "enum": ["clear", "grey"]}, {"type": "null"}]},
        "unit": {"type": "string", "enum": ["C", "F"]},
        "limits": {"type": "array", "items": {"type": "number"}, "description": "lowest, highest"},
        "labels": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "anything": {},
    }
    assert described(now)["function"]["parameters"]["properties"] == {}
    given = {"type": "function", "function": {"name": "f"}}
    assert described(given) == given


def test_what_has_no_schema_is_named():
    def bare(city):
        return city

    def several(*cities: str):
        return cities

    def complex_number(z: complex):
        return z

    def keyed(by: Dict[int, str]):
        return by

    def late(one: "Unknown"):  # noqa: F821
        return one

    def odd(one: Literal[b"a"]):  # noqa: F821
        return one

    for tool, words in [
        (bare, "bare: its parameter 'city' has no annotation"),
        (several, "several: its parameter 'cities' cannot be named"),
        (complex_number, "'z' is of <class 'complex'>"),
        (keyed, "keys are <class 'int'>"),
        (late, "late: an annotation cannot be read: name 'Unknown'"),
        (odd, "b'a'"),
        (lambda: 1, "a function with a name"),
        (3, "a function with a name"),
    ]:
        with pytest.raises(TypeError, match=words):
            described(tool)


def test_a_call_its_result_and_the_answer(caller):
    told, made = [], []
    reply = caller.chat(QUESTION, tools=[now], on_text=told.append, on_call=made.append, max_tokens=16)
    (called,) = reply.tool_calls
    assert (called.name, called.arguments) == ("now", {}) and len(called.id) == 9
    assert (reply.text, told, made) == ("", [], [called])
    messages = [*QUESTION, reply.message, called.result(now())]
    assert messages[1]["tool_calls"][0]["function"] == {"name": "now", "arguments": {}}
    answer = caller.chat(messages, tools=[now], max_tokens=16)
    assert (answer.text, answer.tool_calls) == (calling_model.SAID, [])
    assert "tool_calls" not in answer.message
    # As other programs keep conversations: arguments as text.
    messages[1]["tool_calls"][0]["function"]["arguments"] = "{}"
    assert caller.chat(messages, tools=[now], max_tokens=16).text == calling_model.SAID


def test_tools_whose_calls_are_not_read(caller):
    reply = caller.chat(QUESTION, tools=[now], tool_choice="none", max_tokens=16)
    assert (reply.text, reply.tool_calls) == (calling_model.CALL, [])
    assert caller.chat(QUESTION, max_tokens=16).text == calling_model.CALL


def test_the_same_in_an_event_loop(caller):
    async def ask():
        made = []
        reply = await caller.achat(QUESTION, tools=[now], on_call=made.append, max_tokens=16)
        assert made == reply.tool_calls
        return reply

    async def both():
        return await asyncio.gather(ask(), ask())

    for reply in asyncio.run(both()):
        assert [made.name for made in reply.tool_calls] == ["now"]


@pytest.mark.parametrize(
    "choice", ["required", "weather", {"type": "function", "function": {"name": "weather"}}]
)
def test_a_call_that_is_demanded(forced, choice):
    limits: Dict[str, Any] = {
        "type": "object",
        "properties": {"city": {"enum": ["Oslo", "Rome"]}, "days": {"enum": [1, 2]}},
        "required": ["city", "days"],
        "additionalProperties": False,
    }
    tool = {"type": "function", "function": {"name": "weather", "parameters": limits}}
    reply = forced.chat(QUESTION, tools=[tool], tool_choice=choice, max_tokens=64)
    (called,) = reply.tool_calls
    assert called.name == "weather" and called.arguments["city"] in ("Oslo", "Rome")
    assert called.arguments["days"] in (1, 2) and reply.text == ""


def test_a_call_or_a_form(forced):
    form = {"type": "json_schema", "json_schema": {"schema": {"enum": [7, 8]}}}
    for seed in range(4):
        reply = forced.chat(
            QUESTION, tools=[now], response_format=form, temperature=1.0, seed=seed, max_tokens=64
        )
        assert [made.name for made in reply.tool_calls] == ["now"] or json.loads(reply.text) in (7, 8)
    reply = forced.chat(QUESTION, tools=[now], tool_choice="none", response_format=form, max_tokens=8)
    assert json.loads(reply.text) in (7, 8)


def test_what_cannot_be_is_named(caller, engine):
    with pytest.raises(ValueError, match="tool_choice 'later'.*now"):
        caller.chat(QUESTION, tools=[now], tool_choice="later")
    with pytest.raises(ValueError, match="no tools to call"):
        caller.chat(QUESTION, tool_choice="required")
    with pytest.raises(promptcache.Unsupported, match="writes no calls"):
        engine.chat(QUESTION, tools=[now])


def test_answers_of_a_session_of_ones_own(caller):
    tools = caller.tools([now, weather])
    assert "now, weather" in repr(tools)
    text, made = tools.read("So: ~now{}")
    assert (text, [m.name for m in made]) == ("So:", ["now"])
    reader = tools.reader()
    said = [reader.push(piece) for piece in ["So", ": ~no", "w{", "}"]] + [reader.finish()]
    assert "".join(said) == "So:" and [m.name for m in reader.calls] == ["now"]
    cut = tools.reader()
    cut.push('~weather{"ci')
    cut.finish()
    assert [(m.name, m.arguments, m.whole) for m in cut.calls] == [("weather", {}, False)]
    _, calls = tools.read('~weather{"ci')
    assert [(m.name, m.whole) for m in calls] == [("weather", False)]


def test_several_calls_of_one_answer(caller):
    _, made = caller.tools([now]).read("~now{}~now{}")
    assert [m.name for m in made] == ["now", "now"] and made[0].id != made[1].id


def test_a_pretrained_model(cache_dir):
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = pathlib.Path(os.environ.get("PC_REAL_MODELS", cache / "promptcache-real-models"))
    path = folder / "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
    if not path.is_file():
        pytest.skip(f"{path} is not here; scripts/real-models fetches it")

    def forecast(city: str, days: int) -> str:
        """The weather of a city.

        city: its name
        days: how many
        """
        return f"{city}: {days} days of rain"

    with promptcache.Engine(path, cache_dir=cache_dir) as engine:
        asked: List[Dict[str, Any]] = [
            {"role": "user", "content": "What will the weather be in Oslo for the next 3 days?"}
        ]
        reply = engine.chat(asked, tools=[forecast], tool_choice="forecast", max_tokens=96)
        (called,) = reply.tool_calls
        assert called.name == "forecast" and called.arguments["city"].startswith("Oslo")
        assert called.arguments["days"] == 3
        asked += [reply.message, called.result(forecast(**called.arguments))]
        assert "<tool_response>\nOslo: 3 days of rain" in engine.render_chat(asked, tools=[forecast])
        assert "rain" in engine.chat(asked, max_tokens=48).text
