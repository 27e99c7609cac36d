"""Answers that must be something, and options of one answer."""

import json

import pytest

import promptcache

CITY = {
    "type": "object",
    "properties": {"city": {"enum": ["Oslo", "Vienna"]}, "open": {"type": "boolean"}},
    "required": ["city", "open"],
    "additionalProperties": False,
}


def test_json_by_a_schema(engine, guide, ask):
    form = engine.json_schema(CITY)
    answers = [guide.prompt(ask(city)).generate(constraint=form, max_tokens=64) for city in ("oslo", "vienna")]
    for answer in map(json.loads, answers):
        assert answer["city"] in ("Oslo", "Vienna") and answer["open"] in (True, False)
    assert "JSON Schema" in repr(form)


def test_choices_patterns_and_grammars(engine, guide, ask):
    prompt = guide.prompt(ask())
    assert prompt.generate(constraint=engine.choices(["yes", "no"])) in ("yes", "no")
    assert prompt.generate(constraint=engine.regex("[0-9]{3}")).isdigit()
    assert prompt.generate(constraint=engine.gbnf('root ::= "a" | "b"')) in ("a", "b")


def test_what_cannot_be_enforced_is_named(engine):
    with pytest.raises(promptcache.Unsupported):
        engine.regex("(a)\\1")
    with pytest.raises(promptcache.Corrupt):
        engine.json_schema("{")
    with pytest.raises(promptcache.Error):
        engine.choices([])


def test_a_response_format(engine):
    said = [{"role": "user", "content": "Where?"}]
    asked = {"type": "json_schema", "json_schema": {"name": "city", "schema": CITY}}
    assert json.loads(engine.chat(said, response_format=asked, max_tokens=64).text)["city"]
    with pytest.raises(ValueError, match="json_object"):
        engine.chat(said, response_format={"type": "xml"})


def test_each_answer_in_its_own_way(engine):
    talk = engine.schema("<schema name='t'><system>Guide.</system></schema>")
    with talk.messages([{"role": "user", "content": "Hello"}]).session(max_tokens=4) as session:
        session.text()
        session.set_answer(constraint=engine.choices(["yes", "no"]), max_tokens=8)
        session.append("Is Oslo blue?")
        assert session.text() in ("yes", "no")
        with pytest.raises(TypeError, match="repair"):
            session.set_answer(repair="none")
