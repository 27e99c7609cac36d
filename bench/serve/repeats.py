#!/usr/bin/env python3
"""At how many tokens a second do answers come that repeat their prompt, beside another server?

    python3 bench/serve/repeats.py MODEL.gguf [--repeat 3] [--tokens 300] [--peer NAME=URL ...] [-- OPTION...]

Four greedy answers of at most --tokens: a source file with a name changed, a document quoted, a table
as JSON, and a story. Each is asked of our server with drafts and, by "max_draft": 0, without, and of
each --peer (llama-server, of the same file, with whatever drafts it was started with), in turn.
Printed: tokens a second behind the first, medians, as each server's "timings" have it, and the share
of drafts that were right.
"""

import argparse
import statistics
from pathlib import Path

from serving import Server, add_options, ask, load_line, write_json

ROOT = Path(__file__).resolve().parent.parent.parent
ROOMS, DEVICES = ("kitchen", "hall", "attic", "cellar"), ("lamp", "heater", "fan", "radio", "oven")


def table(rows):
    lines = [f"| {ROOMS[i * 7 % 4]} | {DEVICES[i * 3 % 5]} | {37 * i % 900} | {'on' if i % 3 else 'off'} |"
             for i in range(rows)]
    return "\n".join(["| room | device | watts | state |", "|---|---|---|---|", *lines])


def head(path, size=6000):
    return (ROOT / path).read_text()[:size]


def cases():
    yield "a file, edited", ("Write this file again, all of it, with Series renamed to Samples.\n```cpp\n"
                             + head("bench/runs.cc") + "```\n")
    yield "a document, quoted", (head("docs/RELIABILITY.md")
                                 + "\n\nQuote the first three paragraphs above, word for word.\n")
    yield "a table, as JSON", table(24) + "\nWrite the table above as JSON: a list of objects. JSON only.\n"
    yield "a story", "Tell a long story about the keeper of a lighthouse and a whale."


def described(answers):
    timings = answers[-1]["timings"]
    rate = statistics.median(a["timings"]["predicted_per_second"] for a in answers)
    drafts = timings.get("draft_n", 0)
    return f"{rate:.1f}" + (f" ({timings['draft_n_accepted']} of {drafts})" if drafts else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=300)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=URL")
    parser.add_argument("options", nargs="*", help="the server's other options, behind --")
    a = parser.parse_args()
    print(load_line())
    server = Server(a.command, a.model, a.threads, *a.options)
    asked = {"without": (server.url, {"prompt_cache": {"max_draft": 0}}), "with drafts": (server.url, {})}
    asked |= {name: (url, {}) for name, url in (peer.split("=", 1) for peer in a.peer)}
    values = {}
    print("| answer | " + " | ".join(asked) + " |\n|--|" + "--|" * len(asked))
    for name, text in cases():
        body = {"messages": [{"role": "user", "content": text}], "temperature": 0, "max_tokens": a.tokens}
        for url, _ in asked.values():
            ask(url, body | {"max_tokens": 1})
        rounds = [[ask(url, body | more) for url, more in asked.values()] for _ in range(a.repeat)]
        values[name] = {who: [r[i]["timings"] for r in rounds] for i, who in enumerate(asked)}
        print(f"| {name} | " + " | ".join(described([r[i] for r in rounds]) for i in range(len(asked))) + " |",
              flush=True)
    print(load_line())
    write_json(a.json, values)
    server.close()


if __name__ == "__main__":
    main()
