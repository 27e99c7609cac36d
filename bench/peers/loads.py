#!/usr/bin/env python3
"""How do promptcache and llama.cpp stand loads of many requests, on the same machine and minute?

    python3 bench/peers/loads.py FILE.gguf --load shared|orders|cold-orders|mixed [--repeat 3]
                                 [--rates 0.5 1 ...] [--server PROGRAM] [--quick] [--json OUT]
                                 [--build build]

Both answer the same requests (bench/peers/workloads.py), which come at the same times, and take
turns. Ours is bench/load_bench: a thread for each request, the scheduler makes steps of them.
llama.cpp is driven in its own batches by bench/peers/llama_cpp_load.py: what a server could make
of them that keeps beginnings of prompts; with --server also by its own server (llama-server), in
mixed loads. The settings of llama.cpp are tried first, once each on a part of the load, and its
best one takes part; all trials are kept in the JSON. A first round of two requests is not
counted. Memory is looked at each second. A pair of runs begins when nobody else computes, and is
run again with another seed where others took more than a tenth of the CPUs meanwhile, three times
at most.

  shared       16 requests behind one module of 4096 tokens, 32 tokens each: tokens a second while
               all decode
  orders       16 requests behind the same four modules of 512 tokens, in 16 orders, 32 tokens
               each: seconds until the last token. Modules were asked for before, each alone.
               Ours do not see each other (docs/PML.md, 4.7), llama.cpp's do
  cold-orders  the same, nothing asked for before
  mixed        half of the requests behind one of 8 documents of 1920 tokens with 128 of their own,
               half of 64 tokens, 64 tokens each; Poisson arrivals of so many a second: how many
               have their first token within 1 s and the others within 100 ms each (goodput)
"""

import argparse
import json
import math
import os
import re
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import floors  # noqa: E402
import side_by_side  # noqa: E402
import workloads  # noqa: E402

FIRST_S, EACH_S = 1.0, 0.1  # what a good answer keeps to
MOST_OTHERS = 0.1  # of the CPUs, that other programs may take while one is timed
MOST_TRIES = 4
RATES = (0.25, 0.5, 1.0, 1.5)


def setting(flash, unified, step, kv="f16", server=False):
    return {"flash": flash, "unified": unified, "step": step, "kv": kv, "server": server}


SETTINGS = {
    "shared": [setting(True, True, 512), setting(False, True, 512), setting(True, False, 512),
               setting(False, False, 512), setting(True, True, 512, "bf16")],
    "orders": [setting(True, True, 512), setting(False, True, 512), setting(True, False, 512)],
    "mixed": [setting(False, True, 64), setting(False, True, 128), setting(False, True, 512),
              setting(True, True, 128), setting(False, True, 128, server=True)],
}
SETTINGS["cold-orders"] = SETTINGS["orders"]


def title_of(s):
    return ", ".join(["server"] * s["server"] + ["flash attention"] * s["flash"]
                     + ["one memory" if s["unified"] else "memory apart", f"{s['step']} at once",
                        s["kv"]])


# ---- loads

class Kind:
    """A kind of load: its workloads by seed, and what one answers to it: more is better."""

    def __init__(self, name, quick):
        self.name, self.shrink = name, 8 if quick else 1

    def workload(self, seed, rate=None):
        if self.name == "shared":
            return workloads.shared(seed, cached=4096 // self.shrink)
        if self.name == "mixed":
            return workloads.mixed(seed, rate, requests=max(8, 24 // self.shrink),
                                   cached=1920 // self.shrink)
        return workloads.orders(seed, self.name == "orders", tokens=512 // self.shrink)

    def warm_up(self, rate=None):
        """Of the same modules, with two requests."""
        return beginning(self.workload(0, rate), 2)

    def trial(self, rate=None):
        """Where a run takes minutes, a third of one."""
        return beginning(self.workload(1, rate), 16 if self.name == "shared" else 6)

    def memory(self):
        """llama.cpp's: tokens of its K/V memory, unified and apart, and sequences; no more than
        the load needs."""
        if self.name == "shared":
            return {"unified": 4096 + 1024, "apart": 17 * (4096 + 256)}, 17
        if self.name == "mixed":
            return {"unified": 8 * 2048 + 24 * 256, "apart": 32 * 2304}, 32
        return {"unified": 48 * 512 + 2048, "apart": 20 * 2304}, 20

    def value(self, answers):
        if self.name == "shared":
            return decode_rate(answers)
        if self.name == "mixed":
            return goodput(answers)
        return -max(a["token_s"][-1] for a in answers)


def beginning(workload, n):
    """The load with its first n requests alone."""
    return {**workload, "requests": workload["requests"][:n]}


def decode_rate(answers):
    """Tokens a second while all decode."""
    begin = max(a["token_s"][0] for a in answers)
    end = min(a["token_s"][-1] for a in answers)
    return sum(begin < t <= end for a in answers for t in a["token_s"]) / (end - begin)


def first_s(answer):
    return answer["token_s"][0] - answer["at"] if answer["token_s"] else math.inf


def each_s(answer):
    times = answer["token_s"]
    return (times[-1] - times[0]) / max(len(times) - 1, 1) if times else math.inf


def goodput(answers):
    """The share of the requests that are answered as one wishes, and to their end."""
    return sum(a["complete"] and first_s(a) <= FIRST_S and each_s(a) <= EACH_S
               for a in answers) / len(answers)


def summary(answers):
    """What is kept of one run."""
    firsts = sorted(map(first_s, answers))
    return {"decode_tokens_per_s": decode_rate(answers) if answers[-1]["at"] == 0 else None,
            "all_first_s": max(a["at"] + first_s(a) for a in answers),
            "all_s": max(t for a in answers for t in a["token_s"]), "goodput": goodput(answers),
            "cut_short": sum(not a["complete"] for a in answers),
            "first_s": [statistics.median(firsts), firsts[int(0.95 * (len(firsts) - 1))]],
            "each_s": [statistics.median(map(each_s, answers)), max(map(each_s, answers))],
            "computed": sum(a.get("computed", 0) for a in answers),
            "tokens": sum(len(a["token_s"]) for a in answers)}


# ---- programs

def memory_of(pid):
    """MiB: proportional set size, of it anonymous and of files."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return {name: int(re.search(rf"^{name}:\s+(\d+)", text, re.M).group(1)) / 1024
            for name in ("Pss", "Pss_Anon", "Pss_File")}


def jiffies():
    """Of all CPUs: passed, and those in which they did something or were somebody else's."""
    fields = [int(f) for f in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(fields), sum(fields) - fields[3] - fields[4]


def jiffies_of(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


class Others:
    """The share of the CPUs that programs beside these take."""

    def __init__(self, *pids):
        self.pids = (*pids, os.getpid())
        self.begin = self.now()

    def now(self):
        return (*jiffies(), sum(map(jiffies_of, self.pids)))

    def share(self):
        passed, busy, own = (y - x for x, y in zip(self.begin, self.now()))
        return max(0.0, busy - own) / max(passed, 1)


def wait_for_quiet():
    """Until nobody computes for two seconds; some minutes at most."""
    for _ in range(150):
        others = Others()
        time.sleep(2)
        if others.share() < MOST_OTHERS / 2:
            return


class Program:
    """One of the two, as a worker of side_by_side's kind."""

    def __init__(self, a, folder, s=None):
        if s is None:
            command = [str(a.build / "bench/load_bench"), str(a.file), "--cache", folder,
                       "--threads", str(threads())]
        else:
            cells, sequences = Kind(a.load, a.quick).memory()
            command = [sys.executable, str(HERE / "worker.py"),
                       "llama-server" if s["server"] else "llama.cpp-load",
                       json.dumps({"file": str(a.file), "threads": threads(), "setting": s,
                                   "cells": cells, "sequences": sequences, "server": a.server})]
        self.may_cut = bool(s and s["server"])
        self.folder, self.worker = folder, side_by_side.Worker(command)
        self.pid = self.worker.call("pid") if s and s["server"] else self.worker.process.pid
        self.memory = memory_of(self.pid)

    def run(self, workload):
        path, over = Path(self.folder) / "workload.json", threading.Event()
        path.write_text(json.dumps(workload))
        watcher = threading.Thread(target=self.watch, args=(over,))
        watcher.start()
        others = Others(self.pid)
        try:
            answers = self.worker.call("run", str(path))
        finally:
            self.others = others.share()
            over.set()
            watcher.join()
        for answer, request in zip(answers, workload["requests"]):
            answer["complete"] = len(answer["token_s"]) == request["answer"]
            # A server ends answers before their time where its memory is full.
            assert answer["complete"] or self.may_cut, "an answer has another length"
        return answers

    def watch(self, over):
        """Keeps the largest memory that it had; a look takes some milliseconds."""
        while not over.wait(1.0):
            self.memory = max(self.memory, memory_of(self.pid), key=lambda m: m["Pss"])

    def close(self):
        self.worker.close()


def threads():
    return len(os.sched_getaffinity(0))


# ---- comparing

def best_setting(a, kind, folder):
    """The setting with the best value in one run each behind a first one, and all values."""
    tried = {}
    wanted = [s for s in SETTINGS[kind.name] if a.server or not s["server"]]
    for s in wanted if side_by_side.has_peer() else []:
        wait_for_quiet()
        program = Program(a, folder, s)
        program.run(kind.warm_up(a.rates[-1]))
        wait_for_quiet()
        tried[title_of(s)] = kind.value(program.run(kind.trial(a.rates[len(a.rates) // 2])))
        program.close()
        print(f"llama.cpp, {title_of(s)}: {tried[title_of(s)]:.3f}", file=sys.stderr, flush=True)
    best = max(tried, key=tried.get, default=None)
    return next((s for s in wanted if title_of(s) == best), None), tried


def least_disturbed(programs, kind, seed, rate):
    """One run of each, one after the other; again where other programs took much of the CPUs."""
    best = None
    for attempt in range(MOST_TRIES):
        wait_for_quiet()
        workload, runs = kind.workload(seed + 1000 * attempt, rate), {}
        for name, program in programs.items():
            runs[name] = {**summary(program.run(workload)), "others": program.others}
        worst = max(run["others"] for run in runs.values())
        if not best or worst < best[0]:
            best = worst, runs
        if worst <= MOST_OTHERS:
            break
    return best[1]


def compare(a, folder):
    kind = Kind(a.load, a.quick)
    best, tried = best_setting(a, kind, folder)
    programs = {"promptcache": Program(a, folder)}
    if best:
        programs["llama.cpp"] = Program(a, folder, best)
    for program in programs.values():
        program.run(kind.warm_up(a.rates[0]))
    rows = []
    for rate in a.rates:
        row = {"rate": rate, "runs": {name: [] for name in programs}}
        for seed in range(1, a.repeat + 1):
            for name, run in least_disturbed(programs, kind, seed, rate).items():
                row["runs"][name].append(run)
        rows.append(row)
        print(line_of(a.load, row), flush=True)
    for program in programs.values():
        program.close()
    return {"file": a.file.name, "load": a.load, "setting": best and title_of(best),
            "tried": tried, "rows": rows,
            "memory_mib": {name: program.memory for name, program in programs.items()}}


# ---- tables

SHOWN = {  # load -> what stands in its table: title, how one reads it, is more better?
    "shared": ("decoding together, tokens/s", lambda r: r["decode_tokens_per_s"], True),
    "orders": ("until the last token, s", lambda r: r["all_s"], False),
    "cold-orders": ("until the last token, nothing stored, s", lambda r: r["all_s"], False),
    "mixed": ("goodput", lambda r: r["goodput"], True),
}
HEAD = "| | promptcache / llama.cpp | promptcache | llama.cpp |\n|--|--|--|--|"


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f}..{max(values):.2f})"


def ratio_of(load, row):
    """How many times as good ours is: median, lowest, highest of the pairs of runs."""
    _, read, more = SHOWN[load]
    if len(row["runs"]) < 2:
        return None
    pairs = [(read(x), read(y)) for x, y in zip(*row["runs"].values())]
    if any(y == 0 for _, y in pairs):
        return None
    ratios = [x / y if more else y / x for x, y in pairs]
    return statistics.median(ratios), min(ratios), max(ratios)


def line_of(load, row):
    title, read, _ = SHOWN[load]
    if load == "mixed":
        title += f" at {row['rate']:g} requests/s"
    ratio = ratio_of(load, row)
    first = f"**{ratio[0]:.2f}x** ({ratio[1]:.2f}..{ratio[2]:.2f})" if ratio else ""
    cells = [spread([read(r) for r in runs]) for runs in row["runs"].values()]
    return f"| {title} | {first} | {' | '.join(cells)} |"


def lines_of(result):
    """A load's table, and its memory."""
    yield HEAD
    yield from (line_of(result["load"], row) for row in result["rows"])
    memory = "; ".join(f"{name} {m['Pss']:.0f} MiB, {m['Pss_Anon']:.0f} of them anonymous"
                       for name, m in result["memory_mib"].items())
    yield f"\nMemory at its largest: {memory}. llama.cpp: {result['setting'] or 'missing'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--load", choices=SETTINGS, required=True)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--rates", type=float, nargs="+", default=RATES, help="of a mixed load")
    parser.add_argument("--server", default=os.environ.get("LLAMA_SERVER"),
                        help="llama.cpp's llama-server (or LLAMA_SERVER)")
    parser.add_argument("--quick", action="store_true", help="an eighth of the tokens")
    parser.add_argument("--build", type=Path, default=HERE.parents[1] / "build")
    parser.add_argument("--json", type=Path)
    a = parser.parse_args()
    a.rates = sorted(a.rates) if a.load == "mixed" else [None]
    a.server = a.server if a.load == "mixed" else None
    if not side_by_side.has_peer():
        print(side_by_side.NO_PEER, file=sys.stderr)
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        result = compare(a, folder)
    result["machine"] = floors.machine(a.build)
    print(*list(lines_of(result))[-1:], sep="\n")
    if a.json:
        a.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
