#!/usr/bin/env python3
"""run, and the shipped example where its model exists."""
import json
import os
import pathlib
import sys
import unittest

from command import MODEL, CommandTest, PROMPTS, SCHEMA, SOURCE


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

    def test_what_a_plug_in_has_no_memory_for_the_cpu_answers_and_says_so(self):
        want = self.verb_json("run", self.prompt, "-n", "8")
        self.assertFalse(want["stats"]["fell_back"])
        self.environment["FAKE_FAIL"] = "step"
        plug_in = ["--backend", os.environ["PC_FAKE_BACKEND"]]
        self.verb("run", self.prompt, "-n", "8", *plug_in)
        self.assertIn("remark: the CPU computes a request in the place of fake: the fake backend fails in step",
                      self.err)
        self.assertRegex(self.err, "computed by +the CPU: the plug-in had no memory for it")
        answer = self.verb_json("run", self.prompt, "-n", "8", *plug_in)
        self.assertEqual(answer["tokens"], want["tokens"])
        self.assertTrue(answer["stats"]["fell_back"])
        self.verb("run", self.prompt, "-n", "8", "-q", *plug_in)
        self.assertEqual(self.err, "")

    def test_a_seed_gives_the_same_answer_again(self):
        sampled = ["run", self.prompt, "-n", "12", "--temp", "1.5", "--top-k", "50", "--top-p", "0.95", "--min-p",
                   "0.01", "--repeat-penalty", "1.1", "--seed"]
        one, same, other = (self.verb_json(*sampled, seed)["tokens"] for seed in ("1", "1", "2"))
        self.assertEqual(one, same)
        self.assertNotEqual(one, other)

    def test_zero_is_a_length_and_a_share_as_others_are(self):
        nothing = self.verb_json("run", self.prompt, "-n", "0")
        self.assertEqual((nothing["tokens"], nothing["stats"]["finish"]), ([], "length"))
        self.assertGreater(nothing["stats"]["prompt_tokens"], 0)
        likeliest = self.verb_json("run", self.prompt, "-n", "12")["tokens"]
        hot = ["run", self.prompt, "-n", "12", "--temp", "1.5", "--seed", "1"]
        self.assertNotEqual(self.verb_json(*hot)["tokens"], likeliest)
        self.assertEqual(self.verb_json(*hot, "--top-p", "0")["tokens"], likeliest)
        self.assertEqual(self.verb_json(*hot, "--min-p", "1")["tokens"], likeliest)
        self.verb("run", self.prompt, "--repeat-penalty", "0", expect=2)
        self.assertIn("the repetition penalty must be above 0", self.err)

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


class Question(CommandTest):
    """run without a schema."""

    def ask(self, *arguments, **options):
        return json.loads(self.engine("run", "-n", "6", "--json", *arguments, **options))

    def test_it_is_what_a_prompt_with_one_user_turn_is(self):
        schema = self.write("empty.pml", '<schema name="empty"/>')
        written = self.write("one.pml", '<prompt schema="empty"><user>Where &amp; when?</user></prompt>')
        want = json.loads(self.engine("run", "-s", schema, written, "-n", "6", "--json"))
        self.assertEqual(self.ask("Where & when?")["tokens"], want["tokens"])
        self.assertEqual(self.ask("-", stdin="Where & when?")["tokens"], want["tokens"])

    def test_what_a_question_is_about_is_computed_once(self):
        text = self.write("text.txt", "Oslo lies by the fjord.\n" * 20)
        first = self.ask("-f", text, "Where is Oslo?")["stats"]
        next_one = self.ask("-f", text, "And when?")["stats"]
        self.assertGreater(first["modules_encoded"], 0)
        self.assertEqual(next_one["modules_encoded"], 0)
        self.assertGreater(next_one["cached_tokens"], 20 * len("Oslo lies by the fjord."))
        self.assertLess(next_one["computed_tokens"], 60)
        piped = self.ask("-f", "-", "And when?", stdin=open(text).read())["stats"]
        self.assertEqual(piped["cached_tokens"], next_one["cached_tokens"])

    def test_one_text_is_exact_and_more_of_them_say_that_they_are_not(self):
        one, other = self.write("one.txt", "Oslo lies by the fjord."), self.write("other.txt", "Rome does not.")
        self.engine("run", "-n", "6", "-f", one, "Where?")
        self.assertNotIn("approximate", self.err)
        self.engine("run", "-n", "6", "-f", one, "-f", other, "Where?")
        self.assertIn("1 of 3 modules have not seen what stands before them here: the answer is approximate", self.err)
        self.engine("run", "-n", "6", "-f", one, "-f", other, "Where?", "--repair", "all")
        self.assertNotIn("approximate", self.err)
        self.engine("run", "-n", "6", "-f", one, "-f", other, "Where?", "-q")
        self.assertEqual(self.err, "")

    def test_texts_side_by_side_stand_in_slots_and_are_mended(self):
        a, b, c, d = (self.write(f"{name}.txt", f"Of {name}: it lies by the fjord, and many go there. " * 7)
                      for name in ("Oslo", "Rome", "Bonn", "Wien"))
        first = self.ask("-f", a, "-f", b, "Where?")["stats"]
        self.assertGreater(first["repaired_tokens"], 0)
        self.assertLess(first["repaired_tokens"], 0.16 * len(open(b).read()))
        self.assertEqual(self.ask("-f", a, "-f", b, "Where?", "--repair", "none")["stats"]["repaired_tokens"], 0)
        # Nothing stood in yet, so that the second is what it is alone; behind that one it is not.
        self.assertEqual(self.ask("-f", b, "Where?")["stats"]["modules_encoded"], 0)
        self.ask("-f", c, "-f", d, "Where?")
        self.assertEqual(self.ask("-f", c, "-f", d, "When?")["stats"]["modules_encoded"], 0)
        self.assertEqual(self.ask("-f", d, "Where?")["stats"]["modules_encoded"], 1)
        stand_ins = list(self.cache.glob("**/stand-ins/*"))
        self.assertEqual([path for path in stand_ins if b"Of Oslo" in path.read_bytes()], stand_ins)
        self.assertTrue(stand_ins)
        self.command("cache", "rm", "--all")
        self.assertEqual(list(self.cache.glob("**/stand-ins/*")), [])

    def test_what_a_check_of_answers_chose_for_chats_mends_texts(self):
        one, other = self.write("one.txt", "Oslo lies by the fjord."), self.write("other.txt", "Rome does not.")
        chat = self.write("chat.pml", "<schema name='chat'><module name='a'>Oslo lies by the fjord.</module>"
                                      "<module name='b'>Rome does not, as one sees.</module></schema>")
        report = json.loads(self.engine("check", "-s", chat, "--answers", "--made-prompts", "4", "--json"))["answers"]
        chosen = self.ask("-f", one, "-f", other, "Where?")["stats"]["repaired_tokens"]
        named = self.ask("-f", one, "-f", other, "Where?", "--repair", report["verdict"])["stats"]["repaired_tokens"]
        self.assertEqual(chosen, named, report)

    def test_a_model_without_turns_continues_the_text(self):
        bare = self.dir / "bare"
        bare.mkdir()
        for file in pathlib.Path(MODEL).iterdir():
            (bare / file.name).write_bytes(file.read_bytes())
        config = json.loads((bare / "tokenizer_config.json").read_text())
        config.pop("chat_template")
        (bare / "tokenizer_config.json").write_text(json.dumps(config))
        text = self.write("text.txt", "Oslo lies by the fjord.\n" * 20)
        line = ["run", "-m", str(bare), "-t", "1", "-n", "6"]
        self.command(*line, "-f", text, "Where is Oslo?")
        self.assertIn("brings no chat template", self.err)
        reused = json.loads(self.command(*line, "-f", text, "And when?", "--json"))["stats"]
        self.assertGreaterEqual(reused["chained_tokens"], 256)
        alone = json.loads(self.command(*line, "-f", text, "And when?", "--json", "--no-cache"))
        self.assertEqual(alone["stats"]["chained_tokens"], 0)
        # Where nothing can be kept it is answered all the same.
        nowhere = json.loads(self.command(*line, "-f", text, "And when?", "--json", "--cache-dir", "/proc/nope"))
        self.assertEqual(nowhere["tokens"], alone["tokens"])

    def test_what_cannot_be_meant_is_refused(self):
        text = self.write("empty.txt", "")
        for line, why in [(["-f", text, "Where?"], f"{text} is empty"),
                          (["-f", "-", "-"], "the standard input can be read once"),
                          ([self.prompt], f"{self.prompt} is a prompt in PML: name its schema"),
                          (["not-there.pml"], "there is no file not-there.pml"),
                          (["-f", self.prompt, "-s", self.schema, self.prompt], "--file and --schema")]:
            self.engine("run", *line, expect=1 if line[0] == "-f" and line[1] == text else 2)
            self.assertIn(why, self.err)


class Remarks(CommandTest):
    def test_a_prompt_that_asks_in_no_turn_is_told_so(self):
        bare = self.write("bare.pml", '<prompt schema="guide"><trip/>Where to?</prompt>')
        self.verb("run", bare, "-n", "3")
        self.assertIn(f"{bare}: remark: no turn of the prompt asks for an answer", self.err)
        self.verb("run", self.prompt, "-n", "3")
        self.assertNotIn("no turn", self.err)

    def test_a_plug_in_that_is_missing_is_named_and_the_cpu_answers(self):
        line = ["run", self.prompt, "-n", "3", "--backend", "/nonexistent/plug-in.so"]
        without = self.verb("run", self.prompt, "-n", "3")
        self.assertEqual(self.verb(*line), without)
        self.assertRegex(self.err, r"^remark: .*/nonexistent/plug-in\.so")
        self.verb(*line, "-q")
        self.assertEqual(self.err, "")


@unittest.skipUnless((SOURCE / "models/city-guide/model.safetensors").exists(), "the demo model is not there yet")
class CityGuide(CommandTest):
    def test_every_example_prompt_repeats_itself_from_stored_modules(self):
        folder = SOURCE / "examples/city-guide"
        for prompt in sorted(folder.glob("*.pml")):
            if prompt.name == "city-guide.pml":
                continue
            line = ["run", "-t", "1", "-m", str(SOURCE / "models/city-guide"), "-s", str(folder / "city-guide.pml"), str(prompt)]
            first, second = self.json(*line), self.json(*line)
            self.assertEqual(first["tokens"], second["tokens"], prompt)
            self.assertEqual(second["stats"]["modules_encoded"], 0)
            self.assertGreater(second["stats"]["cached_tokens"], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
