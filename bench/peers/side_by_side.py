#!/usr/bin/env python3
"""How fast is promptcache beside llama.cpp, on the same file, machine and minute?

    python3 bench/peers/side_by_side.py FILE.gguf ... [--rows short prefill stored busy] [--repeat 5]
                                        [--flash on|off] [--kv bf16|q8] [--quick] [--json OUT]
                                        [--build build]

Each engine is a process of its own with as many threads as it may use, and they take turns: A, B,
C, A, B, C, ...; llama.cpp (PyPI's llama-cpp-python, built for this machine) in several settings,
flash attention on and off among them, and the fastest of a row is the mark. Files come from
bench/make_gguf.py: speed does not depend on what weights say. The ratio of medians first,
then its range; the floor is bench/floors.py's, measured in this run.

  short
    prefill 512             every token computed, tokens a second
    decode, depth 0         tokens a second
  prefill
    prefill 4096            twice only: it takes long
  stored
    cached 4096 + 64        to the first token: llama.cpp's prefix lies in its own memory,
                            promptcache's in a mapped file; parsing, tokenising, planning and
                            sampling are counted for promptcache, only computing for llama.cpp
    cached 4096 + 1         the same with one new token
    decode, depth 2048
    attach 4096             promptcache: look-up and mapping of a stored module; llama.cpp: its
                            state file read back

  busy
    ..., N neighbours       the short rows while N other processes each keep a CPU busy

With --kv q8 both keep their states in 8 bits (llama.cpp: q8_0 for K and V, which it does with
flash attention alone); else ours are bf16 and llama.cpp's f16.

Token counts of promptcache are one or two higher (BOS). Without llama-cpp-python the rows have
our figures alone.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import floors  # noqa: E402

FLASH, PLAIN = "flash attention, 512 at once", "512 at once"
ROWS = ["short", "prefill", "stored", "busy"]
SETTINGS = (FLASH, PLAIN, "flash attention, 128 at once", "128 at once")
NO_PEER = ("llama-cpp-python is missing, so promptcache is measured alone; to compare: "
           "python3 -m venv VENV && VENV/bin/pip install llama-cpp-python gguf numpy "
           "sentencepiece, then run this with VENV/bin/python")


def has_peer():
    return importlib.util.find_spec("llama_cpp") is not None


class Ended(Exception):
    """An engine's process ended before it answered."""


def worker(engine, options):
    return Worker([sys.executable, str(HERE / "worker.py"), engine, json.dumps(options)])


class Worker:
    """A process that says when it is ready, and then answers each line of JSON by one."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise Ended(f"its process ended with {self.process.wait()}")
        return json.loads(line)

    def call(self, method, *arguments):
        time.sleep(0.02)  # until the other engine's threads sleep
        try:
            self.process.stdin.write(json.dumps([method, *arguments]) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # answer() says how it ended
        return self.answer()

    def close(self):
        with contextlib.suppress(BrokenPipeError):  # of one that has ended
            self.process.stdin.close()
        self.process.wait()


class Comparison:
    """The engines of one file, and the rows measured so far."""

    def __init__(self, file, a, context, folder):
        self.folder, self.repeat, self.rows = Path(folder), a.repeat, []
        self.flash = "on" if a.kv == "q8" else a.flash
        options = {"file": str(file), "threads": len(os.sched_getaffinity(0)), "cache": folder,
                   "context": context, "kv": a.kv, "library": str(a.build / "runtime/libpromptcache.so")}
        self.ours = worker("promptcache", options)
        self.peer = self.started("llama.cpp", options) if has_peer() else None
        self.model = self.ours.call("describe")

    def started(self, engine, options):
        try:
            return worker(engine, options)
        except Ended as error:
            self.without_peer(error)

    def without_peer(self, error):
        print(f"llama.cpp: {error}; the following rows are promptcache alone", file=sys.stderr)
        self.peer = None

    def ask_peer(self, setting, method, *arguments):
        """None, from then on, where llama.cpp's process has ended."""
        try:
            if self.peer:
                self.peer.call("use", setting)
                return self.peer.call(method, *arguments)
        except Ended as error:
            self.without_peer(error)

    def row(self, title, method, *arguments, settings=(FLASH, PLAIN), repeat=None, warm=True,
            count=0, floor=None):
        """Turns of both engines. The peer's slower settings sit out after the first two."""
        times, best = {"promptcache": []}, []
        if self.peer:
            best = [s for s in settings
                    if self.flash is None or s.startswith("flash") == (self.flash == "on")]
        for turn in range((repeat or self.repeat) + warm):
            seconds = {"promptcache": self.ours.call(method, *arguments)}
            for setting in best:
                seconds[setting] = self.ask_peer(setting, method, *arguments)
            best = best if self.peer else []
            if turn >= warm:
                for name in ("promptcache", *best):
                    times.setdefault(name, []).append(seconds[name])
                best = sorted(best, key=lambda s: statistics.median(times[s]))
                best = best[:1] if turn > warm or not warm else best[:2]
        self.add(title, times, best, count, floor)

    def add(self, title, times, best, count=0, floor=None):
        row = {"row": title, "tokens": count, "floor_s": floor, "ours_s": times["promptcache"]}
        if best:
            row.update(setting=best[0], peer_s=times[best[0]], all_s=times)
        self.rows.append(row)
        print(line_of(row), flush=True)

    def close(self):
        self.ours.close()
        if self.peer:
            self.peer.close()


def short_rows(c, machine):
    floor = floors.floor_s(machine, c.model, 512, 0)
    c.row("prefill 512", "prefill_s", 512, settings=SETTINGS, count=512, floor=floor)
    floor = floors.floor_s(machine, c.model, 1, 8)
    c.row("decode, depth 0", "decode_s", 1, 16, count=1, floor=floor)


def busy_rows(c):
    for n in (1, 2):
        neighbours = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
        try:
            title = f", {n} neighbour{'s' * (n > 1)}"
            c.row("prefill 512" + title, "prefill_s", 512, count=512)
            c.row("decode, depth 0" + title, "decode_s", 1, 16, count=1)
        finally:
            for neighbour in neighbours:
                neighbour.kill()
                neighbour.wait()


def prefill_row(c, machine, n):
    floor = floors.floor_s(machine, c.model, n, 0)
    c.row(f"prefill {n}", "prefill_s", n, repeat=min(c.repeat, 2), warm=False, count=n, floor=floor)


def stored_rows(c, machine, n):
    for new in (64, 1):
        floor = floors.floor_s(machine, c.model, new, n)
        c.row(f"cached {n} + {new}", "cached_s", n, new, floor=floor)
    attach_row(c, n)
    floor = floors.floor_s(machine, c.model, 1, n // 2)
    c.row(f"decode, depth {n // 2}", "decode_s", n // 2, 16, count=1, floor=floor)


def attach_row(c, n):
    times, state = {"promptcache": [], FLASH: []}, str(c.folder / "state")
    c.ask_peer(FLASH, "save", n, state)
    for _ in range(c.repeat):
        times["promptcache"].append(max(c.ours.call("attach_s", n), 1e-6))
        times[FLASH].append(c.ask_peer(FLASH, "attach_s", n, state))
    c.add(f"attach {n}", times, [FLASH] if c.peer else [])


def shown(count, seconds):
    value = statistics.median(seconds)
    if count:
        return f"{count / value:.1f} t/s"
    return f"{value * 1e3:.0f} ms" if value >= 0.1 else f"{value * 1e3:.2f} ms"


def ratio_of(row):
    """llama.cpp's time over ours: of the medians, lowest, highest. None without a peer."""
    if "peer_s" not in row:
        return None
    ours, peer = row["ours_s"], row["peer_s"]
    return (statistics.median(peer) / statistics.median(ours), min(peer) / max(ours),
            max(peer) / min(ours))


def line_of(row):
    ratio, floor = ratio_of(row), row["floor_s"]
    first = "no peer" if ratio is None else f"**{ratio[0]:.2f}x** ({ratio[1]:.2f}..{ratio[2]:.2f})"
    peer = "" if ratio is None else f"{shown(row['tokens'], row['peer_s'])} ({row['setting']})"
    times = "" if not floor else (f"{shown(row['tokens'], [floor])} "
                                  f"({statistics.median(row['ours_s']) / floor:.2f}x)")
    return f"| {row['row']} | {first} | {shown(row['tokens'], row['ours_s'])} | {peer} | {times} |"


HEAD = ("| | llama.cpp's time / ours | promptcache | llama.cpp, its best setting | floor "
        "(our time / floor) |\n|--|--|--|--|--|")


def compare(file, a, machine):
    print(f"\n{Path(file).name}\n\n{HEAD}", flush=True)
    n = 1024 if a.quick else 4096
    with tempfile.TemporaryDirectory() as folder:
        short = not {"prefill", "stored"} & set(a.rows)
        c = Comparison(file, a, 1024 if short else n + 256, folder)
        try:
            if "short" in a.rows:
                short_rows(c, machine)
            if "prefill" in a.rows:
                prefill_row(c, machine, n)
            if "stored" in a.rows:
                stored_rows(c, machine, n)
            if "busy" in a.rows:
                busy_rows(c)
        finally:
            c.close()
    return {"file": Path(file).name, "bytes": Path(file).stat().st_size, "rows": c.rows,
            "isa": c.model["isa"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=ROWS)
    parser.add_argument("--build", type=Path, default=HERE.parents[1] / "build")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="1024 tokens in the place of 4096")
    parser.add_argument("--flash", choices=["on", "off"], help="llama.cpp with this setting only")
    parser.add_argument("--kv", choices=["bf16", "q8"], default="bf16", help="type of the states")
    parser.add_argument("--json", type=Path)
    a = parser.parse_args()
    if a.kv == "q8" and a.flash == "off":
        parser.error("llama.cpp has states in 8 bits with flash attention alone")
    if not has_peer():
        print(NO_PEER, file=sys.stderr)
    machine = floors.machine(a.build)
    results = [compare(file, a, machine) for file in a.files]
    if a.json:
        a.json.write_text(json.dumps({"machine": machine, "kv": a.kv, "files": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
