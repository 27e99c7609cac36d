#!/usr/bin/env python3
"""bench: what it prints and leaves behind, never how fast it was."""
import csv
import io
import json
import math
import os
import pathlib
import re
import signal
import sqlite3
import sys
import time
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
        tests = json.loads(self.bench("-d", "0,8", "--json"))["tests"]
        self.assertEqual([t["test"] for t in tests],
                         ["pp16", "tg4", "pp16 @ d8", "tg4 @ d8", "ttft3 @ d32", "2 x tg4 @ d32"])
        self.assertEqual([(t["n_depth"], t["n_prompt"], t["n_gen"], t["n_sessions"]) for t in tests],
                         [(0, 16, 0, 1), (0, 0, 4, 1), (8, 16, 0, 1), (8, 0, 4, 1), (32, 3, 0, 1), (32, 0, 4, 2)])
        for t in tests:
            self.assertEqual((t["n_threads"], t["backends"], t["model_type"]), (1, "CPU", "llama F32"))
            self.assertGreater(t["read_bytes_per_s"], 0)
            self.assertEqual(len(t["samples_ns"]), 2)
            self.assertAlmostEqual(t["avg_ns"], sum(t["samples_ns"]) / 2, delta=1)
            self.assertLessEqual(t["p5_ns"], t["median_ns"])
            self.assertLessEqual(t["median_ns"], t["p95_ns"])
            self.assertEqual(t["median_ts"] is None, t["test"].startswith("ttft"))
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

    def test_weights_have_been_verified_before_the_machine_is_measured(self):
        measure = ["bench", "-m", QUANTISED, "-t", "1", "-p", "8", "-n", "0", "--cached", "0", "-r", "1"]
        self.command(*measure)
        time.sleep(0.3)  # the packed file's times say whether it has changed
        stamps = list((self.cache / "packed/used").iterdir())
        self.assertEqual(len(stamps), 1)
        stamps[0].unlink()
        self.command(*measure)
        self.assertTrue(stamps[0].read_text().startswith("verified boot="))

    def test_markdown_has_the_columns_of_llama_bench(self):
        lines = self.bench().splitlines()
        self.assertEqual(cells(lines[0])[:7], ["model", "size", "params", "backend", "threads", "test", "t/s"])
        self.assertTrue(all(re.fullmatch("-+:?", rule) for rule in cells(lines[1])))
        rows = [cells(line) for line in lines if line.startswith("| llama F32")]
        self.assertEqual({row[5] for row in rows}, set(NAMES))
        for row in rows:
            self.assertRegex(row[6], r"^[0-9.]+ ± [0-9.]+$")
        self.assertRegex(lines[-2], r"^machine: .*, 1 thread reads [0-9.]+ GB/s")
        self.assertRegex(lines[-1], r"^system: kernel .*, governor .*; load average .* before, .* after$")
        self.assertEqual(self.err.splitlines(), [f"{i + 1}/4 {name}" for i, name in enumerate(NAMES)])

    def test_a_row_names_the_machine_as_its_system_does(self):
        row = json.loads(self.bench("-o", "jsonl").splitlines()[0])
        self.assertEqual(row["kernel"], os.uname().release)
        self.assertEqual(row["memory_bytes"], os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        self.assertGreaterEqual(row["n_cpus"], row["n_cores"])
        self.assertGreaterEqual(row["n_cores"], row["n_sockets"])
        self.assertIsInstance(row["load_before"], (int, float))
        self.assertRegex(row["compiler"], r"^C\+\+ ")
        for field in ("governor", "huge_pages", "n_huge_pages", "load_after", "isa", "build_version"):
            self.assertIn(field, row)

    def test_lists_and_lines_of_json_have_the_rows_of_the_object(self):
        for text in (self.bench("-o", "json"), "[" + ",".join(self.bench("-o", "jsonl").splitlines()) + "]"):
            rows = json.loads(text)
            self.assertEqual([row["test"] for row in rows], NAMES)
        self.assertEqual(sorted(rows[0]), sorted(json.loads(self.bench("--json"))["tests"][0]))

    def test_sql_is_what_a_database_takes_twice(self):
        statements = self.bench("-o", "sql", "-oe", "csv", "-q")
        database = sqlite3.connect(":memory:")
        for _ in range(2):
            database.executescript(statements)
        rows = database.execute("SELECT test, typeof(avg_ns), avg_ts IS NULL FROM promptcache_bench").fetchall()
        self.assertEqual(rows, 2 * [(name, "integer", int(name.startswith("ttft"))) for name in NAMES])
        self.assertEqual([row["test"] for row in csv.DictReader(io.StringIO(self.err))], NAMES)
        self.assertEqual(self.bench("-o", "none", "-q"), "")

    def test_each_model_is_measured_with_each_type_and_number_of_threads(self):
        rows = json.loads(self.command("bench", "-m", f"{MODEL},{QUANTISED}", "--kv-type", "bf16,q8", "-t", "1-2", "-p", "8",
                                       "-n", "0", "-pg", "8,2", "--cached", "0", "-r", "1", "-o", "json"))
        self.assertEqual([(row["model_filename"], row["type_k"], row["n_threads"], row["test"]) for row in rows],
                         [(model, kind, threads, test) for model in (MODEL, QUANTISED) for kind in ("bf16", "q8")
                          for threads in (1, 2) for test in ("pp8", "pp8+tg2")])
        self.assertEqual(self.err.count("\n"), 16)
        self.assertEqual(self.err.splitlines()[-1], "16/16 pp8+tg2")

    def test_what_has_no_meaning_here_is_named_and_changes_nothing(self):
        self.bench("-ngl", "99", "-fa", "1", "-ctk", "f16", "--list_devices=false", "-b", "2048")
        remarks = [line for line in self.err.splitlines() if line.startswith("promptcache bench: remark: ")]
        self.assertEqual([re.search(r"remark: (\S+)", line)[1] for line in remarks],
                         ["--batch-size", "--n-gpu-layers", "--flash-attn", "attention"])
        self.bench("-ngl", "99", "-q")
        self.assertEqual(self.err, "")

    def test_a_delay_is_waited_for_before_each_test(self):
        begin = time.monotonic()
        self.bench("--delay", "1", "-p", "0", "-r", "1", "--no-warmup", "--prio", "-1", "-C", "0xffffffff")
        self.assertGreaterEqual(time.monotonic() - begin, 3)  # tg4, ttft3 and the batch

    def test_devices_and_the_version_need_no_model(self):
        self.assertIn("  CPU: ", self.command("bench", "--list-devices"))
        self.assertEqual(self.command("bench", "--version"), self.command("--version"))
        self.command("bench", expect=2)
        self.assertEqual(self.err, "error: --model is required; see promptcache bench --help\n")

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

    def test_what_was_measured_before_an_error_is_printed(self):
        self.command("bench", "-m", MODEL, "-t", "1,100000", "-p", "8", "-n", "0", "--cached", "0", "-r", "1", "-o", "csv",
                     expect=2)
        self.assertEqual([(row["test"], row["n_threads"]) for row in csv.DictReader(io.StringIO(self.out))], [("pp8", "1")])
        self.assertIn("error: ", self.err)

    def test_what_cannot_be_meant_is_refused_before_anything_is_measured(self):
        for line in (["-r", "0"], ["-o", "xml"], ["-p", "x"], ["-p", "-1"], ["--new", "0"],
                     ["-p", "0", "-n", "0", "--cached", "0"]):
            self.engine("bench", *line, expect=2)
            self.assertEqual(self.out, "")
        self.engine("bench", "-d", "5000", expect=1)
        self.assertIn("pp512 @ d5000 takes 5513 tokens, the context window has 4096", self.err)
        self.engine("bench", "-c", "64", expect=1)
        # Of several models, too, before the first of them is measured.
        self.command("bench", "-m", f"{MODEL},missing.gguf", "-p", "8", expect=4)
        self.assertEqual((self.out, self.err), ("", "error: missing.gguf: no such file or folder\n"))


class Compare(CommandTest):
    def compare(self, *arguments, **options):
        return self.command("bench", "compare", *arguments, **options)

    def rows(self, seconds, **fields):
        """A report with one test of a sample each."""
        row = {"n_prompt": 16, "n_gen": 0, "n_depth": 0, "samples_ns": [int(s * 1e9) for s in seconds], **fields}
        return json.dumps([row])

    def test_a_report_compared_with_itself_is_within_the_noise(self):
        report = self.write("a.json", self.engine("bench", *SMALL, "-r", "5", "-o", "json"))
        text = self.compare(report, report, "--fail-slower", "0")
        self.assertEqual(text.count("within the noise"), len(NAMES) + 1)
        self.assertNotIn("DIFFERENT", text)
        self.assertIn("4 tests, 0 faster, 0 slower, 4 within the noise\n", text)
        tests = json.loads(self.compare(report, report, "--json"))["tests"]
        self.assertEqual([(t["test"], t["ratio"], t["verdict"]) for t in tests],
                         [(name, 1, "within the noise") for name in NAMES])

    def test_slower_is_said_and_fails_where_it_is_asked_for(self):
        before = self.write("before.json", self.rows([1.00, 1.01, 1.02, 1.03, 1.04]))
        after = self.write("after.json", self.rows([1.20, 1.21, 1.22, 1.23, 1.24]))
        text = self.compare(before, after)
        self.assertRegex(text, r"pp16 .* 0\.836  .*  0\.0079  slower\n")
        self.compare(before, after, "--fail-slower", "20")
        self.assertEqual(self.compare(before, after, "--fail-slower", "10", expect=1), text)
        self.assertEqual(self.err, "")
        self.assertIn("faster\n", self.compare(after, before, "--fail-slower", "0"))
        few = self.write("few.json", self.rows([9]))
        self.assertIn("too few samples", self.compare(before, few, "--fail-slower", "0"))

    def test_lines_of_llama_bench_are_read_and_its_machine_is_told(self):
        facts = {"build_commit": "abc", "build_number": 7, "cpu_info": "Far CPU", "model_filename": "x.gguf"}
        theirs = self.write("theirs.jsonl", self.rows([1, 2, 3, 4, 5], **facts)[1:-1] + "\n")
        ours = self.write("ours.jsonl", self.engine("bench", *SMALL, "-r", "5", "-o", "jsonl"))
        text = self.compare(theirs, ours)
        self.assertIn("DIFFERENT MACHINES: cpu_info is Far CPU in " + theirs, text)
        self.assertIn("DIFFERENT MODELS: model_filename is x.gguf", text)
        self.assertRegex(text, "DIFFERENT PROGRAMS: program is llama.cpp abc \\(7\\) in .*, promptcache ")
        self.assertIn(f"only in {ours}: tg4\n", text)

    def test_what_cannot_be_compared_is_refused_with_its_place(self):
        good = self.write("good.json", self.rows([1]))
        bad = self.write("bad.jsonl", self.rows([1])[1:-1] + "\n{\n")
        self.assertEqual(self.compare(good, bad, expect=1), "")
        self.assertIn(f"{bad}:2: error: the line cannot be read", self.err)
        self.assertIn("it must be what promptcache bench or llama-bench writes", self.err)
        other = self.write("other.json", self.rows([1], n_gen=4))
        self.compare(good, other, expect=1)
        self.assertIn(f"no test of {good} is in {other}: measure both with the same -p, -n, -pg and -d", self.err)
        self.compare(good, "missing.json", expect=1)
        self.assertIn("missing.json cannot be read", self.err)
        for line in ([good], [good, good, good], [good, good, "--fail-slower", "101"]):
            self.compare(*line, expect=2)
        self.assertEqual(self.err.count("\n"), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
