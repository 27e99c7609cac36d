#!/usr/bin/env python3
"""Runs the promptcache command as a user does.

    command_test.py COMMAND TINY_MODEL

TINY_MODEL is a folder made by tiny_model.py; one token of it is one byte.
The shipped model and its example are tried too where they exist.
"""
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

COMMAND, MODEL = sys.argv[1:3]
SOURCE = pathlib.Path(os.environ.get("PC_SOURCE_DIR", pathlib.Path(__file__).parents[2]))

SCHEMA = """<schema name="guide">
  <system>You are a guide.</system>
  <module name="trip">Plan a trip of <param name="days" len="8"/> for one.</module>
  <union>
    <module name="oslo">Oslo lies by the fjord.</module>
    <module name="rome" cache="false">Rome lies by the river.</module>
  </union>
  <module name="food">Eat well. <module name="fish">Try the fish.</module></module>
  <scaffold name="both" modules="trip oslo"/>
</schema>
"""
PROMPTS = {
    "all": '<prompt schema="guide"><trip days="3 days"/><oslo/><food><fish/></food><user>Where to?</user></prompt>',
    "uncached": '<prompt schema="guide"><rome/><user>Where to?</user></prompt>',
    "nothing": '<prompt schema="guide"><user>Hello!</user></prompt>',
    "ends with a module": '<prompt schema="guide">Read this:<food/></prompt>',
    "text between": '<prompt schema="guide"><trip/>And then: <food>first this: <fish/></food><user>So?</user></prompt>',
}


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="command_test."))
        self.addCleanup(shutil.rmtree, self.dir)
        self.cache = self.dir / "cache"
        self.schema = self.write("guide.pml", SCHEMA)
        self.prompt = self.write("prompt.pml", PROMPTS["all"])
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("PROMPTCACHE_")}
        # The model is tiny: more threads would only wait for each other.
        self.environment |= {"PROMPTCACHE_CACHE_DIR": str(self.cache), "OMP_NUM_THREADS": "1"}

    def write(self, name, text):
        path = self.dir / name
        path.write_text(text)
        return str(path)

    def start(self, *arguments, **options):
        # A Ctrl-C that the caller of this test ignores must reach the command all the same.
        return subprocess.Popen([COMMAND, *arguments], env=self.environment, cwd=self.dir, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **options)

    def command(self, *arguments, expect=0, stdin=""):
        process = self.start(*arguments, stdin=subprocess.PIPE)
        out, err = process.communicate(stdin, timeout=120)
        self.assertEqual(process.returncode, expect, f"{arguments}\n{out}\n{err}")
        self.out, self.err = out, err
        return out

    def engine(self, verb, *arguments, **options):
        return self.command(verb, "-m", MODEL, "-t", "1", *arguments, **options)

    def verb(self, verb, *arguments, **options):
        return self.engine(verb, "-s", self.schema, *arguments, **options)

    def json(self, *arguments, **options):
        return json.loads(self.command(*arguments, "--json", **options))

    def verb_json(self, verb, *arguments, **options):
        return json.loads(self.verb(verb, *arguments, "--json", **options))


class Help(CommandTest):
    VERBS = ["run", "encode", "check", "explain", "cache", "cache ls", "cache show", "cache verify", "cache rm",
             "cache gc", "model", "model info", "tokenize", "version"]

    def test_every_verb_has_help_of_80_columns_with_an_example(self):
        for verb in self.VERBS:
            text = self.command(*verb.split(), "--help")
            self.assertLessEqual(max(map(len, text.splitlines())), 80, verb)
            if verb not in ("cache", "model"):
                self.assertIn(f"  promptcache {verb}", text)

    def test_every_flag_names_its_variable(self):
        for verb in self.VERBS:
            text = self.command(*verb.split(), "--help")
            flags = re.findall(r"^  (?:-\w, )?--([a-z-]+)", text, re.M)
            for flag in set(flags) - {"help", "all"}:
                self.assertIn("[PROMPTCACHE_" + flag.upper().replace("-", "_") + "]", text, verb)

    def test_usage_errors_end_with_2_and_print_nothing_on_stdout(self):
        for line in (["run"], ["bogus"], ["cache", "bogus"], ["version", "extra"], ["--bogus"],
                     ["run", "-m", MODEL, "-s", self.schema],
                     ["run", "-m", MODEL, "-s", self.schema, "-n", "0", self.prompt],
                     ["run", "-m", MODEL, "-s", self.schema, "--top-p", "2", self.prompt],
                     ["run", "-m", MODEL, "-s", self.schema, "--kv-type", "q8", self.prompt],
                     ["run", "-m", MODEL, "-s", self.schema, "--cache-size", "5Q", self.prompt],
                     ["run", "-m", MODEL, "-s", self.schema, "--cache-size", "0", self.prompt],
                     ["run", "-m", MODEL, "-s", self.schema, "--chat-template", "bogus", self.prompt],
                     ["run", "-m", MODEL, "-s", self.schema, "-c", "1000000", self.prompt],
                     ["run", "-m", MODEL, "-s", self.schema, "--no-cache", "--compare", self.prompt],
                     ["cache", "rm"], ["cache", "rm", "--all", "00"]):
            self.assertEqual(self.command(*line, expect=2), "", line)
            self.assertTrue(self.err.startswith("error: "), self.err)
            self.assertEqual(self.err.count("\n"), 1, self.err)

    def test_without_a_verb_the_help_is_on_stderr(self):
        for group in ([], ["cache"], ["model"]):
            self.assertEqual(self.command(*group, expect=2), "")
            self.assertIn("Verbs:", self.err)


class Environment(CommandTest):
    def test_variables_stand_for_flags(self):
        self.environment |= {"PROMPTCACHE_MODEL": MODEL, "PROMPTCACHE_SCHEMA": self.schema,
                             "PROMPTCACHE_PROMPT": self.prompt, "PROMPTCACHE_JSON": "1",
                             "PROMPTCACHE_MAX_TOKENS": "3", "PROMPTCACHE_QUIET": "true"}
        answer = json.loads(self.command("run"))
        self.assertEqual(len(answer["tokens"]), 3)
        self.assertEqual(self.err, "")

    def test_the_flag_wins(self):
        self.environment["PROMPTCACHE_MAX_TOKENS"] = "3"
        self.assertEqual(len(self.verb_json("run", self.prompt, "-n", "5")["tokens"]), 5)
        self.environment["PROMPTCACHE_THREADS"] = "nonsense"
        self.verb("run", self.prompt)

    def test_a_wrong_variable_is_a_usage_error_and_only_of_verbs_that_read_it(self):
        self.environment["PROMPTCACHE_THREADS"] = "nonsense"
        self.command("tokenize", "-m", MODEL, "x", expect=2)
        self.assertIn("--threads", self.err)
        self.command("version")


class Run(CommandTest):
    def test_the_answer_is_on_stdout_and_the_statistics_on_stderr(self):
        text = self.verb_json("run", self.prompt, "-n", "8", "--no-cache")["text"]
        self.assertEqual(self.verb("run", self.prompt, "-n", "8", "--no-cache"), text + "\n" * (text[-1:] != "\n"))
        self.assertIn("TTFT", self.err)
        self.verb("run", self.prompt, "-n", "8", "-q")
        self.assertEqual(self.err, "")

    def test_the_prompt_may_be_a_flag_a_positional_or_the_standard_input(self):
        answers = {self.verb("run", "-n", "4", *how, stdin=PROMPTS["all"])
                   for how in ([self.prompt], ["-p", self.prompt], ["-"], ["-p", "-"])}
        self.assertEqual(len(answers), 1)

    def test_no_cache_computes_everything_and_touches_no_store(self):
        stats = self.verb_json("run", self.prompt, "-n", "2", "--no-cache")["stats"]
        self.assertEqual((stats["cached_tokens"], stats["modules_found"]), (0, 0))
        self.assertEqual(stats["computed_tokens"], stats["prompt_tokens"])
        self.assertFalse(self.cache.exists())

    def test_the_second_run_uses_what_the_first_stored_and_answers_the_same(self):
        first = self.verb_json("run", self.prompt, "-n", "16")
        second = self.verb_json("run", self.prompt, "-n", "16")
        self.assertGreater(first["stats"]["modules_encoded"], 0)
        self.assertEqual(second["stats"]["modules_encoded"], 0)
        self.assertEqual(first["tokens"], second["tokens"])
        self.assertEqual(first["text"], second["text"])

    def test_a_read_only_cache_gets_no_file(self):
        self.verb("encode")
        self.json("cache", "rm", "--all")
        stats = self.verb_json("run", self.prompt, "-n", "2", "--read-only-cache")["stats"]
        self.assertGreater(stats["modules_encoded"], 0)
        self.assertEqual(self.json("cache", "ls")["files"], [])

    def test_namespaces_share_nothing(self):
        self.verb("encode", "--namespace", "one")
        self.assertGreater(self.verb_json("encode", "--namespace", "two")["modules_encoded"], 0)
        self.assertEqual(self.verb_json("encode", "--namespace", "one")["modules_encoded"], 0)

    def test_a_seed_gives_the_same_answer_again(self):
        sampled = ["run", self.prompt, "-n", "12", "--temp", "1.5", "--top-k", "50", "--top-p", "0.95", "--min-p",
                   "0.01", "--repeat-penalty", "1.1", "--seed"]
        one, same, other = (self.verb_json(*sampled, seed)["tokens"] for seed in ("1", "1", "2"))
        self.assertEqual(one, same)
        self.assertNotEqual(one, other)

    def test_a_stop_string_ends_the_answer_and_is_not_in_it(self):
        whole = self.verb_json("run", self.prompt, "-n", "40")["text"]
        stop = whole[len(whole) // 2]
        answer = self.verb_json("run", self.prompt, "-n", "40", "--stop", "never this", "--stop", stop)
        self.assertEqual(answer["stats"]["finish"], "stop")
        self.assertEqual(answer["text"], whole[:whole.index(stop)])

    def test_compare_shows_both_answers(self):
        report = self.verb_json("run", self.prompt, "-n", "6", "--compare")
        full, first, again = (report[k] for k in ("full_prefill", "first_reuse", "next_reuse"))
        self.assertEqual(full["stats"]["cached_tokens"], 0)
        self.assertGreater(again["stats"]["cached_tokens"], 0)
        self.assertGreater(first["stats"]["modules_encoded"], 0)
        self.assertEqual(again["stats"]["modules_encoded"], 0)
        self.assertTrue(report["reuse_repeats"])
        self.assertEqual(report["agree"], full["text"] == again["text"])
        text = self.verb("run", self.prompt, "-n", "6", "--compare")
        self.assertIn("full prefill", text)
        self.assertRegex(text, "answers (agree|differ)")

    def test_one_module_behind_the_prefix_answers_as_a_full_prefill_does(self):
        schema = self.write("no-parameter.pml", SCHEMA.replace(' <param name="days" len="8"/>', ""))
        one = self.write("one.pml", '<prompt schema="guide"><trip/><user>Where?</user></prompt>')
        report = json.loads(self.engine("run", "-s", schema, one, "--kv-type", "f32", "-n", "20", "--compare", "--json"))
        self.assertTrue(report["agree"], report)


class Explain(CommandTest):
    def compare_with_run(self, *flags):
        plan = self.verb_json("explain", *flags)
        stats = self.verb_json("run", "-n", "1", *flags)["stats"]
        for key in ("prompt_tokens", "cached_tokens", "computed_tokens"):
            self.assertEqual(plan[key], stats[key], (flags, plan))
        self.assertEqual(sum(m["state"] == "miss" for m in plan["modules"]), stats["modules_encoded"])
        self.assertEqual(len(plan["modules"]), stats["modules_found"])
        self.assertEqual(sum(r["tokens"] for r in plan["runs"]), plan["prompt_tokens"])
        self.assertEqual(sum(r["bytes"] for r in plan["runs"]), stats["cached_bytes"])
        return plan

    def test_it_says_what_the_run_then_does(self):
        for name, text in PROMPTS.items():
            prompt = self.write("prompt.pml", text)
            for _ in range(2):  # before and after the modules are stored
                with self.subTest(name):
                    self.compare_with_run(prompt)

    def test_hits_and_misses_have_reasons(self):
        plan = self.compare_with_run(self.prompt)
        self.assertEqual({m["reason"] for m in plan["modules"]}, {"not-encoded"})
        self.assertEqual({m["state"] for m in self.compare_with_run(self.prompt)["modules"]}, {"hit"})
        self.damage_one()
        states = [m["state"] for m in self.compare_with_run(self.prompt)["modules"]]
        self.assertEqual(states.count("miss"), 1)

    def damage_one(self):
        used = {m["key"] for m in self.verb_json("explain", self.prompt)["modules"]}
        path = next(p for p in sorted(self.cache.rglob("*.module")) if p.stem in used)
        path.chmod(0o600)
        data = bytearray(path.read_bytes())
        data[100] ^= 1
        path.write_bytes(data)

    def test_it_computes_and_stores_nothing(self):
        self.verb("explain", self.prompt)
        self.assertEqual(self.json("cache", "ls")["files"], [])

    def test_the_text_shows_each_run_and_the_totals(self):
        plan = self.verb_json("explain", self.prompt)
        text = self.verb("explain", self.prompt)
        self.assertIn(f"{plan['prompt_tokens']} prompt tokens: {plan['cached_tokens']} from modules, "
                      f"{plan['computed_tokens']} to compute", text)
        for name in ("trip.days", "oslo", "food/fish"):
            self.assertIn(name, text)


class Check(CommandTest):
    def test_the_table_has_tokens_and_bytes_of_each_module(self):
        report = self.verb_json("check", self.prompt)
        fish = next(m for m in report["schema"]["modules"] if m["path"] == "food/fish")
        self.assertGreaterEqual(fish["tokens"], len("Try the fish."))
        self.assertGreater(fish["bytes"], 0)
        self.assertEqual(report["errors"], [])
        text = self.verb("check", self.prompt)
        self.assertRegex(text, rf"food/fish +\d+ +{fish['tokens']} +[\d.]+ KiB")
        self.assertIn(f"{self.prompt}: {report['prompts'][0]['prompt_tokens']} tokens", text)
        self.assertFalse(self.cache.exists())

    def test_errors_have_the_form_of_a_compiler_and_end_with_3(self):
        wrong = {
            "unknown.pml": ('<prompt schema="guide">\n  <trup/>\n</prompt>', "2:3"),
            "syntax.pml": ('<prompt schema="guide">\n<trip></prompt>', r"2:\d+"),
            "other.pml": ('<prompt schema="other"/>', r"1:\d+"),
        }
        for name, (text, place) in wrong.items():
            self.write(name, text)
            for verb in ("check", "run", "explain"):
                self.verb(verb, name, expect=3)
                self.assertRegex(self.err, rf"^{re.escape(name)}:{place}: error: .+\n$", verb)
        self.verb("run", "-", stdin="<prompt", expect=3)
        self.assertTrue(self.err.startswith("<stdin>:1:"), self.err)

    def test_one_wrong_prompt_does_not_hide_the_next(self):
        for name in ("a.pml", "b.pml"):
            self.write(name, f'<prompt schema="guide"><{name[0]}/></prompt>')
        report = self.verb_json("check", "a.pml", self.prompt, "b.pml", expect=3)
        self.assertEqual([e["file"] for e in report["errors"]], ["a.pml", "b.pml"])
        self.assertEqual([p["file"] for p in report["prompts"]], [self.prompt])

    def test_a_wrong_schema_ends_every_verb_with_3(self):
        self.write("bad.pml", '<schema name="guide">\n <module name="a">x</module>\n <module name="a">y</module>\n</schema>')
        for verb, *prompt in (["check"], ["encode"], ["run", self.prompt], ["explain", self.prompt]):
            self.engine(verb, "-s", "bad.pml", *prompt, expect=3)
            self.assertRegex(self.err, r"^bad\.pml:3:\d+: error: ")
        report = json.loads(self.engine("check", "-s", "bad.pml", "--json", expect=3))
        self.assertEqual((report["schema"], report["errors"][0]["line"]), (None, 3))

    def test_control_characters_of_a_document_do_not_reach_the_terminal(self):
        self.write("esc.pml", '<prompt schema="guide"><trip days="\u009b31m"/></prompt>')
        self.verb("explain", "esc.pml")
        self.assertNotIn("\u009b", self.out)


class Encode(CommandTest):
    def test_it_stores_every_module_once(self):
        first, second = self.verb_json("encode"), self.verb_json("encode")
        self.assertEqual(first["modules_encoded"], first["modules"])
        self.assertEqual(second["modules_encoded"], 0)
        self.assertEqual(len(self.json("cache", "ls")["files"]), first["modules"])

    def test_modules_that_the_store_cannot_keep_are_a_failure(self):
        self.verb("encode", "--cache-size", "10KiB", expect=4)
        self.assertIn("--cache-size", self.err)
        self.assertEqual(self.out, "")

    def test_progress_is_a_line_a_module_on_stderr(self):
        report = self.verb_json("encode")
        self.assertEqual(len(self.err.splitlines()), report["modules"])
        self.verb("encode", "-q")
        self.assertEqual((self.out, self.err), ("", ""))


class Cache(CommandTest):
    def setUp(self):
        super().setUp()
        self.verb("encode", "-q")
        self.files = self.json("cache", "ls")["files"]

    def test_ls_and_show_agree(self):
        text = self.command("cache", "ls")
        for f in self.files:
            self.assertIn(f["key"][:16], text)
            shown = self.json("cache", "show", f["key"][:16])
            self.assertEqual({k: shown[k] for k in ("key", "bytes", "tokens", "kv_type")},
                             {k: f[k] for k in ("key", "bytes", "tokens", "kv_type")})
            self.assertIn(f["key"], self.command("cache", "show", f["key"]))

    def test_rm_removes_what_it_is_told(self):
        one, two = self.files[0]["key"], self.files[1]["key"]
        self.assertEqual(self.json("cache", "rm", one[:16], two)["removed_files"], 2)
        self.assertEqual(len(self.json("cache", "ls")["files"]), len(self.files) - 2)
        self.command("cache", "rm", one, expect=4)
        self.assertEqual(self.json("cache", "rm", "--all")["removed_files"], len(self.files) - 2)

    def test_gc_goes_down_to_the_size(self):
        left = self.json("cache", "gc", "--cache-size", "20KiB")["left_bytes"]
        self.assertLessEqual(left, 20 * 1024)
        self.assertEqual(self.json("cache", "ls")["bytes"], left)
        self.assertEqual(self.json("cache", "gc", "--cache-size", "0")["left_bytes"], 0)

    def test_verify_names_the_damaged_file_and_ends_with_4(self):
        self.assertIn(" 0 damaged", self.command("cache", "verify"))
        path = sorted(self.cache.rglob("*.module"))[0]
        path.chmod(0o600)
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        self.assertIn(path.stem, self.command("cache", "verify", expect=4))
        self.command("cache", "verify", path.stem[:20], expect=4)
        report = self.json("cache", "verify", expect=4)
        self.assertEqual([f["key"] for f in report["files"] if not f["ok"]], [path.stem])

    def test_a_missing_store_and_an_unknown_key_end_with_4(self):
        self.command("cache", "show", "zz", expect=4)
        self.command("cache", "ls", "--cache-dir", str(self.dir / "missing"), expect=4)


class Inspect(CommandTest):
    def test_tokenize_prints_ids_and_pieces(self):
        report = self.json("tokenize", "-m", MODEL, "Hi!")
        self.assertEqual([t["id"] for t in report["tokens"]], [ord(c) for c in "Hi!"])
        self.assertEqual("".join(t["piece"] for t in report["tokens"]), "Hi!")
        self.assertEqual(self.json("tokenize", "-m", MODEL, stdin="Hi!"), report)
        self.assertEqual(self.json("tokenize", "-m", MODEL, "-", stdin="Hi!"), report)
        self.assertIn('"H"', self.command("tokenize", "-m", MODEL, "Hi!"))
        self.assertEqual(self.json("tokenize", "-m", MODEL)["count"], 0)

    def test_model_info(self):
        report = self.json("model", "info", "-m", MODEL)
        self.assertEqual((report["architecture"], report["layers"], report["kv_heads"]), ("LlamaForCausalLM", 2, 2))
        self.assertRegex(self.command("model", "info", "-m", MODEL), r"architecture +LlamaForCausalLM")
        self.assertFalse(self.cache.exists())

    def test_version(self):
        report = self.json("version")
        self.assertTrue(self.command("version").startswith("promptcache " + report["version"] + "\n"))
        self.assertEqual(self.command("--version"), report["version"] + "\n")
        self.assertIn(report["isa"]["selected"], report["isa"]["supported"])


class Failures(CommandTest):
    def test_a_missing_document_ends_with_1(self):
        self.verb("run", "missing.pml", expect=1)
        self.assertIn("missing.pml", self.err)
        self.engine("run", "-s", "missing.pml", self.prompt, expect=1)
        self.assertIn("missing.pml", self.err)

    def test_a_model_that_is_none_ends_with_4(self):
        self.command("model", "info", "-m", str(self.dir / "missing"), expect=4)
        self.command("model", "info", "-m", str(self.dir), expect=4)
        broken = self.dir / "broken"
        shutil.copytree(MODEL, broken)
        with open(broken / "model.safetensors", "r+b") as weights:
            weights.truncate(1000)
        self.command("model", "info", "-m", str(broken), expect=4)
        self.assertIn("model.safetensors", self.err)

    def test_a_prompt_beyond_the_context_ends_with_1(self):
        self.verb("run", self.prompt, "-c", "64", expect=1)
        self.assertIn("64", self.err)

    def test_an_output_that_cannot_be_written_ends_with_1(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([COMMAND, "version"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output", done.stderr)


class Terminal(CommandTest):
    def on_a_terminal(self, *line, expect=0, **environment):
        """What the command writes when both its outputs are one terminal."""
        outside, inside = pty.openpty()
        process = subprocess.Popen([COMMAND, *line], env=self.environment | environment, cwd=self.dir,
                                   stdin=subprocess.DEVNULL, stdout=inside, stderr=inside)
        os.close(inside)
        text = b""
        try:
            while chunk := os.read(outside, 1 << 16):
                text += chunk
        except OSError:  # Linux says EIO where the last writer has gone
            pass
        os.close(outside)
        self.assertEqual(process.wait(), expect, text)
        return text.decode()

    def test_encode_draws_a_bar_and_takes_it_away(self):
        text = self.on_a_terminal("encode", "-m", MODEL, "-s", self.schema, "-t", "1")
        self.assertIn("[####", text)
        self.assertRegex(text, r"\r\x1b\[K\d+ of \d+ modules encoded")
        quiet = self.on_a_terminal("encode", "-m", MODEL, "-s", self.schema, "-t", "1", "-q")
        self.assertEqual(quiet, "")

    def test_colour_is_only_for_terminals_without_no_color(self):
        line = ["run", "-m", MODEL, "-s", self.schema, "missing.pml"]
        self.assertIn("\x1b[31merror:", self.on_a_terminal(*line, expect=1))
        self.assertNotIn("\x1b", self.on_a_terminal(*line, expect=1, NO_COLOR="1"))
        self.command(*line, expect=1)
        self.assertNotIn("\x1b", self.err)

    def test_an_answer_sends_no_control_characters_to_a_terminal(self):
        line = ["run", "-m", MODEL, "-s", self.schema, self.prompt, "-t", "1", "-n", "2000", "--temp", "3", "--seed", "1"]
        self.assertRegex(self.command(*line), r"[\x00-\x08\x0b-\x1f]")  # there are some to be kept away
        self.assertNotRegex(self.on_a_terminal(*line), r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


class Remarks(CommandTest):
    def test_a_plug_in_that_is_missing_is_named_and_the_cpu_answers(self):
        line = ["run", self.prompt, "-n", "3", "--backend", "/nonexistent/plug-in.so"]
        without = self.verb("run", self.prompt, "-n", "3")
        self.assertEqual(self.verb(*line), without)
        self.assertRegex(self.err, r"^remark: .*/nonexistent/plug-in\.so")
        self.verb(*line, "-q")
        self.assertEqual(self.err, "")


class Interrupts(CommandTest):
    def finish(self, process):
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        return out, err

    def test_in_the_middle_of_encode_a_sound_store_is_left(self):
        many = "".join(f'<module name="m{i}">Module number {i}: {"words " * 50}</module>' for i in range(120))
        self.schema = self.write("many.pml", f'<schema name="many">{many}</schema>')
        process = self.start("encode", "-m", MODEL, "-s", self.schema, "-t", "1")
        process.stderr.readline()  # the first module is stored
        process.send_signal(signal.SIGINT)
        self.finish(process)
        stored = len(self.json("cache", "ls")["files"])
        self.assertTrue(0 < stored < 120, stored)
        self.assertEqual(self.json("cache", "verify")["bad"], 0)
        rest = self.verb_json("encode", "-q")
        self.assertEqual(rest["modules_encoded"], rest["modules"] - stored)

    def test_in_the_middle_of_an_answer(self):
        process = self.start("run", "-m", MODEL, "-s", self.schema, self.prompt, "-t", "1", "-n", "3500", "--stop",
                             "never this")
        process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        self.finish(process)

    def test_where_nothing_can_be_stopped_tidily_at_once(self):
        process = self.start("tokenize", "-m", MODEL, stdin=subprocess.PIPE)
        self.wait_for_handler(process.pid)
        process.send_signal(signal.SIGINT)
        self.finish(process)

    def wait_for_handler(self, pid):
        while True:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            if int(re.search(r"^SigCgt:\s*([0-9a-f]+)", status, re.M)[1], 16) & 1 << (signal.SIGINT - 1):
                return


@unittest.skipUnless((SOURCE / "models/city-guide/model.safetensors").exists(), "the demo model is not there yet")
class CityGuide(CommandTest):
    def test_every_example_prompt_repeats_itself_from_stored_modules(self):
        folder = SOURCE / "examples/city-guide"
        for prompt in sorted(folder.glob("*.pml")):
            if prompt.name == "city-guide.pml":
                continue
            line = ["run", "-m", str(SOURCE / "models/city-guide"), "-s", str(folder / "city-guide.pml"), str(prompt)]
            first, second = self.json(*line), self.json(*line)
            self.assertEqual(first["tokens"], second["tokens"], prompt)
            self.assertEqual(second["stats"]["modules_encoded"], 0)
            self.assertGreater(second["stats"]["cached_tokens"], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
