#!/usr/bin/env python3
"""Help, flags, variables, failures: how the command meets its user."""
import json
import re
import shutil
import subprocess
import sys
import unittest

from command import COMMAND, CommandTest, MODEL


class Help(CommandTest):
    VERBS = ["run", "chat", "bench", "bench compare", "encode", "check", "explain", "cache", "cache ls", "cache show",
             "cache verify", "cache rm", "cache pin", "cache unpin", "cache export", "cache import", "cache push", "cache pull", "cache sign", "cache gc", "model", "model info", "model verify", "tokenize", "version"]

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
            for flag in set(flags) - {"help", "all", "version"}:
                self.assertIn("[PROMPTCACHE_" + flag.upper().replace("-", "_") + "]", text, verb)

    def test_usage_errors_end_with_2_and_print_nothing_on_stdout(self):
        for line in (["run"], ["bogus"], ["cache", "bogus"], ["version", "extra"], ["--bogus"],
                     ["run", "-m", MODEL, "-s", self.schema],
                     ["run", "-m", MODEL, "-s", self.schema, "-n", "-1", self.prompt],
                     ["run", "-m", MODEL, "-s", self.schema, "--top-p", "2", self.prompt],
                     ["run", "-m", MODEL, "-s", self.schema, "--kv-type", "q3", self.prompt],
                     ["run", "-m", MODEL, "-s", self.schema, "--cache-size", "5Q", self.prompt],
                     ["run", "-m", MODEL, "-s", self.schema, "--cache-size", "0", self.prompt],
                     ["run", "-m", MODEL, "-s", self.schema, "--chat-template", "bogus", self.prompt],
                     ["run", "-m", MODEL, "-s", self.schema, "--chat-template", "no.json", self.prompt],
                     ["run", "-m", MODEL, "-s", self.schema, "-c", "1000000", self.prompt],
                     ["run", "-m", MODEL, "-s", self.schema, "-t", "100000", self.prompt],
                     ["run", "-m", MODEL, "-s", self.schema, "--no-cache", "--compare", self.prompt],
                     ["cache", "rm"], ["cache", "rm", "--all", "00"]):
            self.assertEqual(self.command(*line, expect=2), "", line)
            self.assertTrue(self.err.startswith("error: "), self.err)
            self.assertEqual(self.err.count("\n"), 1, self.err)

    def test_a_usage_error_names_what_was_meant_and_the_verbs_help(self):
        for line, sentence in [
                (["chta"], "promptcache has no verb chta; did you mean chat?; see promptcache --help"),
                (["cache", "lss"], "promptcache cache has no verb lss; did you mean ls?; see promptcache cache --help"),
                (["run", "--thread", "1", "x"],
                 "promptcache run has no option --thread; did you mean --threads?; see promptcache run --help"),
                (["chat", "--zzz=4"], "promptcache chat has no option --zzz; see promptcache chat --help"),
                (["-m", MODEL, "run", "hi"],
                 "options stand behind the verb: promptcache VERB -m; see promptcache --help"),
                (["cache", "--cache-dir", "/tmp/x", "ls"],
                 "options stand behind the verb: promptcache cache VERB --cache-dir; see promptcache cache --help"),
                (["chta", "run"], "promptcache has no verb chta; did you mean chat?; see promptcache --help"),
                (["run", "-m", MODEL, "-qz", "hi"], "promptcache run has no option -z; see promptcache run --help"),
                (["run", "-m", MODEL, "Why", "so?"],
                 "--prompt is given more than once: text with spaces wants quotes; see promptcache run --help"),
                (["version", "x"], '"x" is one argument too many; see promptcache version --help'),
                (["run", "-m"], "--model needs a value; see promptcache run --help"),
                (["run", "-s", "a", "-s", "b", "x"], "--schema is given more than once; see promptcache run --help"),
                (["run", "--temp", "-1e308", "x"],
                 '--temp: "-1e308" is not a number that is 0 or more; see promptcache run --help'),
                (["run", "-n", "99999999999", "x"],
                 '--max-tokens: "99999999999" is not a whole number up to 4294967295; see promptcache run --help'),
                (["run", "-t", "0", "x"],
                 '--threads: "0" is not a whole number from 1 to 4294967295; see promptcache run --help')]:
            self.command(*line, expect=2)
            self.assertEqual(self.err, f"error: {sentence}\n")

    def test_a_model_may_come_first(self):
        self.command("model", "info", MODEL)
        self.command("chat", MODEL, "-t", "1", "-n", "2", stdin="hello\n")
        self.assertNotEqual(self.out, "")

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


class Inspect(CommandTest):
    def test_tokenize_prints_ids_and_pieces(self):
        report = self.json("tokenize", "-m", MODEL, "Hi!")
        self.assertEqual([t["id"] for t in report["tokens"]], [ord(c) for c in "Hi!"])
        self.assertEqual("".join(t["piece"] for t in report["tokens"]), "Hi!")
        self.assertEqual(self.json("tokenize", "-m", MODEL, stdin="Hi!"), report)
        self.assertEqual(self.json("tokenize", "-m", MODEL, "-", stdin="Hi!"), report)
        self.assertIn('"H"', self.command("tokenize", "-m", MODEL, "Hi!"))
        self.assertEqual(self.json("tokenize", "-m", MODEL)["count"], 0)

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
        self.command("tokenize", "-m", str(self.dir / "missing"), expect=4)
        self.command("tokenize", "-m", str(self.dir), expect=4)
        broken = self.dir / "broken"
        shutil.copytree(MODEL, broken)
        with open(broken / "model.safetensors", "r+b") as weights:
            weights.truncate(1000)
        self.command("tokenize", "-m", str(broken), expect=4)
        self.assertIn("model.safetensors", self.err)

    def test_a_prompt_beyond_the_context_ends_with_1(self):
        self.verb("run", self.prompt, "-c", "64", expect=1)
        self.assertIn("64", self.err)

    def test_files_do_not_become_the_input_and_output_that_are_closed(self):
        closing = ["sh", "-c", 'exec "$@" <&-', "sh"]
        chat = subprocess.run([*closing, COMMAND, "chat", "-m", MODEL, "-t", "1", "-n", "4"], env=self.environment,
                              capture_output=True, text=True, timeout=120)
        empty = subprocess.run([COMMAND, "chat", "-m", MODEL, "-t", "1", "-n", "4"], env=self.environment,
                               stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        self.assertEqual((chat.returncode, chat.stdout, chat.stderr), (0, empty.stdout, empty.stderr))
        kept = subprocess.run(["sh", "-c", 'exec "$@" >&- 2>&-', "sh", COMMAND, "encode", "-m", MODEL, "-t", "1",
                               "-s", self.schema], env=self.environment, timeout=120)
        self.assertEqual(kept.returncode, 0)
        self.command("cache", "verify")

    def test_an_output_that_cannot_be_written_ends_with_1(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([COMMAND, "version"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
