#!/usr/bin/env python3
"""What does another question cost behind a conversation that the server has?

    python3 bench/serve/branches.py MODEL.gguf [--tokens 3500] [--question 60] [--last 500] [--branches 8] [--against COMMAND] [-- OPTION...]

A text of about --tokens, with a question, is answered once. Then come --branches requests that have
the text's beginning in common, up to somewhere in its last --last tokens, and go on with another
question each, of about --question tokens, one after the other; with --against, each first to another
build of promptcache (its path), on a store of its own. Printed, for each: a prompt's tokens that were
computed, the time to the first token, and the bytes that the store grew by for each token that was
computed or said, beside those of a token of the text.
"""

import argparse
import random
import statistics
from pathlib import Path

from serving import Server, Streamed, add_options, load_line, spread, write_json

ANSWER = 8
WORDS = ("ferry harbour ticket winter keeper lantern stair tide rope signal fog barrel market street window "
         "copper garden orchard bridge river engine valve letter ledger island").split()
CHARACTERS_A_TOKEN = 6  # of these words


def prose(draw, n_tokens):
    text = []
    while len(" ".join(text)) < n_tokens * CHARACTERS_A_TOKEN:
        text.append(" ".join(draw.choices(WORDS, k=9)).capitalize() + ".")
    return " ".join(text)


def store_bytes(server):
    return sum(file.stat().st_size for file in Path(server.folder.name).glob("v3/objects/*"))


class Build:
    def __init__(self, name, command, a):
        self.name, self.server = name, Server(command, a.model, a.threads, *a.options)
        self.computed, self.first_s, self.bytes = [], [], []

    def ask(self, text):
        before = store_bytes(self.server)
        answer = Streamed(self.server.url, {"messages": [{"role": "user", "content": text}],
                                            "max_tokens": ANSWER, "temperature": 0})
        self.server_is_idle()
        computed = answer.usage["prompt_tokens"] - answer.cached()
        grown = (store_bytes(self.server) - before) / (computed + answer.usage["completion_tokens"])
        return answer, computed, grown

    # What an answer leaves is kept before another one is begun.
    def server_is_idle(self):
        Streamed(self.server.url, {"messages": [{"role": "user", "content": "?"}], "max_tokens": 1,
                                   "prompt_cache": {"mode": "off"}})

    def line(self, bytes_a_token):
        return (f"| {self.name} | {statistics.median(self.computed):.0f} ({max(self.computed)}) | "
                f"{spread(self.first_s)} | {statistics.median(self.bytes) / bytes_a_token:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--tokens", type=int, default=3500)
    parser.add_argument("--question", type=int, default=60)
    parser.add_argument("--last", type=int, default=500)
    parser.add_argument("--branches", type=int, default=8)
    parser.add_argument("--against", type=Path)
    parser.add_argument("options", nargs="*", help="the server's other options, behind --")
    a = parser.parse_args()
    draw = random.Random(7)
    text = prose(draw, a.tokens)
    print(load_line())
    builds = [Build("before", a.against, a)] if a.against else []
    builds.append(Build("this build", a.command, a))
    bytes_a_token = 0
    for build in builds:
        answer, _, bytes_a_token = build.ask(text + " " + prose(draw, 20))
        print(f"{build.name}: {answer.usage['prompt_tokens']} tokens, {answer.first_s:.2f} s from nothing")
    for _ in range(a.branches):
        end = len(text) - draw.randrange(CHARACTERS_A_TOKEN * a.last)
        asked = text[:text.rindex(" ", 0, end)] + " " + prose(draw, a.question)
        for build in builds:
            answer, computed, grown = build.ask(asked)
            build.computed.append(computed)
            build.first_s.append(answer.first_s)
            build.bytes.append(grown)
    if a.against:
        ratios = [x / y for x, y in zip(builds[0].first_s, builds[1].first_s)]
        print(f"first token, before / this build: {spread(ratios, 1, 2)}")
    print("| | computed, median (most) | first token, ms | bytes a new token |\n|--|--|--|--|")
    for build in builds:
        print(build.line(bytes_a_token))
    print(load_line())
    write_json(a.json, {b.name: {"computed": b.computed, "first_s": b.first_s, "bytes": b.bytes} for b in builds})
    for build in builds:
        build.server.close()


if __name__ == "__main__":
    main()
