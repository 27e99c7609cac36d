#!/usr/bin/env python3
"""What do tools as modules cost in right calls?

    python3 bench/serve/tool_calls.py MODEL.gguf --data FOLDER [--set live_multiple] [--n 100]
                                      [--least-tools 5] [--ways off tools tools+attended:15%]
                                      [--results FILE.jsonl]

Each question is asked of a server with the tools that it is published with, greedily: with
prompt_cache's mode off first, which is a full prefill, then as the other ways say: a mode, and behind
a + a repair. Tools were encoded before, for a conversation that has them in the reverse order. A call is right where its tool is, and each argument is one that is accepted; and no
other call beside it. Printed: right calls and right tools in per cent, differences from the first way
with 95 % intervals, McNemar's exact p, and times to the first token over it (median).

FOLDER: of the Berkeley Function Calling Leaderboard's package, bfcl_eval/data (PyPI, bfcl-eval
2026.3.23; Apache-2.0). Questions of one tool alone that is right, with --least-tools of them at
least, drawn evenly. --results: a run that is interrupted goes on with what is missing there.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

from serving import HERE, Server, add_options, ask

sys.path.insert(0, str(HERE.parent / "answers"))
from intervals import difference, mcnemar  # noqa: E402

TYPES = {"dict": "object", "float": "number", "tuple": "array"}
MOST_TOKENS = 128


def as_json_schema(schema):
    """As the leaderboard's own harness gives it to models of OpenAI's protocol."""
    if isinstance(schema, list):
        return [as_json_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: as_json_schema(value) for key, value in schema.items() if key != "optional"}
    if isinstance(schema.get("type"), str):
        if schema["type"] == "any":
            del made["type"]
        else:
            made["type"] = TYPES.get(schema["type"], schema["type"])
    return made


def name_of(published):
    return published.replace(".", "_")


def tool(function):
    return {"type": "function", "function": {
        "name": name_of(function["name"]), "description": function["description"],
        "parameters": as_json_schema(function["parameters"])}}


class Question:
    def __init__(self, asked, right):
        self.key, self.messages = asked["id"], asked["question"][0]
        self.tools = [tool(function) for function in asked["function"]]
        [(name, self.arguments)] = right["ground_truth"][0].items()
        self.name = name_of(name)

    def body(self, way):
        mode, _, repair = way.partition("+")
        reuse = {"mode": mode, "repair": repair or "none"}
        return {"messages": self.messages, "tools": self.tools, "temperature": 0,
                "max_tokens": MOST_TOKENS, "prompt_cache": reuse}


def read(folder, name, least_tools, n):
    def lines(path):
        return [json.loads(line) for line in path.read_text().splitlines()]
    file = f"BFCL_v4_{name}.json"
    right = {row["id"]: row for row in lines(folder / "possible_answer" / file)}
    rows = [row for row in lines(folder / file)
            if len(row["function"]) >= least_tools and len(right[row["id"]]["ground_truth"]) == 1]
    n = min(n, len(rows))
    drawn = [rows[i * len(rows) // n] for i in range(n)]  # to the end of the set, whatever n is
    return [Question(row, right[row["id"]]) for row in drawn]


def same(value, accepted):
    if isinstance(value, str) and isinstance(accepted, str):
        return "".join(c for c in value.lower() if c.isalnum()) == \
            "".join(c for c in accepted.lower() if c.isalnum())
    if isinstance(value, dict) and isinstance(accepted, dict):
        return matches(value, accepted)
    if isinstance(value, list) and isinstance(accepted, list):
        return len(value) == len(accepted) and all(map(same, value, accepted))
    return isinstance(value, bool) == isinstance(accepted, bool) and value == accepted


def matches(arguments, accepted):
    """Each is accepted, and none is missing that must be there ("" stands for one that need not)."""
    return (set(arguments) <= set(accepted)
            and all(any(same(value, a) for a in accepted[key]) for key, value in arguments.items())
            and all(key in arguments or "" in values for key, values in accepted.items()))


def row_of(question, way, answer):
    message = answer["choices"][0]["message"]
    calls = [call["function"] for call in message.get("tool_calls") or []]
    is_tool = len(calls) == 1 and calls[0]["name"] == question.name
    try:
        arguments = json.loads(calls[0]["arguments"]) if is_tool else None
    except ValueError:
        arguments = None
    cache = answer["prompt_cache"]
    return {"question": question.key, "way": way, "tools": len(question.tools), "calls": calls,
            "text": message["content"], "is_tool": int(is_tool),
            "is_right": int(arguments is not None and matches(arguments, question.arguments)),
            "used": cache["used"], "tokens": cache["tokens"],
            "first_token_ms": cache["first_token_ms"]}


def measure(server, questions, ways, results):
    rows = {}
    if results and results.exists():
        for line in results.read_text().splitlines():
            row = json.loads(line)
            rows[row["question"], row["way"]] = row
    for number, question in enumerate(questions):
        for way in ways:
            if (question.key, way) in rows:
                continue
            if way != "off":
                # In another order, so that what is kept of this conversation is not the beginning.
                body = question.body(way)
                ask(server.url, body | {"tools": body["tools"][::-1], "max_tokens": 1})
                server.wait_until_encoded()
            row = rows[question.key, way] = row_of(question, way, ask(server.url, question.body(way)))
            if results:
                with results.open("a") as file:
                    file.write(json.dumps(row) + "\n")
        if sys.stderr.isatty():
            print(f"\r{number + 1}/{len(questions)}", end="", file=sys.stderr)
    return rows


def cells(rows, questions, way, first):
    yield f"`{way}`"
    for figure in ("is_right", "is_tool"):
        mine = [rows[q.key, way][figure] for q in questions]
        theirs = [rows[q.key, first][figure] for q in questions]
        text = f"{100 * statistics.mean(mine):.1f}"
        if way != first:
            d, low, high = (100 * x for x in difference(mine, theirs))
            text += f", {d:+.1f} ({low:+.1f} to {high:+.1f}), p {mcnemar(mine, theirs):.2f}"
        yield text
    tokens = [rows[q.key, way]["tokens"] for q in questions]
    yield f"{100 * sum(t['repaired'] for t in tokens) / max(1, sum(t['prompt'] for t in tokens)):.0f} %"
    yield f"{statistics.median(rows[q.key, first]['first_token_ms'] / rows[q.key, way]['first_token_ms'] for q in questions):.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", default="live_multiple")
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--least-tools", type=int, default=5)
    parser.add_argument("--ways", nargs="+", default=["off", "tools", "tools+attended:15%"])
    parser.add_argument("--results", type=Path)
    a = parser.parse_args()
    questions = read(a.data, a.set, a.least_tools, a.n)
    server = Server(a.command, a.model, a.threads, "--prepare", "off")
    try:
        rows = measure(server, questions, a.ways, a.results)
    finally:
        server.close()
    n_tools = statistics.median(len(q.tools) for q in questions)
    print(f"{len(questions)} questions of {a.set}, {n_tools:g} tools in the median, {a.model.name}\n")
    print("| way | right calls, % | right tools, % | computed anew | faster |\n|--|--|--|--|--|")
    for way in a.ways:
        print(f"| {' | '.join(cells(rows, questions, way, a.ways[0]))} |")
    if a.json:
        a.json.write_text(json.dumps(list(rows.values()), indent=1) + "\n")


if __name__ == "__main__":
    main()
