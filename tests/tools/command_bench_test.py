#!/usr/bin/env python3
"""bench: what it prints and leaves behind, never how fast it was."""
import csv
import io
import json
import math
import pathlib
import re
import signal
import sys
import unittest

from command import CommandTest, MODEL, SOURCE

QUANTISED = str(pathlib.Path(MODEL) / "tiny_q8_0.gguf")
# One token is one byte; in front of a text stands BOS.
SMALL = ["-p", "16", "-n", "4", "--cached", "32", "--new", "3", "--sessions", "2", "-r", "2"]
NAMES = ["pp16", "tg4", "ttft3 @ d32", "2 x tg4 @ d32"]


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


class Bench(CommandTest):
    def bench(self, *arguments, **options):
        return self.engine("bench", *SMALL, *arguments, **options)

    def test_json_has_each_test_with_its_numbers(self):
        tests = json.loads(self.bench("-d", "0,8", "-o", "json"))["tests"]
        self.assertEqual([t["test"] for t in tests],
                         ["pp16", "tg4", "pp16 @ d8", "tg4 @ d8", "ttft3 @ d32", "2 x tg4 @ d32"])
        self.assertEqual([(t["n_depth"], t["n_prompt"], t["n_gen"], t["n_sessions"]) for t in tests],
                         [(0, 16, 0, 1), (0, 0, 4, 1), (8, 16, 0, 1), (8, 0, 4, 1), (32, 3, 0, 1), (32, 0, 4, 2)])
        for t in tests:
            self.assertEqual((t["n_threads"], t["backends"], t["model_type"]), (1, "CPU", "llama F32"))
            self.assertGreater(t["read_bytes_per_s"], 0)
            self.assertEqual(len(t["samples_ns"]), 2)
            self.assertAlmostEqual(t["avg_ns"], sum(t["samples_ns"]) / 2, delta=1)
            self.assertRegex(t["test_time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
            # The model fits every cache that is known.
            self.assertEqual(t["floor_ns"] is None, t["test"].startswith("pp") or t["cache_bytes"] > 0)
            if t["test"].startswith("ttft"):
                self.assertEqual((t["avg_ts"], len(t["full_samples_ns"])), (None, 2))
                self.assertTrue(math.isfinite(t["avg_speed_up"]))
            else:
                tokens = (t["n_prompt"] + t["n_gen"]) * t["n_sessions"]
                for ns, rate in zip(t["samples_ns"], t["samples_ts"]):
                    self.assertAlmostEqual(rate, tokens * 1e9 / ns, delta=rate * 1e-3)

    def test_markdown_has_the_columns_of_llama_bench(self):
        lines = self.bench().splitlines()
        self.assertEqual(cells(lines[0])[:7], ["model", "size", "params", "backend", "threads", "test", "t/s"])
        self.assertTrue(all(re.fullmatch("-+:?", rule) for rule in cells(lines[1])))
        rows = [cells(line) for line in lines if line.startswith("| llama F32")]
        self.assertEqual({row[5] for row in rows}, set(NAMES))
        for row in rows:
            self.assertRegex(row[6], r"^[0-9.]+ ± [0-9.]+$")
        self.assertRegex(lines[-1], r"^machine: .*, 1 thread reads [0-9.]+ GB/s")
        self.assertEqual(self.err.splitlines(), [f"{i + 1}/4 {name}" for i, name in enumerate(NAMES)])

    def test_csv_can_be_read(self):
        rows = list(csv.DictReader(io.StringIO(self.bench("-o", "csv", "-q"))))
        self.assertEqual([row["test"] for row in rows], NAMES)
        self.assertEqual({row["model_filename"] for row in rows}, {MODEL})
        self.assertTrue(all(None not in row and None not in row.values() for row in rows))
        self.assertEqual(self.err, "")

    def test_nothing_stays_in_the_store_but_packed_weights(self):
        report = json.loads(self.command("bench", "-m", QUANTISED, "-t", "1", *SMALL, "--json"))
        self.assertEqual([t["test"] for t in report["tests"]], NAMES)
        self.assertEqual(self.err.count("\n"), len(NAMES))  # no remark: weights are used packed
        store = self.json("cache", "ls")
        self.assertEqual((store["files"], len(store["packed"])), ([], 1))

    def test_the_whole_window_can_be_measured(self):
        report = json.loads(self.engine("bench", "-c", "64", "-p", "63", "-n", "0", "--cached", "40", "--new", "23",
                                        "-r", "1", "--json"))
        self.assertEqual([t["test"] for t in report["tests"]], ["pp63", "ttft23 @ d40"])

    def test_no_answer_ends_before_its_tokens_are_decoded(self):
        # This model would end its turn.
        report = json.loads(self.command("bench", "-m", str(SOURCE / "models" / "city-guide"), "-t", "1", "-p", "0",
                                         "-n", "128", "--cached", "200", "--new", "8", "-r", "1", "--json"))
        self.assertEqual([t["test"] for t in report["tests"]], ["tg128", "ttft8 @ d200", "4 x tg128 @ d200"])

    def test_a_ctrl_c_leaves_nothing_and_prints_what_was_measured(self):
        process = self.start("bench", "-m", MODEL, "-t", "1", "-p", "16", "-n", "4000", "--cached", "0", "-r", "50",
                             "-o", "csv")
        self.addCleanup(process.kill)
        self.assertEqual(process.stderr.readline(), "1/2 pp16\n")
        process.send_signal(signal.SIGINT)  # 200,000 steps are ahead of it
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, err)
        self.assertEqual([row["test"] for row in csv.DictReader(io.StringIO(out))], ["pp16"])
        self.assertEqual(self.json("cache", "ls")["files"], [])

    def test_what_cannot_be_meant_is_refused_before_anything_is_measured(self):
        for line in (["-r", "0"], ["-o", "xml"], ["-p", "x"], ["-p", "-1"], ["--new", "0"],
                     ["-p", "0", "-n", "0", "--cached", "0"]):
            self.engine("bench", *line, expect=2)
            self.assertEqual(self.out, "")
        self.engine("bench", "-d", "5000", expect=1)
        self.assertIn("pp512 @ d5000 takes 5513 tokens, the context window has 4096", self.err)
        self.engine("bench", "-c", "64", expect=1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
