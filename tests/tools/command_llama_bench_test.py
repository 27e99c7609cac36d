#!/usr/bin/env python3
"""bench beside a real llama-bench: the same options, and the same rows for the same command line.

    PC_LLAMA_BENCH=PROGRAM command_llama_bench_test.py COMMAND TINY_MODEL

PROGRAM is a llama-bench, in whose folder its libraries are (b11434 is what these lines were written for). Without it
this is skipped and says so: bench_command_test.cc then holds the rows that b11434 has.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from command import CommandTest, MODEL

LLAMA_BENCH = pathlib.Path(os.environ.get("PC_LLAMA_BENCH", "")).resolve()
# One token is one byte; in front of a text stands BOS.
LINES = [
    "-p 16,32 -n 4",
    "-p 16 -p 32 -n 4 -n 8",
    "-p 8-32*2 -n 0",
    "-p 8-24+8 -n 2-8*2 -d 0-16+8",
    "-p 16 -n 4 -d 0,8,64",
    "-p 0 -n 4",
    "-p 0 -n 0 -pg 16,4",
    "-p 16 -n 4 -pg 8,2 -pg 32,4",
    "-p 0 -n 0 -pg 16,4 -pg 8,0 -pg 0,4 -d 0,8",
    "-p 16 -n 4 -t 1,2",
    "-p 16,32 -n 2 -t 1-2 -d 0,8 -pg 8,2",
    "-p 16 -n 4 -ctk bf16 -ctv bf16",
    "-p 16 -n 0 -ctk bf16,f16 -ctv bf16 -fa on -t 1,2",
    "-p 16,16 -n 4 -r 2",
    "--n_prompt 16 --n-gen 4 --n_depth 8 --repetitions 2",
    "-p 16 -n 4 -b 512 -ub 128 -ngl 0 -fa 1 -lm mmap --poll 50 --prio 0 --no-warmup -C 0x0 --cpu-strict 0",
    "-n 2 -pg 8,2",
    "-p 16",
]
KV_TYPES = {"f16": "bf16"}


def run(program, *arguments, **environment):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **environment})
    if done.returncode:
        raise AssertionError(f"{arguments}: {done.stdout}{done.stderr}")
    return done.stdout


def name_of(row):
    """What llama-bench's table calls a row, of which its JSON has the numbers alone."""
    parts = [f"pp{row['n_prompt']}"] * (row["n_prompt"] > 0) + [f"tg{row['n_gen']}"] * (row["n_gen"] > 0)
    return "+".join(parts) + (f" @ d{row['n_depth']}" if row["n_depth"] else "")


def described(row, kv_types):
    return (pathlib.Path(row["model_filename"]).name, kv_types.get(row["type_k"], row["type_k"]), row["n_threads"],
            name_of(row), len(row["samples_ns"]))


class LlamaBench(CommandTest):
    def setUp(self):
        super().setUp()
        self.models = [self.dir / "one.gguf", self.dir / "two.gguf"]
        for model in self.models:
            shutil.copy(pathlib.Path(MODEL) / "tiny_q8_0.gguf", model)
        self.environment["PROMPTCACHE_CACHED"] = "0"  # leaves out what llama-bench does not measure

    def theirs(self, *arguments):
        return run(LLAMA_BENCH, *arguments, LD_LIBRARY_PATH=str(LLAMA_BENCH.parent))

    def rows(self, line):
        ours = [json.loads(row) for row in self.command("bench", *line).splitlines()]
        theirs = [json.loads(row) for row in self.theirs(*line).splitlines()]
        self.assertEqual([row["test"] for row in ours], [name_of(row) for row in ours])
        return [described(row, {}) for row in ours], [described(row, KV_TYPES) for row in theirs], ours, theirs

    def test_every_option_of_theirs_is_one_of_ours(self):
        options = set(re.findall(r"(?<=[ ,])--?[a-zA-Z][a-z-]*(?=[ ,]|$)",
                                 "\n".join(re.findall(r"^ +(-.*?)(?:  |<|$)", self.theirs("--help"), re.M)).replace("\n", " ")))
        self.assertGreater(len(options), 60)
        ours = set(re.findall(r"(?<![\w-])--?[a-zA-Z][a-z-]*", self.command("bench", "--help")))
        self.assertEqual(options - ours, set())

    def test_the_same_line_has_the_same_rows(self):
        for line in LINES:
            threads = [] if " -t" in line else ["-t", "1"]
            repetitions = [] if "-r" in line else ["-r", "1"]
            words = ["-m", str(self.models[0]), *threads, *repetitions, "-o", "jsonl", *line.split()]
            ours, theirs, *_ = self.rows(words)
            self.assertEqual(ours, theirs, line)

    def test_several_models(self):
        for models in (["-m", ",".join(map(str, self.models))], [word for m in self.models for word in ("-m", str(m))]):
            ours, theirs, *_ = self.rows([*models, "-p", "16", "-n", "2", "-t", "1,2", "-r", "1", "-o", "jsonl"])
            self.assertEqual(len(ours), 8)
            self.assertEqual(ours, theirs)

    def test_fields_of_both_have_the_same_names_and_types(self):
        *_, ours, theirs = self.rows(["-m", str(self.models[0]), "-p", "16", "-n", "2", "-t", "1", "-r", "3", "-o", "jsonl"])
        shared = set(ours[0]) & set(theirs[0])
        self.assertLessEqual({"cpu_info", "backends", "model_filename", "model_type", "model_size", "model_n_params",
                              "n_threads", "type_k", "type_v", "n_prompt", "n_gen", "n_depth", "test_time", "avg_ns",
                              "stddev_ns", "avg_ts", "stddev_ts", "samples_ns", "samples_ts"}, shared)
        for field in shared:
            kinds = [{int: float}.get(type(row[field]), type(row[field])) for row in (ours[0], theirs[0])]
            self.assertEqual(kinds[0], kinds[1], field)
        for field in ("cpu_info", "backends", "model_size", "model_n_params"):
            self.assertEqual(ours[0][field], theirs[0][field])

    def test_reports_of_both_can_be_compared(self):
        line = ["-m", str(self.models[0]), "-p", "16", "-n", "4", "-t", "1", "-r", "6", "-o"]
        for form in ("json", "jsonl"):
            ours = self.write(f"ours.{form}", self.command("bench", *line, form))
            theirs = self.write(f"theirs.{form}", self.theirs(*line, form))
            report = json.loads(self.command("bench", "compare", theirs, ours, "--json"))
            self.assertEqual([row["test"] for row in report["tests"]], ["pp16", "tg4"])
            self.assertEqual({d["field"] for d in report["differences"]}, {"program", "type_k", "type_v"})


if __name__ == "__main__":
    if not LLAMA_BENCH.is_file():
        print("SKIPPED: PC_LLAMA_BENCH names no llama-bench")
        sys.exit(0)
    unittest.main(argv=sys.argv[:1], verbosity=1)
