#!/usr/bin/env python3
"""What does a token cost in instructions and in bytes from memory, beside llama.cpp?

    python3 bench/cost/costs.py MODEL.gguf ... [--depth 64] [--new 16] [--steps decode] [--no-bytes]
                                [--only ours|llama.cpp] [--flash on|off] [--build build] [--peers DIR]
                                [--llama-bench PROGRAM] [--json OUT]

Neither depends on what else the machine does, and both are what a battery pays for. One thread. A step's
cost is the difference of two runs that differ by it alone, so that loading falls away:

  prefill     a token of a prompt: of a prompt of 4 x --new tokens less one of half as many, nothing reused
  decode      a token behind --depth: of 12 tokens less of 4
  first       the first token of --new new ones behind --depth that are there: of two prompts less of one
              (ours: behind a mapped module; llama-bench: the same behind a context that was filled, less
              a run that decodes 4 there, whose cost is then added)

By perf, where the machine counts instructions, without bytes; else by Callgrind, which knows AVX2 at
most: both run with AVX2 then (PC_ISA=avx2, and llama-bench of `scripts/peers --avx2`), and bytes are the
misses of a simulated last cache of 4 MiB, without what writes bring back. llama.cpp with flash attention and
without it, the fewer instructions count.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "peers")]
import costs_table  # noqa: E402
import counters  # noqa: E402
import host  # noqa: E402
import installed  # noqa: E402

DECODED = (4, 12)


def less(more, fewer, parts=1):
    """A step's cost; None where the way of counting has no bytes."""
    return {key: None if more[key] is None or fewer[key] is None else (more[key] - fewer[key]) / parts
            for key in ("instructions", "bytes")}


def plus(one, other):
    return {key: None if one[key] is None or other[key] is None else one[key] + other[key]
            for key in ("instructions", "bytes")}


class Ours:
    name = "promptcache"

    def __init__(self, a, model, count, environment, store):
        self.a, self.count, self.environment, self.store = a, count, environment, store
        self.base = [sys.executable, "-B", HERE / "ours.py", a.build / "runtime/libpromptcache.so", model, store,
                     a.depth + 4 * a.new + 64]
        # What is done once and kept, packed weights and the module, is not counted.
        counters.ran([*self.base, "first", a.depth, a.new, 1], environment)

    def run(self, step, cached, new, times=1):
        return self.count([*self.base, step, cached, new, times], {**self.environment, "PYTHONHASHSEED": "0"},
                          self.a.bytes)

    def costs(self):
        a, (few, many) = self.a, DECODED
        if "prefill" in a.steps:
            yield "prefill", less(self.run("prefill", 0, 4 * a.new), self.run("prefill", 0, 2 * a.new), 2 * a.new)
        if "decode" in a.steps:
            yield "decode", less(self.run("decode", a.depth, many), self.run("decode", a.depth, few), many - few)
        if "first" in a.steps:
            yield "first", less(self.run("first", a.depth, a.new, 2), self.run("first", a.depth, a.new, 1))


class LlamaCpp:
    def __init__(self, a, model, count, program, flash):
        self.a, self.count, self.name = a, count, "llama.cpp" + (", flash attention" if flash else "")
        self.base = [program, "-m", model, "-t", 1, "-r", 1, "--no-warmup", "-fa", int(flash), "-o", "json"]

    def run(self, prompt, decoded, depth):
        return self.count([*self.base, "-p", prompt, "-n", decoded, "-d", depth], {"OMP_NUM_THREADS": "1"},
                          self.a.bytes)

    def costs(self):
        a, (few, many) = self.a, DECODED
        if "prefill" in a.steps:
            yield "prefill", less(self.run(4 * a.new, 0, 0), self.run(2 * a.new, 0, 0), 2 * a.new)
        if not {"decode", "first"} & set(a.steps):
            return
        shorter = self.run(0, few, a.depth)
        decode = less(self.run(0, many, a.depth), shorter, many - few)
        if "decode" in a.steps:
            yield "decode", decode
        if "first" in a.steps:
            rest = less(self.run(a.new, 0, a.depth), shorter)
            yield "first", plus(rest, {key: value and few * value for key, value in decode.items()})


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--depth", type=int, default=64)
    parser.add_argument("--new", type=int, default=16)
    parser.add_argument("--steps", nargs="+", choices=costs_table.STEPS, default=costs_table.STEPS)
    parser.add_argument("--no-bytes", dest="bytes", action="store_false", help="instructions alone: five times sooner")
    parser.add_argument("--only", choices=("ours", "llama.cpp"))
    parser.add_argument("--flash", choices=("on", "off"), help="llama.cpp with this setting only")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--peers", type=Path, default=installed.default_folder())
    parser.add_argument("--llama-bench", type=Path, help="in the place of that of scripts/peers --avx2")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def llama_bench(a, way):
    """The program, or None and why."""
    peer = installed.LLAMA_CPP if way == "perf" else installed.LLAMA_CPP_AVX2
    facts = installed.made(a.peers, peer)
    if a.llama_bench or facts:
        return a.llama_bench or facts["programs"]["llama-bench"], None
    return None, installed.why_not(a.peers, peer) + (" (--avx2)" if way != "perf" else "")


def engines(a, model, way, count, store):
    environment = {"OMP_NUM_THREADS": "1", **({} if way == "perf" else {"PC_ISA": "avx2"})}
    if a.only != "llama.cpp":
        yield Ours(a, model.resolve(), count, environment, store)
    program, why = llama_bench(a, way)
    if a.only != "ours" and program:
        yield from (LlamaCpp(a, model.resolve(), count, program, flash) for flash in (True, False)
                    if a.flash in (None, "on" if flash else "off"))
    elif a.only != "ours":
        print(f"llama.cpp is left out: {why}", file=sys.stderr)


def measure(a, model, way, count):
    found = {}
    with tempfile.TemporaryDirectory(prefix="bench_cost.") as store:
        for engine in engines(a, model, way, count, store):
            try:
                found[engine.name] = {}
                for step, cost in engine.costs():
                    found[engine.name][step] = cost
                    print(f"  {model.name}, {engine.name}, {step}: {costs_table.shown(cost)}", flush=True)
            except counters.Error as error:
                print(f"{engine.name}, {model.name}: {error}", file=sys.stderr)
    return found


def main():
    a = parse_arguments()
    a.build = a.build.resolve()
    way, count = counters.chosen()
    result = {"way": way, "host": host.describe(), "depth": a.depth, "new": a.new,
              "models": {model.name: measure(a, model, way, count) for model in a.models}}
    print(*costs_table.page(result), sep="\n")
    if a.json:
        a.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
