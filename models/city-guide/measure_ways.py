#!/usr/bin/env python3
"""Asks a city guide in the ways in which text can be reused, through the runtime: the C API.

    python3 models/city-guide/measure_ways.py --model models/city-guide-delta [--count 500] [--ways none scaffold one]

The worlds, the question and what counts as right are measure.py's. The ways, beside full prefill:

    none      each page a module that has seen the system turn and no other page
    self      each page a module that has seen nothing
    scaffold  each page a module, all encoded together
    one       all pages one module

A full prefill is asked in the same words and turns. Needs no package but the standard library's.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path
from xml.sax.saxutils import escape

from data import World
from measure import HERE, KV_TYPES, SEED, SHAPES, Runtime, interval, to_pml

WAYS = {"none": "modules, attend=prefix", "self": "modules, attend=self", "scaffold": "modules, a scaffold of all",
        "one": "one module of all pages"}


def scaffolded(world: World) -> tuple[str, str]:
    """measure.py's schema with a scaffold of all that is imported."""
    schema, prompt = to_pml(world, "prefix")
    parameter = '<param name="v"'
    names = []
    for i, runs in enumerate(world.blocks):
        names.append(f"m{i}")
        if f'<module name="m{i}">{escape(runs[0])}{parameter}' not in schema:
            names += [f"m{i}/p{j}" for j in range(len(runs) - 1)]
    scaffold = f'<scaffold name="all" modules="{" ".join(names)}"/>'
    return schema.replace("</schema>", scaffold + "</schema>"), prompt


def as_one(world: World) -> tuple[str, str]:
    """The pages as one text."""
    pages = escape("".join(run for runs in world.blocks for run in runs))
    system = escape("".join(world.system_runs))
    schema = f'<schema name="world"><system>{system}</system><module name="pages">{pages}</module></schema>'
    return schema, f'<prompt schema="world"><user><pages/>{escape(world.questions[0][0])}</user></prompt>'


def written(world: World, way: str) -> tuple[str, str]:
    if way == "scaffold":
        return scaffolded(world)
    return as_one(world) if way == "one" else to_pml(world, "self" if way == "self" else "prefix")


class Count:
    """What came of one way of answering."""

    def __init__(self) -> None:
        self.right = self.same = self.cached = self.tokens = 0

    def row(self, context: str, way: str, n: int) -> str:
        shares = f"{self.right / n:.1%} | {interval(self.right, n)} | {self.same / n:.1%}"
        return f"| {context} | {way} | {shares} | {self.cached / n:.0f} of {self.tokens / n:.0f} | {n} |"


def measure(runtime: Runtime, shape_name: str, ways: list[str], count: int) -> list[str]:
    """The rows of one size of world. A way's answer is held against the full prefill of its own words."""
    rng = random.Random(SEED + SHAPES[shape_name].pages)
    full, counts = Count(), {way: Count() for way in ways}
    for _ in range(count):
        world = World(rng, SHAPES[shape_name], shared=1.0, ask_about_trip=False)
        expected = "".join(world.questions[0][1])
        plain: dict[bool, str] = {}  # the full prefill's answers, by whether the pages are one text
        for way, counted in [("none", full), *counts.items()]:
            pml, is_one = written(world, way), way == "one"
            if counted is full or is_one not in plain:
                plain[is_one], stats = runtime.answer(*pml, False)
            text = plain[is_one]
            if counted is not full:
                text, stats = runtime.answer(*pml, True)
            counted.right += text == expected
            counted.same += text == plain[is_one]
            counted.cached += stats.cached_tokens
            counted.tokens += stats.prompt_tokens
    rows = [full.row(shape_name, "full prefill", count)]
    return rows + [counted.row(shape_name, WAYS[way], count) for way, counted in counts.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, default=HERE.parents[1] / "build/runtime/libpromptcache.so")
    parser.add_argument("--model", type=Path, default=HERE, help="the checkpoint's folder, or a GGUF file of it")
    parser.add_argument("--kv-type", choices=KV_TYPES, default="bf16", help="of the attention states")
    parser.add_argument("--count", type=int, default=500, help="worlds a line of the table")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=["none", "scaffold", "one"])
    parser.add_argument("--contexts", nargs="+", choices=SHAPES, default=list(SHAPES), help="which sizes of worlds")
    args = parser.parse_args()
    runtime = Runtime(args.library, args.model, args.kv_type)
    print("| context | way | right | 95 % interval | like full prefill | cached tokens | n |")
    print("|---|---|---|---|---|---|---|")
    for name in args.contexts:
        begun = time.monotonic()
        print("\n".join(measure(runtime, name, args.ways, args.count)), flush=True)
        print(f"<!-- {time.monotonic() - begun:.0f} s -->", flush=True)


if __name__ == "__main__":
    main()
