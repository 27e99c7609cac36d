#!/usr/bin/env python3
"""How far do types of attention states move the logits?

    python3 bench/states_error.py [MODEL] [--count 30] [--library build/runtime/libpromptcache.so]

The logits of the prompt's last token with states in bf16 and in q8, against the same with f32:
the difference's length over the logits', by full prefill and from modules. Without MODEL it asks
the demo model about worlds it never saw (models/city-guide/measure.py), --count of each size;
MODEL (any that is opened) gets prompts of 400 cached and 30 new words instead. PC_ISA chooses
the kernels.
"""

import argparse
import ctypes as c
import math
import random
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench/peers"), str(ROOT / "models/city-guide")]
import measure  # noqa: E402
from promptcache_runs import WORDS  # noqa: E402


def logits(runtime, schema_pml, prompt_pml, reuse):
    """Of the prompt's last token."""
    schema, prompt, session = c.c_void_p(), c.c_void_p(), c.c_void_p()
    schema_text, prompt_text = schema_pml.encode(), prompt_pml.encode()
    runtime.call("pc_schema_parse", runtime.engine, schema_text, c.c_size_t(len(schema_text)), None,
                 c.byref(schema))
    runtime.call("pc_prompt_parse", schema, prompt_text, c.c_size_t(len(prompt_text)),
                 c.byref(prompt))
    options = measure.SessionOptions(struct_size=c.sizeof(measure.SessionOptions), max_tokens=1,
                                     no_reuse=not reuse)
    runtime.call("pc_session_open", prompt, c.byref(options), c.byref(session))
    runtime.call("pc_session_next", session, c.byref(measure.Token()))
    values, n = c.POINTER(c.c_float)(), c.c_size_t()
    runtime.call("pc_session_logits", session, c.byref(values), c.byref(n))
    result = values[:n.value]
    for name, handle in (("session", session), ("prompt", prompt), ("schema", schema)):
        getattr(runtime.lib, f"pc_{name}_close")(handle)
    return result


def worlds(count):
    for shape in measure.SHAPES.values():
        rng = random.Random(measure.SEED + shape.pages)
        for _ in range(count):
            yield measure.to_pml(measure.World(rng, shape, shared=1.0, ask_about_trip=False), "self")


def texts(count):
    """What to cache and what to ask."""
    rng = random.Random(3)
    for _ in range(count):
        yield [" ".join(rng.choice(WORDS) for _ in range(n)) for n in (400, 30)]


def words(count):
    for text, question in texts(count):
        yield (f'<schema name="s"><module name="m">{text}</module></schema>',
               f'<prompt schema="s"><m/>{question}</prompt>')


def error(got, exact):
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(got, exact)) / sum(b * b for b in exact))


def top(values):
    return max(range(len(values)), key=values.__getitem__)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", type=Path)
    parser.add_argument("--count", type=int, help="prompts; default: 30 of each size, 6 of a MODEL")
    parser.add_argument("--library", type=Path, default=ROOT / "build/runtime/libpromptcache.so")
    a = parser.parse_args()
    prompts = words(a.count or 6) if a.model else worlds(a.count or 30)
    runtimes = {t: measure.Runtime(a.library, a.model or measure.HERE, t) for t in measure.KV_TYPES}
    found = {}
    for pml in prompts:
        for reuse in (False, True):
            of = {t: logits(runtime, *pml, reuse) for t, runtime in runtimes.items()}
            for t in ("bf16", "q8"):
                row = found.setdefault(("from modules" if reuse else "full prefill", t), [])
                row.append((error(of[t], of["f32"]), top(of[t]) == top(of["f32"])))
    print("| | states | median | largest | the same token likeliest |\n|--|--|--|--|--|")
    for (way, t), row in found.items():
        errors = [e for e, _ in row]
        print(f"| {way} | {t} | {statistics.median(errors):.2%} | {max(errors):.2%} "
              f"| {sum(same for _, same in row)} of {len(row)} |")


if __name__ == "__main__":
    main()
