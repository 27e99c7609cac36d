#!/usr/bin/env python3
"""What does module reuse save on prompts of the sizes that the paper measured?

    python3 bench/longbench_ttft.py FILE.gguf [--sizes narrativeqa=3500+68 ...] [--shrink 1]
                                    [--repeat 5] [--json OUT] [--svg OUT] [--build build]

The harness of "Prompt Cache: Modular Attention Reuse for Low-Latency Inference" (Gim et al.,
MLSys 2024, figures 3 and 4): for each dataset of LongBench one schema with the context as its one
module, and a prompt that imports it and adds the question. TTFT without reuse (every token
computed) and with it (the context's states mapped from a file), in turns; the median of --repeat
cached runs and of one full run after a warm-up, unless --full says more. --shrink divides the contexts.

Sizes: the published runs cut contexts to 3,500 tokens (MultiNews: 3,040, by its time). Their new
tokens are inferred from the published latencies on an i9-13900K, as (cached forward - forward of one
token) / (full forward / context); `paper` is the speed-up measured there, loading included.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))
sys.path.insert(0, str(HERE))
import svg_bars  # noqa: E402
from promptcache_runs import PromptCache  # noqa: E402

SIZES = {  # name: (context, new, speed-up in the paper's data)
    "NarrativeQA": (3500, 68, 36.0), "Qasper": (3500, 102, 26.8), "MultiFieldQA": (3500, 35, 54.0),
    "HotpotQA": (3500, 46, 45.6), "2WikiMQA": (3500, 38, 51.7), "MuSiQue": (3500, 40, 49.8),
    "GovReport": (3500, 25, 63.1), "QMSum": (3500, 38, 51.4), "MultiNews": (3040, 22, 59.8),
    "TriviaQA": (3500, 347, 9.3), "SAMSum": (3500, 207, 14.9), "PassageCount": (3500, 25, 63.7),
    "PassageRetrieval": (3500, 252, 12.5),
}


def parse_size(text):
    name, numbers = text.split("=")
    cached, new = numbers.split("+")
    return name, (int(cached), int(new), None)


def measure(engine, sizes, a):
    engine.run(256, 1, reuse=False)  # warms up
    for name, (cached, new, paper) in sizes.items():
        cached //= a.shrink
        engine.run(cached, new)  # encodes where the context is new
        times = {"full": [], "cached": []}
        for turn in range(a.repeat):
            if turn < a.full:
                times["full"].append(engine.run(cached, new, reuse=False)[0])
            seconds, stats = engine.run(cached, new)
            times["cached"].append(seconds)
        yield {"dataset": name, "cached_tokens": stats.cached_tokens, "paper": paper,
               "new_tokens": stats.computed_tokens, "full_s": times["full"],
               "cached_s": times["cached"]}


def ratio_of(row):
    return statistics.median(row["full_s"]) / statistics.median(row["cached_s"])


def line_of(row):
    cached = [1e3 * t for t in row["cached_s"]]
    paper = f"{row['paper']:.0f}x" if row["paper"] else ""
    return (f"| {row['dataset']} | {row['cached_tokens']} + {row['new_tokens']} | "
            f"**{ratio_of(row):.1f}x** | {1e3 * statistics.median(row['full_s']):.0f} ms | "
            f"{statistics.median(cached):.0f} ms ({min(cached):.0f}..{max(cached):.0f}) | {paper} |")


HEAD = ("| dataset's size | cached + new tokens | full / cached | TTFT, full prefill | TTFT, cached "
        "| paper, i9-13900K, Llama-2-7B |\n|--|--|--|--|--|--|")


def mean_ratio(rows):
    return statistics.geometric_mean(ratio_of(row) for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--build", type=Path, default=HERE.parent / "build")
    parser.add_argument("--sizes", nargs="+", type=parse_size)
    parser.add_argument("--shrink", type=int, default=1)
    parser.add_argument("--full", type=int, default=1, help="full prefills of each size")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--svg", type=Path)
    a = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        engine = PromptCache(a.build / "runtime/libpromptcache.so", a.file, folder,
                             len(os.sched_getaffinity(0)), 4096)
        print(HEAD)
        for row in measure(engine, dict(a.sizes) if a.sizes else SIZES, a):
            rows.append(row)
            print(line_of(row), flush=True)
    print(f"| geometric mean | | **{mean_ratio(rows):.1f}x** | | | |")
    if a.json:
        a.json.write_text(json.dumps({"file": a.file.name, "rows": rows}, indent=1) + "\n")
    if a.svg:
        a.svg.write_text(svg_bars.plot(
            "Time to first token, ms (logarithmic)", ("full prefill", "cached"),
            [(r["dataset"], [1e3 * statistics.median(r[k]) for k in ("full_s", "cached_s")])
             for r in rows]))


if __name__ == "__main__":
    main()
