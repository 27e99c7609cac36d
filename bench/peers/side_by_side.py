#!/usr/bin/env python3
"""How fast is promptcache beside llama.cpp, on the same file, machine and minute?

    python3 bench/peers/side_by_side.py FILE.gguf ... [--repeat 5] [--json OUT] [--quick]

Both engines run in this process, with as many threads as it may use, and take turns: A, B, C,
A, B, C, ...; llama.cpp (PyPI's llama-cpp-python, built for this machine) with and without flash
attention, and the better of the two counts. Files come from bench/make_random_gguf.py: speed
does not depend on what weights say. Medians; the ratio first, then the range.

  prefill 512, 4096       every token computed, tokens a second
  cached 4096 + 64        to the first token: llama.cpp's prefix in its own memory, promptcache's in
                          a mapped file; parsing, tokenising and planning counted for promptcache
  cached 4096 + 1         the same with one new token
  decode 0, 2048          tokens a second at that depth
  attach 4096             promptcache: look-up and mapping of a stored module; llama.cpp: its state
                          file read back

Exact token counts of promptcache are one or two higher (BOS). Needs llama-cpp-python.
"""

import argparse
import json
import os
import statistics
import tempfile
from pathlib import Path

from llama_cpp_runs import LlamaCpp
from promptcache_runs import PromptCache

ROOT = Path(__file__).resolve().parents[2]


def cases(quick):
    """(title, what is counted, function of an engine giving seconds)."""
    cached = 1024 if quick else 4096
    yield "prefill 512", 512, lambda e: e.prefill_s(512)
    if not quick:
        yield "prefill 4096", 4096, lambda e: e.prefill_s(4096)
    yield f"cached {cached} + 64", 0, lambda e: e.cached_s(cached, 64)
    yield f"cached {cached} + 1", 0, lambda e: e.cached_s(cached, 1)
    yield "decode, depth 0", 1, lambda e: e.decode_s(1, 16)
    yield f"decode, depth {cached // 2}", 1, lambda e: e.decode_s(cached // 2, 16)


def alternate(engines, run, repeat):
    """name -> seconds of each repetition; one round before the clock counts."""
    times = {e.name: [] for e in engines}
    for turn in range(repeat + 1):
        for engine in engines:
            seconds = run(engine)
            if turn > 0:
                times[engine.name].append(seconds)
    return times


def summary(title, count, times):
    """Peers are all but the first; the best median of them is the mark."""
    medians = {name: statistics.median(t) for name, t in times.items()}
    ours, *peers = medians
    best = min(peers, key=medians.get)
    low = min(times[best]) / max(times[ours])
    high = max(times[best]) / min(times[ours])
    return {"case": title, "tokens": count, "ratio": medians[best] / medians[ours],
            "ratio_range": [low, high], "ours_s": times[ours], "best_peer": best,
            "peer_s": times[best]}


def compare(file, a, folder):
    threads = len(os.sched_getaffinity(0))
    context = 8192 if not a.quick else 2048
    ours = PromptCache(a.library, file, folder, threads, 0)
    peers = [LlamaCpp(file, threads, context, flash) for flash in (False, True)]
    rows = [summary(title, count, alternate([ours, *peers], run, a.repeat))
            for title, count, run in cases(a.quick)]
    n = 1024 if a.quick else 4096
    state = Path(folder) / "state"
    peers[1].save(n, state)
    times = {"promptcache": [], "llama.cpp": []}
    for _ in range(a.repeat):
        times["promptcache"].append(max(ours.attach_s(n), 1e-6))
        times["llama.cpp"].append(peers[1].restore_s(n, state))
    rows.append(summary(f"attach {n}", 0, times))
    return {"file": Path(file).name, "bytes": Path(file).stat().st_size, "rows": rows}


def shown(count, seconds):
    value = statistics.median(seconds)
    if count:
        return f"{count / value:.1f} t/s"
    return f"{value * 1e3:.0f} ms" if value >= 0.01 else f"{value * 1e3:.2f} ms"


def table(result):
    lines = [f"{result['file']} ({result['bytes'] / 2**20:.0f} MiB)", "",
             "| | llama.cpp's time / ours | promptcache | llama.cpp, its better setting |",
             "|--|--|--|--|"]
    for r in result["rows"]:
        low, high = r["ratio_range"]
        lines.append(f"| {r['case']} | **{r['ratio']:.2f}x** ({low:.2f}..{high:.2f}) | "
                     f"{shown(r['tokens'], r['ours_s'])} | {shown(r['tokens'], r['peer_s'])} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--library", default=str(ROOT / "build/runtime/libpromptcache.so"))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="1024 cached tokens, no long prefill")
    parser.add_argument("--json", type=Path)
    a = parser.parse_args()
    results = []
    for file in a.files:
        with tempfile.TemporaryDirectory() as folder:
            results.append(compare(file, a, folder))
        print(table(results[-1]) + "\n", flush=True)
    if a.json:
        a.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
