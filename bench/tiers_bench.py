#!/usr/bin/env python3
"""What does a module cost that another store has?

    python3 bench/tiers_bench.py MODEL.gguf [--tokens 2000] [--repeat 5] [--text FILE] [--slow DIR]

A text of so many tokens is a module; a prompt adds a question. Time to the first token of a fresh process, all counted
but the opening of the model, by where the module is:

  own store      as ever: mapped
  computed       nowhere: encoded first
  mapped         in a store behind it (--cache-from), local: mapped there; the first time it is verified
  copied         the same, copied into the own store (--cache-copy always); and the next time
  signed         the same, of an owner who is not trusted: copied, and compared with the signed list
  remote         as copied, of --slow DIR: a store on a file system that is not local, which holds a copy of the module

Processes take turns; medians and ranges. Beside each its floor: the module's bytes over what one thread reads from
the page cache here, once to map (verification) and twice to copy.
"""
import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMAND = Path(__file__).resolve().parent.parent / "build/tools/promptcache"
PROMPT = '<prompt schema="doc"><text/><user>What is this about?</user></prompt>'


class Bench:
    def __init__(self, a, folder):
        self.a, self.folder, self.own = a, folder, folder / "own"
        text = a.text.read_text(encoding="utf-8", errors="ignore")[: a.tokens * 4]
        (folder / "text.txt").write_text(text)
        (folder / "doc.pml").write_text('<schema name="doc"><module name="text" src="text.txt"/></schema>')
        (folder / "prompt.pml").write_text(PROMPT)

    def command(self, *arguments):
        run = subprocess.run([self.a.command, *map(str, arguments)], capture_output=True, text=True, cwd=self.folder)
        if run.returncode:
            sys.exit(f"{' '.join(map(str, arguments))}: {run.stderr.strip()}")
        return run.stdout

    def first_token(self, store, *options):
        out = self.command("run", "-m", self.a.model, "-s", "doc.pml", "prompt.pml", "-n", "1", "--json", "-q",
                           "--cache-dir", store, *options)
        return json.loads(out)["stats"]["ttft_us"] / 1000

    def encode(self, store):
        self.command("encode", "-m", self.a.model, "-s", "doc.pml", "prompt.pml", "-q", "--cache-dir", store)

    def fresh(self):
        """An own store with the model's packed weights and digests, and no module."""
        shutil.rmtree(self.own / "v3", ignore_errors=True)
        return self.own


def floor_ms(path):
    data = bytearray(path.stat().st_size)
    best = float("inf")
    for _ in range(5):
        with open(path, "rb", buffering=0) as file:
            begin = time.perf_counter()
            file.readinto(data)
            best = min(best, time.perf_counter() - begin)
    return best * 1000, len(data)


def measure(bench):
    shared, keys = bench.folder / "shared", bench.folder
    bench.encode(shared)
    bench.first_token(bench.own)  # packs the weights
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", keys / "key"], check=True)
    subprocess.run(["openssl", "pkey", "-in", keys / "key", "-pubout", "-out", keys / "pub"], check=True)
    bench.command("cache", "sign", "--key", keys / "key", "--cache-dir", shared)
    others = bench.folder / "others"
    shutil.copytree(shared, others)
    (others / "v3/objects").chmod(0o722)
    behind, times = ("--cache-from", shared), {}

    def take(name, *options):
        times.setdefault(name, []).append(bench.first_token(bench.own, *options))

    for _ in range(bench.a.repeat):
        bench.fresh()
        take("computed", "--read-only-cache")
        bench.fresh()
        bench.encode(bench.own)
        take("own store")
        bench.fresh()
        time.sleep(0.2)
        take("mapped, verified", *behind)
        take("mapped, the next time", *behind)
        bench.fresh()
        take("copied", *behind, "--cache-copy", "always")
        take("copied, the next time", *behind)
        bench.fresh()
        take("signed", "--cache-from", others, "--cache-trust", keys / "pub")
        if bench.a.slow:
            shutil.copytree(shared, bench.a.slow, dirs_exist_ok=True)
            bench.fresh()
            take("remote", "--cache-from", bench.a.slow)
            take("remote, the next time", "--cache-from", bench.a.slow)
    largest = max((shared / "v3/objects").iterdir(), key=lambda p: p.stat().st_size)
    return times, *floor_ms(largest)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--command", type=Path, default=COMMAND)
    parser.add_argument("--text", type=Path, required=True, help="a long text")
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--slow", type=Path, help="an empty folder on a file system that is not local")
    a = parser.parse_args()
    a.model = a.model.resolve()
    with tempfile.TemporaryDirectory(prefix="tiers_bench.") as folder:
        times, floor, n_bytes = measure(Bench(a, Path(folder)))
    print(f"a module of {n_bytes / 1e6:.1f} MB; one reading of it takes {floor:.1f} ms at least\n")
    print("| | first token, ms | range |\n|--|--|--|")
    for name, values in times.items():
        print(f"| {name} | {statistics.median(values):.1f} | {min(values):.1f} to {max(values):.1f} |")


if __name__ == "__main__":
    main()
