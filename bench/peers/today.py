#!/usr/bin/env python3
"""promptcache beside the peers of today, on one file, one machine and in turns.

    python3 bench/peers/today.py MODEL.gguf [--rows prefill decode together first] [--turns 3] [--threads N]
                                 [--peers DIR] [--build build] [--quick] [--json OUT]

  prefill 512, 4096           every token computed: promptcache bench, llama-bench (llama.cpp's and
                              ik_llama.cpp's), OpenVINO GenAI from tokens to the first token
  decode, depth 0, 2048, 4096 32 tokens, one after the other, by the same programs
  16 answers together         32 tokens each behind 2048 that they share: promptcache bench (a thread each),
                              llama-batched-bench
  first token, 16 and 64 new  of text behind 4096 tokens: ours behind a mapped module, called in process,
                              parsing and tokenising counted; OpenVINO with its prefix cache, in process;
                              and, from the same tokens over the same HTTP, a conversation's beginning
                              that promptcache serve keeps, and llama-server with cache_prompt

Peers are those that scripts/peers installed; one that is missing, or fails, is named with why, and the
others go on. All have the same threads. Engines take turns row by row; in the first turn each setting of
a peer is measured (flash attention on and off; OpenVINO's tokens at once), later ones have the fastest
of the row alone, and that one counts. Each is warm: before what is timed comes the like of it with other
text, but before a prompt of 4096 tokens. The floor is bench/floors.py's, of what machine_bench measures
before each turn. First tokens check themselves: a server that computed more than the new tokens (its own
counters) is reported, and the greedy text of eight tokens is compared with ours. Let the machine do
nothing else. What was measured is written after each turn.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import floors  # noqa: E402
import host  # noqa: E402
import installed  # noqa: E402
import today_engines as engines  # noqa: E402
import today_table  # noqa: E402
from today_rows import KINDS, rows_of  # noqa: E402

ROOT = HERE.parents[1]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--rows", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--only", nargs="+", metavar="ENGINE", help="beginnings of engines' names")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--peers", type=Path, default=installed.default_folder())
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--quick", action="store_true", help="an eighth of the tokens")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def text_tokens(a):
    """Of this project's pages, by the model's own tokenizer: what every engine is given."""
    text = "\n".join(page.read_text() for page in sorted((ROOT / "docs").glob("*.md")))
    out = subprocess.run([str(a.build / "tools/promptcache"), "tokenize", "-q", "-m", str(a.model), "--json", "-"],
                         input=text, check=True, capture_output=True, text=True)
    return [token["id"] for token in json.loads(out.stdout)["tokens"]]


class Measured:
    """The samples so far: row -> engine -> setting -> [sample], and why engines are missing."""

    def __init__(self, rows, missing):
        self.rows, self.missing = rows, missing
        self.samples = {row.title: {} for row in rows}

    def add(self, row, engine, setting, sample):
        self.samples[row.title].setdefault(engine, {}).setdefault(setting, []).append(sample)

    def settings(self, row, engine):
        """Those of the next turn: all, or the one that was the fastest in the first."""
        found = self.samples[row.title].get(engine.name)
        if not found:
            return list(engine.settings_of(row))
        return [today_table.fastest({setting: samples[:1] for setting, samples in found.items()})]


def turn(number, measured, taking_part):
    for row in measured.rows:
        for engine in [e for e in taking_part if e.name not in measured.missing and row.kind in e.kinds]:
            try:
                for setting, sample in engine.measure(row, measured.settings(row, engine), number).items():
                    measured.add(row, engine.name, setting, sample)
                    print(f"  {row.title}: {today_table.sample_line(engine.name, setting, row, sample)}", flush=True)
            except Exception as error:  # whatever a peer does, the others go on
                measured.missing[engine.name] = f"{row.title}: {engines.sentence(error)}"
                print(f"{engine.name} is left out from here on: {measured.missing[engine.name]}", file=sys.stderr)
                engine.close()


class Run:
    """Turns of all engines, and what they have measured so far."""

    def __init__(self, a, folder):
        self.a, self.context = a, engines.Context(a, Path(folder), text_tokens(a))
        self.rows = rows_of(a.rows, 8 if a.quick else 1)
        self.taking_part, missing = engines.all_of(self.context, a.only)
        self.measured, self.machines, self.loads = Measured(self.rows, missing), [], []
        self.model = None

    def turn(self, number):
        self.loads.append(host.load())
        self.machines.append(floors.machine(self.a.build, self.a.threads))
        print(f"turn {number + 1} of {self.a.turns}; load {self.loads[-1]:.1f}; reads "
              f"{self.machines[-1]['read_gb_per_s']:.1f} GB/s", flush=True)
        turn(number, self.measured, self.taking_part)
        self.model = self.model or self.context.describe()

    def result(self):
        a, machines = self.a, self.machines
        return {"file": a.model.name, "bytes": a.model.stat().st_size, "threads": a.threads, "turns": len(machines),
                "host": host.describe(), "loads": self.loads, "machines": machines, "model": self.model,
                "engines": {e.name: e.said() for e in self.taking_part}, "missing": self.measured.missing,
                "rows": [{**row.facts(), "floors_s": [row.floor_s(m, self.model) for m in machines],
                          "samples": self.measured.samples[row.title]} for row in self.rows]}

    def close(self):
        for engine in self.taking_part:
            engine.close()
        self.context.close()


def measure(a, folder):
    run = Run(a, folder)
    try:
        for number in range(a.turns):
            run.turn(number)
            result = run.result()
            if a.json:
                a.json.write_text(json.dumps(result, indent=1) + "\n")
    finally:
        run.close()
    return result


def main():
    a = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("today.py: ended from outside"))  # its servers go, too
    with tempfile.TemporaryDirectory(prefix="bench_today.") as folder:
        result = measure(a, folder)
    print(*today_table.page(result), sep="\n")


if __name__ == "__main__":
    main()
