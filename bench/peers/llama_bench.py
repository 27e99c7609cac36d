#!/usr/bin/env python3
"""promptcache bench and llama.cpp's llama-bench on the same files, in turns.

    python3 bench/peers/llama_bench.py --llama-bench PATH [--build build] [--turns 3] [--threads N]
                                       [--prompt 512] [--depth 2048] [--json FILE] MODEL.gguf ...

Each turn runs both once on one file, each with one warm-up and --repeat measured runs a test;
llama.cpp with flash attention and without it, of which the faster counts, test by test. A first
token: --new tokens behind --depth that are there, in a mapped module here, in the context that was
just filled there, which is what its server finds at best. Printed are medians over the turns'
medians, the ratio's range over turns, and the share of the floor that reading memory sets for our
decoding.
"""

import argparse
import json
import os
import statistics
import subprocess
from pathlib import Path


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--llama-bench", type=Path, required=True)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--generate", type=int, default=32)
    parser.add_argument("--depth", type=int, default=2048)
    parser.add_argument("--new", type=int, default=32)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def tests(a):
    """Name -> whether it is one of n tokens a second, or else seconds."""
    return {f"pp{a.prompt}": a.prompt, f"tg{a.generate}": a.generate,
            f"tg{a.generate} @ d{a.depth}": a.generate, f"ttft{a.new} @ d{a.depth}": None}


def run(command):
    made = subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True)
    return json.loads(made.stdout)


def ours(a, model):
    """Test -> (seconds of one run, its floor or None)."""
    base = [a.build / "tools/promptcache", "bench", "-q", "-m", model, "-t", a.threads, "-r",
            a.repeat, "--json", "--sessions", 0, "--context", a.depth + a.prompt + 512]
    rows = run([*base, "-p", a.prompt, "-n", a.generate, "-d", 0, "--cached", 0])["tests"]
    rows += run([*base, "-p", 0, "-n", a.generate, "-d", a.depth, "--cached", a.depth, "--new",
                 a.new])["tests"]
    # What was kept of a hybrid's conversation ends where a link does: a few tokens more or fewer.
    def name(test):
        return f"ttft{a.new} @ d{a.depth}" if test.startswith("ttft") else test
    return {name(r["test"]): (statistics.median(r["samples_ns"]) / 1e9,
                        r["floor_ns"] and r["floor_ns"] / 1e9) for r in rows}


def theirs(a, model):
    found = {}
    base = [a.llama_bench, "-m", model, "-t", a.threads, "-r", a.repeat, "-o", "json"]
    for attention in ("0", "1"):
        rows = run([*base, "-fa", attention, "-p", a.prompt, "-n", a.generate, "-d", 0])
        rows += run([*base, "-fa", attention, "-p", a.new, "-n", a.generate, "-d", a.depth])
        for r in rows:
            depth = f" @ d{r['n_depth']}" if r["n_depth"] else ""
            name = f"tg{r['n_gen']}" if r["n_gen"] else f"pp{r['n_prompt']}"
            if depth and r["n_prompt"]:
                name = f"ttft{r['n_prompt']}"
            seconds = statistics.median(r["samples_ns"]) / 1e9
            found[name + depth] = min(seconds, found.get(name + depth, seconds))
    return found


def figure(seconds, n_tokens):
    return f"{n_tokens / seconds:8.1f} t/s" if n_tokens else f"{seconds:8.3f} s"


def measure(a, model):
    turns = [(ours(a, model), theirs(a, model)) for _ in range(a.turns)]
    result = {}
    print(f"\n{model.name}\n| test | ours | llama.cpp | ratio (range) | of our floor |\n|--|--|--|--|--|")
    for test, n_tokens in tests(a).items():
        mine = statistics.median(t[0][test][0] for t in turns)
        other = statistics.median(t[1][test] for t in turns)
        ratios = sorted(t[1][test] / t[0][test][0] for t in turns)
        floor = turns[0][0][test][1]
        share = f"{100 * floor / mine:.0f} %" if floor else ""
        print(f"| {test} | {figure(mine, n_tokens)} | {figure(other, n_tokens)} | "
              f"{statistics.median(ratios):.2f}x ({ratios[0]:.2f} to {ratios[-1]:.2f}) | {share} |",
              flush=True)
        result[test] = {"ours_s": mine, "llama_cpp_s": other, "ratios": ratios, "floor_s": floor}
    return result


def main():
    a = parse_arguments()
    results = {model.name: measure(a, model) for model in a.models}
    if a.json:
        a.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
