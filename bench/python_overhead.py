#!/usr/bin/env python3
"""What does the Python package add to the C API, a token and an answer?

    PYTHONPATH=PACKAGE PROMPTCACHE_LIBRARY=build/runtime/libpromptcache.so python3 bench/python_overhead.py \\
        build/tests/tools/tiny-model [--build build] [--pairs 11] [--answers 100]

PACKAGE: a folder with the package and its tables (tests/python/run.py PACKAGE LIBRARY make). The same
answers by bench/session_bench.cc and by this process in turn, of a model that does not end them;
printed are medians over the pairs of their differences in processor time, and quartiles. Goals: 1
microsecond a token, 50 an answer.
"""
import argparse
import pathlib
import statistics
import subprocess
import tempfile
import time

import promptcache

SCHEMA = ("<schema name='s'><module name='a'>The tram of Oslo costs four euros and the bus five.</module>"
          "</schema>")
PROMPT = "<prompt schema='s'><a/>What?</prompt>"
TOKENS = 200


def in_c(program, model, cache, answers):
    out = subprocess.run([program, model, cache, str(answers), str(TOKENS)],
                         check=True, capture_output=True, text=True).stdout
    return {line.split()[0]: float(line.split()[1]) for line in out.splitlines()}


def in_python(schema, answers):
    first, each = [], []
    for _ in range(answers):
        begin = time.process_time()
        prompt = schema.prompt(PROMPT)
        session = prompt.session(max_tokens=TOKENS)
        tokens = session.tokens()
        next(tokens)
        opened = time.process_time()
        n = sum(1 for _ in tokens)
        each.append((time.process_time() - opened) * 1e6 / max(n, 1))
        first.append((opened - begin) * 1e6)
        session.close()
        prompt.close()
    return {"first": statistics.median(first), "token": statistics.median(each)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--answers", type=int, default=100)
    a = parser.parse_args()
    added = {"first": [], "token": []}
    with tempfile.TemporaryDirectory() as cache, promptcache.Engine(a.model, cache_dir=cache, threads=1) as engine:
        schema = engine.schema(SCHEMA)
        in_python(schema, 2)
        for _ in range(a.pairs):
            c, python = in_c(a.build / "bench/session_bench", a.model, cache, a.answers), in_python(schema, a.answers)
            for what, values in added.items():
                values.append(python[what] - c[what])
    for what, values in added.items():
        low, middle, high = statistics.quantiles(values, n=4)
        print(f"{what}: +{middle:.2f} us ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main()
