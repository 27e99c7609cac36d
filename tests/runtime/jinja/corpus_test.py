#!/usr/bin/env python3
"""Every published chat template that the shared assets hold, rendered here and by jinja2.

    corpus_test.py RENDER_CASES...

RENDER_CASES starts tests/runtime/jinja/render_cases.cc. Each template renders each
conversation with and without an opened answer, and with thinking on, off and
unset: texts must be equal to the byte, and so must refusals.
"""
import json
import os
import sys

import judge
from judge_results import agree, ours

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "The weather of a place, \"now\" & later.",
    "parameters": {"type": "object", "properties": {
        "place": {"type": "string", "description": "A town, e.g. Zürich", "enum": ["Oslo", "Zürich"]},
        "days": {"type": "integer", "default": 1},
        "units": {"type": ["string", "null"]},
        "hours": {"type": "array", "items": {"type": "number"}},
        "options": {"type": "object", "properties": {"wind": {"type": "boolean"}}}},
        "required": ["place"]},
    "return": {"type": "string", "description": "A sentence."}}}
CLOCK = {"type": "function", "function": {
    "name": "get_time", "description": "The time.", "parameters": {"type": "object", "properties": {}}}}


def system(text):
    return {"role": "system", "content": text}


def user(text):
    return {"role": "user", "content": text}


def assistant(text, **more):
    return {"role": "assistant", "content": text, **more}


def call(name, arguments, ident="abcdefghi"):
    return {"id": ident, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(text, ident="abcdefghi", name="get_weather"):
    return {"role": "tool", "tool_call_id": ident, "name": name, "content": text}


SYSTEM = system("You are a guide.")
CONVERSATIONS = {
    "one turn": [user("Hello")],
    "system": [SYSTEM, user("Hello")],
    "several turns": [user("Hello"), assistant("Hi there."), user("Where?"), assistant("Here."), user("And?")],
    "system, several turns": [SYSTEM, user("Hello"), assistant("Hi there."), user("Where?")],
    "assistant last": [SYSTEM, user("Hello"), assistant("Hi there.")],
    "empty": [system(""), user(""), assistant(""), user("")],
    "lines": [system("One.\n\nTwo.\n"), user("a\n  b\n\n"), assistant("- x\n- y"), user("\nc")],
    "blanks": [system("  s \t"), user("  u  "), assistant("\n a \n"), user("\tv\u00a0\u3000")],
    "quotes and braces": [system("'one' \"two\""), user("{{ c }} {% if %} {# x #} <|im_end|> </s>"),
                          assistant("a & b < c > d\\n"), user("'\"\\")],
    "unicode": [system("über 漢字"), user("😀 ﬁ ß Ÿ \u200b"), assistant("naïve ἀρχή"), user("שלום")],
    "thoughts": [user("1+1?"), assistant("<think>\nTwo.\n</think>\n\n2"), user("2+2?"),
                 assistant("<think>Four.</think>4"), user("3+3?")],
    "reasoning": [user("1+1?"), assistant("2", reasoning_content="Two."), user("2+2?"),
                  assistant("4", reasoning_content="Four.", thinking="Four!")],
    "tools": [SYSTEM, user("Weather in Oslo?")],
    "tool call": [SYSTEM, user("Weather?"),
                  assistant("", tool_calls=[call("get_weather", {"place": "Oslo", "days": 2})]),
                  result("Rain, 5 °C"), assistant("It rains."), user("And now?")],
    "tool call, content null": [user("Weather?"),
                                assistant(None, tool_calls=[call("get_weather", {"place": "Zürich", "hours": [1, 2.5]})]),
                                result("{\"rain\": true}")],
    "two tool calls": [user("Weather and time?"),
                       assistant("I look.", tool_calls=[call("get_weather", {"place": "Oslo", "options": {"wind": None}}, "aaaaaaaaa"),
                                                        call("get_time", {}, "bbbbbbbbb")]),
                       result("Sun", "aaaaaaaaa"), result("noon", "bbbbbbbbb", "get_time"), assistant("Sunny noon.")],
    "tool call, arguments as text": [user("Weather?"), assistant("", tool_calls=[call("get_weather", "{\"place\": \"Oslo\"}")]),
                                     result("Sun"), user("Thanks")],
    "tool call without type": [user("Weather?"), assistant("", tool_calls=[{"name": "get_weather", "arguments": {"place": "Oslo"}}]),
                               {"role": "tool", "content": "Sun"}],
    "parts": [{"role": "system", "content": [{"type": "text", "text": "You guide."}]},
              {"role": "user", "content": [{"type": "text", "text": "What is "}, {"type": "text", "text": "this?"}]},
              {"role": "assistant", "content": [{"type": "text", "text": "That."}]},
              {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "And?"}]}],
    "parts with images": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": "?"}]}],
    "content null": [user(None), assistant(None), user("Hello")],
    "no content": [{"role": "user"}],
    "two users": [user("a"), user("b")],
    "two assistants": [user("a"), assistant("b"), assistant("c"), user("d")],
    "assistant first": [assistant("a"), user("b")],
    "system only": [SYSTEM],
    "system last": [user("a"), SYSTEM],
    "two systems": [SYSTEM, system("And more."), user("a")],
    "developer": [{"role": "developer", "content": "Be short."}, user("a")],
    "unknown role": [user("a"), {"role": "critic", "content": "b"}, user("c")],
    "ipython": [user("a"), {"role": "ipython", "content": {"x": 1}}, user("c")],
    "numbers": [user(3), assistant(2.5), user(True)],
    "no_think": [system("x /no_think"), user("y /no_think"), assistant("z"), user("/think")],
    "nothing": [],
}
USES_TOOLS = ("tools", "tool call", "two tool calls", "tool call, content null", "developer", "several turns")


def cases_of(template):
    base = {"template": template["template"], "bos": template["bos"], "eos": template["eos"], "time": judge.TIME}
    for name, messages in CONVERSATIONS.items():
        for prompts in (False, True):
            yield name, {**base, "messages": messages, "add_generation_prompt": prompts}
        for thinking in (False, True):
            yield name, {**base, "messages": messages, "add_generation_prompt": True,
                         "variables": {"enable_thinking": thinking, "thinking": thinking}}
        if name in USES_TOOLS:
            for prompts in (False, True):
                yield name + " + tools", {**base, "messages": messages, "add_generation_prompt": prompts, "tools": [WEATHER, CLOCK]}
            yield name + " + a bare tool", {**base, "messages": messages, "tools": [WEATHER["function"]]}
            yield name + " + documents", {**base, "messages": messages, "add_generation_prompt": True, "variables": {
                "documents": [{"title": "A", "text": "First.\nSecond."}, {"doc_id": 7, "title": "B", "text": "Third."}],
                "custom_tools": [CLOCK], "date_string": "1 Jan 2025", "builtin_tools": ["search"]}}


def main():
    path = os.path.join(os.environ.get("PC_SHARED_DIR", ""), "assets/chat_templates/templates.json")
    if not os.path.exists(path):
        print(f"skipped: no {path}")
        sys.exit(77)
    with open(path, encoding="utf-8") as file:
        templates = {entry["template"]: entry for entry in json.load(file)}.values()
    named = [(template["name"], name, case) for template in templates for name, case in cases_of(template)]
    wrong, counts = [], {"text": 0, "raised": 0, "error": 0}
    results = ours(sys.argv[1:], [case for *_, case in named])
    for (template, name, case), mine in zip(named, results, strict=True):
        theirs = judge.render(case)
        counts[next(iter(theirs))] += 1
        if not agree(theirs, mine):
            wrong.append(f"{template}, {name}, prompt {case.get('add_generation_prompt')}:\n  jinja2 {theirs}\n  ours   {mine}")
    print(f"{len(templates)} templates, {len(named)} renderings: {counts['text']} texts,"
          f" {counts['raised']} refusals of templates, {counts['error']} errors; {len(wrong)} differ")
    print("\n".join(wrong[:20]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
