#!/usr/bin/env python3
"""How soon does a turn begin whose template drops what was thought in the turn before?

    python3 bench/serve/next_turns.py MODEL.gguf [--turns 6] [--thought 100] [--answer 300] [-- OPTION...]

A conversation of --turns turns with bench/serve/thoughts.jinja (a model of ChatML is made to think
--thought tokens by a budget): three servers, with --prepare on, off, and off but for requests whose
answers may move ("moves", approximate), are asked each turn in turn, with a pause between turns in
which nobody waits. Printed, of each: the time until the first event of the answer, and how many tokens
of a prompt were computed.
"""

import argparse
import json
import statistics
import time

from serving import HERE, Server, add_options, ask, connect, load_line, post, spread, write_json

ASKED = ["Explain how a mutex works.", "And a condition variable?", "What goes wrong with two of them?",
         "Show it in C++.", "Now without the defect.", "What did we leave out?"]


def ends(server):
    """The tokens that end a turn: never drawn, since a model that was not made to think ends there."""
    connection = connect(server.url)
    tokens = json.load(post(connection, {"content": "<|im_end|><|endoftext|>"}, "/tokenize"))["tokens"]
    connection.close()
    return {str(token): -100 for token in tokens}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--thought", type=int, default=100)
    parser.add_argument("--answer", type=int, default=300)
    parser.add_argument("options", nargs="*", help="the server's other options, behind --")
    a = parser.parse_args()
    print(load_line())
    values = {}
    for way, prepares, moves in (("on", "on", False), ("off", "off", False), ("off, moves", "off", True)):
        server = Server(a.command, a.model, a.threads, "--chat-template", str(HERE / "thoughts.jinja"),
                        "--prepare", prepares, *a.options)
        never = ends(server)
        messages, first_ms, computed = [], [], []
        for turn in range(a.turns):
            messages.append({"role": "user", "content": ASKED[turn % len(ASKED)]})
            answer = ask(server.url, {"messages": messages, "temperature": 0, "reasoning_budget": a.thought,
                                      "logit_bias": never, "prompt_cache": {"moves": moves},
                                      "max_tokens": a.thought + a.answer})
            first_ms.append(answer["prompt_cache"]["first_token_ms"])
            computed.append(answer["prompt_cache"]["tokens"]["computed"])
            messages.append({"role": "assistant", "content": answer["choices"][0]["message"]["content"]})
            time.sleep(0.5)
            server.wait_until_encoded()
        values[way] = {"first_ms": first_ms, "computed": computed}
        print(f"--prepare {way}: behind the first turn {spread(first_ms[1:], 1)} ms to the first token, "
              f"{statistics.median(computed[1:]):.0f} tokens computed ({computed[1:]})", flush=True)
        server.close()
    print(load_line())
    write_json(a.json, values)


if __name__ == "__main__":
    main()
