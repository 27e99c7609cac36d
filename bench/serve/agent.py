#!/usr/bin/env python3
"""Does an agent's conversation stay quick to answer while it grows, and over a restart?

    python3 bench/serve/agent.py MODEL.gguf [--turns 100] [--restart 50] [--peer URL] [-- OPTION...]

Each turn asks for a call of a tool (tool_choice "required"), which the model writes, and appends it
to the conversation as the client got it, with a result that is made up. After --restart turns the
server ends and another begins with its store. Printed, by tens of turns: time until the first event
of the call; how many of a prompt's tokens were computed, beside how many the server cannot have
(the new result, and what the template writes around it); the share of all prompts' tokens that was
not computed; and, as a mark, a few of the same prompts asked with mode off.
"""

import argparse
import json
import random
import statistics

import home
from serving import Server, Streamed, add_options, load_line, spread, write_json

SEED = 7
BLOCK = 10  # turns a line
MARKS = 4   # prompts that are asked with mode off
FIELDS = {"tools": home.tools(SEED, 3), "tool_choice": "required", "parallel_tool_calls": False,
          "temperature": 0, "max_tokens": 128}


def results(number, calls):
    """What came of a turn's calls: about 40 tokens each."""
    draw = random.Random(number)
    for call in calls:
        result = {"room": draw.choice(home.ROOMS), "watts": draw.randrange(2000),
                  "state": draw.choice(["on", "off", "waiting for power", "as before"])}
        yield {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)}


def unseen(answers):
    """Of each prompt, the tokens that were in no request or answer before it."""
    before = 0
    for answer in answers:
        yield answer.usage["prompt_tokens"] - before
        before = answer.usage["total_tokens"]


def slope(values):
    """Of the line of least squares, a step."""
    middle, mean = (len(values) - 1) / 2, statistics.fmean(values)
    return (sum((x - middle) * (y - mean) for x, y in enumerate(values))
            / sum((x - middle) ** 2 for x in range(len(values))))


def lines_of(answers, restart, marks):
    yield ("| turns | prompt's tokens | first token, ms | computed tokens, median | most | unseen, median |\n"
           "|--|--|--|--|--|--|")
    computed, new = [a.usage["prompt_tokens"] - a.cached() for a in answers], list(unseen(answers))
    for begin in range(0, len(answers), BLOCK):
        some = answers[begin:begin + BLOCK]
        yield (f"| {begin + 1} to {begin + len(some)} | up to {some[-1].usage['prompt_tokens']} | "
               f"{spread([a.first_s for a in some])} | "
               f"{statistics.median(computed[begin:begin + BLOCK]):.0f} | "
               f"{max(computed[begin:begin + BLOCK])} | {statistics.median(new[begin:begin + BLOCK]):.0f} |")
    seconds = [a.first_s for a in answers]
    yield f"slope: {slope(seconds) * 1e3:.2f} ms a turn"
    if restart < len(answers):
        yield f"first turn after the restart: {seconds[restart] * 1e3:.0f} ms"
    total = sum(a.usage["prompt_tokens"] for a in answers)
    yield f"not computed: {100 * (1 - sum(computed) / total):.2f} % of {total} tokens of prompts"
    for number, answer in marks.items():
        yield (f"turn {number} with mode off: {answer.first_s * 1e3:.0f} ms, "
               f"{answer.first_s / seconds[number - 1]:.0f} times as long")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--restart", type=int, default=50)
    parser.add_argument("--peer", help="URL of another server, asked in place of ours")
    parser.add_argument("options", nargs="*", help="the server's other options, behind --; "
                        "--chat-template bench/serve/tools.jinja for a model that has no tools")
    a = parser.parse_args()
    print(load_line())
    server = None if a.peer else Server(a.command, a.model, a.threads, *a.options)
    body = home.body([], "Make a round of the house, thing by thing, until all is off.") | FIELDS
    answers, bodies, marks = [], [], {}
    for number in range(a.turns):
        if server and number == a.restart:
            server.restart()
        bodies.append(body)
        answers.append(Streamed(a.peer or server.url, body))
        calls = answers[-1].calls
        body = body | {"messages": [*body["messages"], answers[-1].message(), *results(number, calls)]}
    for number in [a.turns * (i + 1) // MARKS for i in range(MARKS)] if server else []:
        marks[number] = Streamed(server.url, bodies[number - 1] | {"prompt_cache": {"mode": "off"}})
    print(*lines_of(answers, a.restart if server else a.turns, marks), load_line(), sep="\n")
    write_json(a.json, [{"first_s": answer.first_s, "usage": answer.usage} for answer in answers])
    if server:
        server.close()


if __name__ == "__main__":
    main()
