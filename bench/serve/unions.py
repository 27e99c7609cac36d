#!/usr/bin/env python3
"""How soon does a union's member answer behind its sibling, where the disk has all of it?

    python3 bench/serve/unions.py MODEL.gguf [--repeat 5] [--tokens 3000] [-- OPTION...]

A schema whose union has two members of some --tokens each, and a module beside it; all are encoded.
Then, --repeat times and in turn: the server begins anew, the store's files are dropped from the
page cache, a first prompt is answered, a second later another one whose module was not read yet: a
union's member behind its sibling, which the server reads ahead meanwhile, and the same behind the
module that has no siblings. Printed: the second one's first token, and with its file in the page
cache all the time, the floor.
"""

import argparse
import json
import os
import time
from pathlib import Path

from serving import Server, add_options, connect, load_line, post, spread, write_json

PAUSE_S = 1.0
WORDS = ("harbour", "tower", "market", "bridge", "garden", "station", "library", "square")


def text(name, n_tokens):
    """About so many tokens."""
    words = [f"{WORDS[i * 5 % 8]} {i} of {name}" for i in range(n_tokens // 6)]
    return "; ".join(words) + "."


def schema(n_tokens):
    members = "".join(f"<module name='{name}'>{text(name, n_tokens)}</module>" for name in ("oslo", "rome"))
    return (f"<schema name='towns'>Towns and what is in them. <union>{members}</union>"
            f"<module name='other'>{text('nowhere', n_tokens // 10)}</module></schema>")


def forget_files(folder):
    """The page cache drops what nobody maps."""
    for path in Path(folder).rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def first_token_ms(url, module):
    prompt = f"<prompt schema='towns'><{module}/><user>What is there?</user></prompt>"
    connection = connect(url)
    answer = post(connection, {"prompt": prompt, "max_tokens": 4, "temperature": 0}, "/pml/run").read()
    connection.close()
    cache = json.loads(answer)["prompt_cache"]
    assert cache["modules"]["encoded"] == 0, cache
    return cache["first_token_ms"]


def give_schema(server, a, encode=False):
    connection = connect(server.url)
    post(connection, {"schema": schema(a.tokens), "encode": encode}, "/pml/schemas").read()
    connection.close()


def behind(server, a, first, is_cold=True):
    server.stop()
    if is_cold:
        forget_files(server.folder.name)
    server.start()
    give_schema(server, a)
    first_token_ms(server.url, first)
    time.sleep(PAUSE_S)
    return first_token_ms(server.url, "rome")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=3000)
    parser.add_argument("options", nargs="*", help="the server's other options, behind --")
    a = parser.parse_args()
    print(load_line())
    server = Server(a.command, a.model, a.threads, *a.options)
    give_schema(server, a, encode=True)
    ways = {"behind its sibling": lambda: behind(server, a, "oslo"),
            "behind another module": lambda: behind(server, a, "other"),
            "in the page cache": lambda: behind(server, a, "other", False)}
    measured = {name: [] for name in ways}
    for _ in range(a.repeat):
        for name, measure in ways.items():
            measured[name].append(measure())
    server.close()
    print("| a member's first token, ms | median (lowest..highest) |\n|--|--|")
    for name, values in measured.items():
        print(f"| {name} | {spread(values, 1, 1)} |")
    write_json(a.json, measured)


if __name__ == "__main__":
    main()
