"""bench/peers/today.py: its rows, what is new in a first token, how a setting is chosen, and its page."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

import places

sys.path[:0] = [str(places.SOURCE / "bench"), str(places.SOURCE / "bench/peers")]
import completion_server
import installed
import report
import today
import today_engines
import today_rows
import today_table

HOST = {"cpu": "Made-up", "family": "1", "model": "2", "cores": 2, "kernel": "6.1", "memory_gib": 8.0,
        "governor": "performance", "virtual": False}
MACHINE = {"read_gb_per_s": 30.0, "f32_gflops": 100.0, "bf16_gflops": 200.0, "int8_gops": 400.0}
MODEL = {"vocab_size": 10, "d_model": 10, "parameters": 1000, "weight_bytes": 1000, "kv_bytes_per_token": 2,
         "tied_embeddings": False, "weight_types": ["Q8_0"], "layers": 1, "heads": 1, "head_dim": 10, "kv_type": "bf16"}


def samples(*seconds, **facts):
    return [{"s": s, **facts} for s in seconds]


def row(kind="prefill", n=512, depth=0, **engines):
    facts = today_rows.Row(kind, n, depth).facts()
    return {**facts, "floors_s": [0.25, 0.5, 0.75], "samples": engines}


def result(*rows, **facts):
    return {"file": "m.gguf", "threads": 2, "turns": 3, "host": HOST, "loads": [0.1, 0.4], "machines": [MACHINE] * 3,
            "engines": {"promptcache": "promptcache 1", "llama.cpp": "llama.cpp b1", "promptcache serve": "serve"},
            "missing": {}, "rows": list(rows), **facts}


class Rows(unittest.TestCase):
    def test_titles_and_what_a_second_is_of(self):
        found = {r.title: (r.rate_of, r.computed) for r in today_rows.rows_of(today_rows.KINDS)}
        self.assertEqual(found["prefill 4096"], (4096, 4096))
        self.assertEqual(found["decode, depth 2048"], (1, 1))
        self.assertEqual(found["first token, 16 new behind 4096"], (0, 16))
        self.assertEqual(found["16 answers together behind 2048"], (1, 32))
        self.assertEqual(len(found), 8)

    def test_what_is_decoded_together_reads_weights_and_what_is_shared_once(self):
        slow = {**MACHINE, "read_gb_per_s": 1e-3}  # so that bytes decide
        alone, together = (today_rows.Row(kind, 32, 2048).floor_s(slow, MODEL) for kind in ("decode", "together"))
        weights, states = 1000 * (1 - 100 / 1000), 2.0
        self.assertAlmostEqual(alone, (weights + states * 2048) / 1e6)
        self.assertAlmostEqual(together, (weights + states * (2048 + 16 * 16)) / 16 / 1e6)

    def test_embeddings_that_are_the_last_matrix_are_read(self):
        slow = {**MACHINE, "read_gb_per_s": 1e-3}
        row = today_rows.Row("decode", 32, 0)
        self.assertAlmostEqual(row.floor_s(slow, MODEL), 900 / 1e6)
        self.assertAlmostEqual(row.floor_s(slow, {**MODEL, "tied_embeddings": True}), 1000 / 1e6)

    def test_what_is_decoded_together_multiplies_for_each(self):
        fast = {**MACHINE, "read_gb_per_s": 1e9}
        alone, together = (today_rows.Row(kind, 32, 2048).floor_s(fast, MODEL) for kind in ("decode", "together"))
        self.assertLess(abs(together / alone - 1), 0.01)  # whose queries see half an answer more

    def test_shorter_rows_keep_what_is_new(self):
        self.assertEqual([(r.n, r.depth) for r in today_rows.rows_of(("first",), 8)], [(16, 512), (64, 512)])

    def test_new_tokens_begin_differently_each_time(self):
        tokens = [i % 50 for i in range(9000)]  # every token comes again and again
        texts = [today_rows.new_tokens(tokens, 4096, 16, number) for number in range(8)]
        beginnings = [text[0] for text in texts] + [tokens[4096]]
        self.assertEqual(len(set(beginnings)), 9)
        self.assertEqual({len(text) for text in texts}, {16})

    def test_a_text_that_is_too_short_is_said(self):
        with self.assertRaisesRegex(ValueError, "4100 tokens of text are too few"):
            today_rows.new_tokens(list(range(4100)), 4096, 16, 0)


class Page(unittest.TestCase):
    def cells(self, title, *rows, **facts):
        lines = list(today_table.table(result(*rows, **facts)))
        line = next(line for line in lines if line.startswith(f"| {title} "))
        names = [cell.strip() for cell in lines[0].split("|")[2:-1]]
        return dict(zip(names, (cell.strip() for cell in line.split("|")[2:-1])))

    def test_medians_ranges_ratios_and_the_floor(self):
        found = self.cells("prefill 512", row(promptcache={"": samples(1, 2, 4)},
                                              **{"llama.cpp": {"a": samples(9), "b": samples(4, 6, 8)}}))
        self.assertEqual(found["promptcache"], "256 (128 to 512)")
        self.assertEqual(found["llama.cpp"], "85 (64 to 128); **3.00×**")
        self.assertEqual(found["floor (reached)"], "1024 (25 %)")

    def test_the_fastest_setting_counts_and_is_named(self):
        one = row(promptcache={"": samples(1)}, **{"llama.cpp": {"slow": samples(9), "fast": samples(3)}})
        self.assertEqual(today_table.best(one, "llama.cpp"), ("fast", [3]))
        self.assertEqual(today_table.chosen(result(one), "llama.cpp"), "fast: prefill 512")

    def test_a_rate_is_that_of_the_median_second(self):
        found = self.cells("prefill 512", row(promptcache={"": samples(1)}, **{"llama.cpp": {"": samples(2, 6)}}))
        self.assertEqual(found["llama.cpp"], "128 (85 to 256); **4.00×**")

    def test_a_setting_that_all_turns_had_counts(self):
        one = row(promptcache={"": samples(1)}, **{"llama.cpp": {"lucky": samples(1.9), "kept": samples(2, 3, 4)}})
        self.assertEqual(today_table.best(one, "llama.cpp"), ("kept", [2, 3, 4]))

    def test_the_setting_of_the_first_turn_stays(self):
        rows = today_rows.rows_of(("prefill",))
        measured, engine = today.Measured(rows, {}), type("Engine", (), {"name": "x"})()
        for setting, first in (("a", 2.0), ("b", 3.0)):
            measured.add(rows[0], "x", setting, {"s": first})
        measured.add(rows[0], "x", "a", {"s": 9.0})
        self.assertEqual(measured.settings(rows[0], engine), ["a"])

    def test_a_servers_first_token_stands_beside_our_servers(self):
        one = row("first", 16, 4096, promptcache={"": samples(0.1)}, OpenVINO={"": samples(0.3)},
                  **{"promptcache serve": {"": samples(0.2)}, "llama.cpp": {"a": samples(0.8)}})
        engines = dict.fromkeys(("promptcache", "promptcache serve", "llama.cpp", "OpenVINO"), "")
        found = self.cells("first token, 16 new behind 4096", one, engines=engines)
        self.assertEqual(found["llama.cpp"], "0.800 s; **4.00×**")
        self.assertEqual(found["OpenVINO"], "0.300 s; **3.00×**")

    def test_what_was_not_measured_is_empty_and_why_is_said(self):
        found = result(row(promptcache={"": samples(1)}), missing={"ik_llama.cpp": "it does not build"})
        self.assertIn("* ik_llama.cpp is missing: it does not build", list(today_table.page(found)))

    def test_a_server_that_computed_more_than_what_is_new_is_reported(self):
        one = row("first", 16, 4096, **{"promptcache serve": {"": samples(0.2, computed=16, text="ab")},
                                        "llama.cpp": {"a": samples(0.8, computed=2000, text="abc")},
                                        "OpenVINO": {"a": samples(0.8, text="ax")}})
        self.assertEqual(list(today_table.checks(result(one))), [
            "first token, 16 new behind 4096: llama.cpp (a) computed up to 1984 tokens more than the new ones",
            "first token, 16 new behind 4096: llama.cpp (a) answers as promptcache serve does",
            "first token, 16 new behind 4096: OpenVINO (a) answers 'ax', promptcache serve 'ab'"])

    def test_the_report_has_the_page_of_each_step(self):
        steps = {"today": result(row(promptcache={"": samples(1)})), "shape-today": result(file="random.gguf")}
        text = "\n".join(report.today_section(steps))
        self.assertIn("m.gguf, 2 threads each; 3 turns.", text)
        self.assertIn("random.gguf", text)
        self.assertEqual(list(report.today_section({})), [])


class Kept(unittest.TestCase):
    FACTS = {"cpu": "Made-up (family 1)", "threads": 2, "memory_gib": 8, "commit": "new", "peer": None,
             "shape": "1.1B", "quick": False,
             "promptcache": {"version": "1", "compiler": "c", "matrix": "m", "isa": "x"}}

    def test_steps_of_a_page_outlive_a_run_of_another_step(self):
        with tempfile.TemporaryDirectory() as folder:
            kept, results = Path(folder) / "kept", Path(folder) / "results"
            kept.mkdir()
            results.mkdir()
            page = results / "made-up-family-1.json"
            page.write_text(json.dumps({"facts": {**self.FACTS, "commit": "old"},
                                        "steps": {"shape-today": result(file="random.gguf"),
                                                  "today": result(file="before.gguf")}}))
            (kept / "facts.json").write_text(json.dumps(self.FACTS))
            (kept / "today.json").write_text(json.dumps({**result(), "commit": "new", "measured": "2026-01-31"}))
            report.take_up(self.FACTS, results, kept)
            report.write(kept, results)
            steps = json.loads(page.read_text())["steps"]
            self.assertEqual({name: (step["file"], step["commit"]) for name, step in steps.items()},
                             {"shape-today": ("random.gguf", "old"), "today": ("m.gguf", "new")})
            self.assertIn("* measured at old: shape-today", page.with_suffix(".md").read_text())


    def test_what_was_measured_last_is_kept(self):
        for own, page, kept_is in (("", "", "page"), ("2026-02-01", "2026-01-31", "own"),
                                   ("2026-01-31", "2026-02-01", "page"), ("2026-01-31", "", "own")):
            with tempfile.TemporaryDirectory() as folder:
                folder = Path(folder)
                (folder / "today.json").write_text(json.dumps({"commit": "own", "measured": own}))
                (folder / "made-up-family-1.json").write_text(json.dumps(
                    {"facts": self.FACTS, "steps": {"today": {"commit": "page", "measured": page}}}))
                report.take_up(self.FACTS, folder, folder)
                self.assertEqual(json.loads((folder / "today.json").read_text())["commit"], kept_is)


class Servers(unittest.TestCase):
    def test_counters_of_the_last_event(self):
        end = {"stop": True, "timings": {"cache_n": 4096, "prompt_n": 16, "predicted_n": 1, "predicted_ms": 9.5}}
        self.assertEqual(completion_server.counted(end),
                         {"cached": 4096, "computed": 16, "predicted": 1, "predicted_ms": 9.5})
        self.assertIsNone(completion_server.counted({})["computed"])

    def test_events_of_a_stream(self):
        lines = iter([b'data: {"content": "a"}\n', b"\n", b": ping\n", b"data: [DONE]\n", b""])
        response = type("Response", (), {"readline": lambda self: next(lines)})()
        self.assertEqual(list(completion_server.events(response)), [{"content": "a"}])

    def test_an_answer_has_its_last_event(self):
        whole = [{"content": "a"}, {"stop": True, "timings": {"prompt_n": 3}}]
        self.assertEqual(completion_server.answer_of(whole, 0.0)["computed"], 3)
        with self.assertRaisesRegex(completion_server.Error, "broke off"):
            completion_server.answer_of(whole[:1], 0.0)
        with self.assertRaisesRegex(completion_server.Error, "an error amid the answer: {'message': 'no memory'}"):
            completion_server.answer_of([{"content": "a"}, {"error": {"message": "no memory"}}], 0.0)

    def test_modules_that_wait(self):
        self.assertEqual(completion_server.waiting("a 1\npromptcache_modules_waiting 3\nb 2\n"), 3)
        self.assertEqual(completion_server.waiting("a 1\n"), 0)


class Answering:
    """A server that notes what it was asked."""

    def __init__(self):
        self.asked = []

    def complete(self, tokens, n_predict=1, cache=True):
        self.asked.append((tuple(tokens), n_predict))
        return {"s": 0.5, "text": f"{n_predict} tokens", "cached": 0, "computed": len(tokens)}


class FirstTokens(unittest.TestCase):
    def setUp(self):
        tokens = list(range(9000))
        context = type("Context", (), {"tokens": tokens, "new": lambda self, row, turn, warms_up=False: [
            100 * warms_up + turn + 1] * row.n})()
        self.engine = today_engines.Served(context)
        self.engine.server = lambda setting: self.server
        self.server = Answering()
        self.row = today_rows.Row("first", 16, 512)

    def test_the_beginning_is_computed_once_and_before(self):
        for turn in range(2):
            self.engine.first(self.row, "a", turn)
        self.assertEqual([(len(tokens), n) for tokens, n in self.server.asked],
                         [(512, 1), (528, 1), (528, 1), (528, today_engines.ANSWER), (528, 1), (528, 1)])

    def test_what_warms_up_has_another_end(self):
        self.engine.first(self.row, "a", 0)
        self.assertEqual([tokens[512:513] for tokens, _ in self.server.asked[1:3]], [(101,), (1,)])

    def test_a_text_is_that_of_the_longer_answer(self):
        self.assertEqual(self.engine.first(self.row, "a", 0)["text"], "8 tokens")
        self.assertNotIn("text", self.engine.first(self.row, "a", 1))

    def test_rows_of_one_turn_have_new_texts_of_their_own(self):
        a = type("Arguments", (), {"model": Path("m"), "threads": 1, "build": Path("b"), "peers": Path("p")})
        context = today_engines.Context(a, Path("f"), [i % 700 for i in range(9000)])
        rows = today_rows.rows_of(("first",), 8)
        beginnings = [context.new(row, turn, warms_up)[0] for turn in range(3) for row in rows
                      for warms_up in (False, True)]
        self.assertEqual(len(set(beginnings)), 12)


class Installed(unittest.TestCase):
    CPUINFO = "processor : 0\nflags\t\t: fpu avx2 avx512f{}\nbugs : none\n"

    def test_tiles_ask_for_their_own_compiler(self):
        plain = installed.flags_of(self.CPUINFO.format(""))
        tiles = installed.flags_of(self.CPUINFO.format(" amx_bf16 amx_tile amx_int8"))
        self.assertEqual(installed.options_of("llama.cpp", plain)["GGML_NATIVE"], "ON")
        options = installed.options_of("llama.cpp", tiles)
        self.assertEqual((options["GGML_NATIVE"], options["GGML_AMX_INT8"]), ("OFF", "ON"))
        self.assertIn("sapphirerapids", options["CMAKE_CXX_FLAGS"])

    def test_avx2_is_avx2_on_every_machine(self):
        tiles = installed.flags_of(self.CPUINFO.format(" amx_bf16 amx_tile amx_int8"))
        options = installed.options_of("llama.cpp-avx2", tiles)
        self.assertEqual(options, installed.options_of("llama.cpp-avx2", frozenset()))
        self.assertFalse([name for name in options if "AVX512" in name or "AMX" in name])


if __name__ == "__main__":
    unittest.main()
