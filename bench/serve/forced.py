#!/usr/bin/env python3
"""At how many tokens a second do answers come that must have a form, with drafts and without?

    python3 bench/serve/forced.py MODEL.gguf [--repeat 5] [-- OPTION...]

Two answers: a call of one of 24 tools, and five objects of a JSON schema. Each is asked with drafts
and, by "max_draft": 0, without, in turn. Printed: tokens a second behind the first, medians of the
ratios, how many drafts were right, and whether the answers are the same.
"""

import argparse
import statistics

import home
from serving import Server, add_options, ask, load_line, spread, write_json

ROOM = {"type": "object", "additionalProperties": False,
        "properties": {"room_name": {"type": "string"}, "temperature_celsius": {"type": "number"},
                       "is_heated": {"type": "boolean"}},
        "required": ["room_name", "temperature_celsius", "is_heated"]}
ROOMS = {"type": "object", "additionalProperties": False, "required": ["rooms"],
         "properties": {"rooms": {"type": "array", "items": ROOM, "minItems": 5, "maxItems": 5}}}
CASES = {
    "a call of a tool": home.body([], "Switch the heater in the kitchen off.") | {
        "tools": home.tools(7, 3), "tool_choice": "required", "parallel_tool_calls": False,
        "temperature": 0, "max_tokens": 128},
    "five objects of a schema": {
        "messages": [{"role": "user", "content": "Describe five rooms of a house with their temperatures."}],
        "temperature": 0, "max_tokens": 300,
        "response_format": {"type": "json_schema", "json_schema": {"name": "rooms", "schema": ROOMS, "strict": True}}},
}


def said(answer):
    """All but the numbers of calls, which are drawn."""
    message = answer["choices"][0]["message"]
    return message["content"], [call["function"] for call in message.get("tool_calls") or []]


def rate(answer):
    return answer["timings"]["predicted_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("options", nargs="*", help="the server's other options, behind --")
    a = parser.parse_args()
    print(load_line())
    server = Server(a.command, a.model, a.threads, *a.options)
    values = {}
    print("| answer | without, tokens/s | with / without | right drafts | tokens | same |\n|--|--|--|--|--|--|")
    for name, body in CASES.items():
        ask(server.url, body)
        pairs = [(ask(server.url, body | {"prompt_cache": {"max_draft": 0}}), ask(server.url, body))
                 for _ in range(a.repeat)]
        plain, drafted = pairs[-1]
        values[name] = [rate(with_drafts) / rate(without) for without, with_drafts in pairs]
        timings = drafted["timings"]
        print(f"| {name} | {statistics.median(rate(without) for without, _ in pairs):.1f} | "
              f"{spread(values[name], 1, 2)} | {timings.get('draft_n_accepted', 0)} of {timings.get('draft_n', 0)} | "
              f"{drafted['usage']['completion_tokens']} | {said(plain) == said(drafted)} |", flush=True)
    print(load_line())
    write_json(a.json, values)
    server.close()


if __name__ == "__main__":
    main()
