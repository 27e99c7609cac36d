#!/usr/bin/env python3
"""Asks the city guide about held-out worlds through the runtime itself: the C API.

    python3 models/city-guide/measure.py [--library build/runtime/libpromptcache.so] [--count 500]
                                          [--kv-type bf16] [--model FILE.gguf --cache-dir FOLDER]

Each world's pages become modules of a schema; one question about them is answered
greedily three times: by full prefill, with the pages as modules that have seen the
system turn (attend=prefix), and as modules that have seen nothing (attend=self).  An
answer is right when its text is exactly the expected sentence.  Prints a table in
Markdown: the share of right answers with Wilson's 95 % interval, the share of answers
that equal the full prefill's, and the tokens taken from modules.  Needs no package
but the standard library's.
"""

from __future__ import annotations

import argparse
import ctypes as c
import math
import random
import sys
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from data import TRAVELLER, Shape, World

HERE = Path(__file__).resolve().parent
SHAPES = {
    "1 page of 6 facts": Shape(1, 6, 1),
    "2 pages of 6 facts": Shape(2, 6, 1),
    "4 pages of 6 facts": Shape(4, 6, 1),
    "8 pages of 5 facts": Shape(8, 5, 1),
}
SEED = 1 << 42  # beyond the seeds of training and of evaluate.py
DONE = 100  # pc_status
CACHE_READ_WRITE, CACHE_READ_ONLY, CACHE_OFF = 0, 1, 2  # pc_cache_mode
KV_TYPES = {"f32": 1, "bf16": 2, "q8": 3, "q4": 4}  # pc_kv_type


class Error(c.Structure):
    _fields_ = [("status", c.c_int32), ("line", c.c_uint32), ("column", c.c_uint32), ("message", c.c_char * 500)]


class EngineOptions(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t), ("model_path", c.c_char_p), ("cache_dir", c.c_char_p),
        ("cache_mode", c.c_uint32), ("kv_type", c.c_uint32), ("cache_bytes", c.c_uint64),
        ("cache_namespace", c.c_char_p), ("chat_template", c.c_char_p), ("backend", c.c_char_p),
        ("n_threads", c.c_uint32), ("context_tokens", c.c_uint32),
    ]


class SessionOptions(c.Structure):  # the beginning of pc_session_options: the rest counts as zero
    _fields_ = [("struct_size", c.c_size_t), ("max_tokens", c.c_uint32), ("no_reuse", c.c_uint32)]


class Token(c.Structure):
    _fields_ = [("id", c.c_int32), ("text", c.c_char_p), ("text_bytes", c.c_size_t)]


class Stats(c.Structure):  # the beginning of pc_session_stats
    _fields_ = [("struct_size", c.c_size_t), ("prompt_tokens", c.c_uint64), ("cached_tokens", c.c_uint64)]


class Runtime:
    """The few calls of promptcache.h that a measurement needs."""

    def __init__(self, library: Path, model: Path, kv_type: str, cache_dir: Path | None = None) -> None:
        """Without a cache_dir quantised weights are used unpacked; modules stay in memory."""
        self.lib = c.CDLL(str(library))
        self.error = Error()
        options = EngineOptions(struct_size=c.sizeof(EngineOptions), model_path=str(model).encode(),
                                kv_type=KV_TYPES[kv_type])
        self.engine = c.c_void_p()
        options.cache_mode = CACHE_OFF
        if cache_dir:
            options.cache_dir, options.cache_mode = str(cache_dir).encode(), CACHE_READ_WRITE
            self.call("pc_engine_open", c.byref(options), c.byref(self.engine))
            self.lib.pc_engine_close(self.engine)
            options.cache_mode = CACHE_READ_ONLY  # the packed weights are there now
        self.call("pc_engine_open", c.byref(options), c.byref(self.engine))

    def call(self, name: str, *arguments: object, also: tuple[int, ...] = ()) -> int:
        status = getattr(self.lib, name)(*arguments, c.byref(self.error))
        if status and status not in also:
            sys.exit(f"{name}: {self.error.message.decode()} (line {self.error.line})")
        return status

    def answer(self, schema_pml: str, prompt_pml: str, reuse: bool) -> tuple[str, Stats]:
        schema, prompt, session = c.c_void_p(), c.c_void_p(), c.c_void_p()
        text, token = b"", Token()
        stats = Stats(struct_size=c.sizeof(Stats))
        for call, source, text_in, out in (("schema", self.engine, schema_pml, schema), ("prompt", schema, prompt_pml, prompt)):
            data = text_in.encode()
            extra = (None,) if call == "schema" else ()
            self.call(f"pc_{call}_parse", source, data, c.c_size_t(len(data)), *extra, c.byref(out))
        options = SessionOptions(struct_size=c.sizeof(SessionOptions), max_tokens=40, no_reuse=not reuse)
        self.call("pc_session_open", prompt, c.byref(options), c.byref(session))
        status = 0
        while status != DONE:
            status = self.call("pc_session_next", session, c.byref(token), also=(DONE,))
            text += c.string_at(token.text, token.text_bytes)
        self.lib.pc_session_get_stats(session, c.byref(stats))
        for call, handle in (("session", session), ("prompt", prompt), ("schema", schema)):
            getattr(self.lib, f"pc_{call}_close")(handle)
        return text.decode(), stats


def to_pml(world: World, attend: str) -> tuple[str, str]:
    """The world as a schema whose blocks are modules, and a prompt that imports them all."""
    modules, imports = [], []
    for i, runs in enumerate(world.blocks):
        if runs[0] + "{v}." == TRAVELLER[0]:
            modules.append(f'<module name="m{i}">{runs[0]}<param name="v" len="4"/>.</module>')
            imports.append(f"<m{i} v={quoteattr(runs[1])}/>")
            continue
        parts = [f'<module name="p{j}">{escape(run)}</module>' for j, run in enumerate(runs[1:])]
        modules.append(f'<module name="m{i}">{escape(runs[0])}{"".join(parts)}</module>')
        imports.append(f"<m{i}>{''.join(f'<p{j}/>' for j in range(len(parts)))}</m{i}>")
    system = escape("".join(world.system_runs))
    schema = f'<schema name="world" attend="{attend}"><system>{system}</system>{"".join(modules)}</schema>'
    question = escape(world.questions[0][0])
    return schema, f'<prompt schema="world"><user>{"".join(imports)}{question}</user></prompt>'


def interval(right: int, count: int) -> str:
    """Wilson's 95 % interval of a share."""
    z, p = 1.96, right / count
    middle = (p + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(p * (1 - p) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return f"{middle - half:.1%} to {middle + half:.1%}"


def measure(runtime: Runtime, shape: Shape, count: int) -> list[tuple[str, int, int, float]]:
    """For each way of answering: its name, right answers, answers like full prefill's, cached tokens."""
    rng = random.Random(SEED + shape.pages)
    ways = (("full prefill", "prefix", False), ("modules, attend=prefix", "prefix", True), ("modules, attend=self", "self", True))
    right, same, cached = [0] * 3, [0] * 3, [0] * 3
    for _ in range(count):
        world = World(rng, shape, shared=1.0, ask_about_trip=False)
        expected = "".join(world.questions[0][1])
        full = ""
        for i, (_, attend, reuse) in enumerate(ways):
            text, stats = runtime.answer(*to_pml(world, attend), reuse)
            full = full if i else text
            right[i] += text == expected
            same[i] += text == full
            cached[i] += stats.cached_tokens
    return [(name, right[i], same[i], cached[i] / count) for i, (name, _, _) in enumerate(ways)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, default=HERE.parents[1] / "build/runtime/libpromptcache.so")
    parser.add_argument("--model", type=Path, default=HERE, help="the checkpoint's folder, or a GGUF file of it")
    parser.add_argument("--kv-type", choices=KV_TYPES, default="bf16", help="of the attention states")
    parser.add_argument("--cache-dir", type=Path, help="for packed weights; default: they are used unpacked")
    parser.add_argument("--count", type=int, default=500, help="worlds a line of the table")
    args = parser.parse_args()
    runtime = Runtime(args.library, args.model, args.kv_type, args.cache_dir)
    print("| context | way | right | 95 % interval | like full prefill | cached tokens | n |\n|---|---|---|---|---|---|---|")
    for name, shape in SHAPES.items():
        for way, right, same, cached in measure(runtime, shape, args.count):
            print(f"| {name} | {way} | {right / args.count:.1%} | {interval(right, args.count)} | {same / args.count:.1%} | {cached:.0f} | {args.count} |", flush=True)


if __name__ == "__main__":
    main()
