#!/usr/bin/env python3
"""check and explain."""
import json
import pathlib
import re
import sys
import unittest

from command import CommandTest, PROMPTS, SCHEMA


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
        self.assertEqual(list(self.cache.glob("v3/objects/*")), [])  # nothing is encoded

    def test_answers_are_measured_and_what_comes_out_is_what_auto_does(self):
        auto = self.write("auto.pml", PROMPTS["all"].replace('"guide"', '"guide" repair="auto"'))
        self.verb("run", auto, expect=4)
        self.assertIn("check --answers", self.err)
        self.assertIn("check --answers", self.verb_json("explain", auto)["remarks"][-1])
        self.verb("encode", auto)
        report = self.verb_json("check", "--answers", "--made-prompts", "3", "--compared-tokens", "2")["answers"]
        self.assertEqual((report["prompts"], report["kept"]), (3, True))
        ways = {way["repair"]: way for way in report["ways"] if not way["slots"]}
        self.assertEqual((ways["all"]["same_tokens"], ways["all"]["kept"]), (1, 1))
        self.assertTrue(ways[report["verdict"]]["passes"])
        chosen = self.verb_json("run", "--repair", report["verdict"], "-n", "2", self.prompt)
        done = self.verb_json("run", "-n", "2", auto)
        for count in ("computed_tokens", "repaired_tokens"):
            self.assertEqual(done["stats"][count], chosen["stats"][count])
        text = self.verb("check", "--answers", "--compared-tokens", "2", self.prompt)
        self.assertRegex(text, r"\nnone +0\.0 % +\d+ % +[\d.]+ % ")
        self.assertRegex(text, r"\nverdict: \S+, .+\nrepair=\"auto\" does so from now on\n")
        if report["slots_are_best"]:
            self.assertIn(f'write attend="slots" repair="{report["slots_verdict"]}" in the schema', text)
        self.assertIsNotNone(report["slots_verdict"])
        with_slots = SCHEMA.replace('name="guide"', 'name="guide" attend="slots"')
        pathlib.Path(self.schema).write_text(with_slots)
        self.verb("run", "-n", "2", auto)  # that was chosen, too
        pathlib.Path(self.schema).write_text(SCHEMA)
        self.verb("check", "--made-prompts", "3", self.prompt, expect=2)
        self.verb("check", "--answers", "--made-prompts", "3", self.prompt, expect=2)

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

    def test_what_is_too_long_for_the_window_every_verb_refuses(self):
        for verb, code in (("check", 3), ("explain", 1), ("run", 1)):
            self.verb(verb, "-c", "40", self.prompt, expect=code)
            self.assertRegex(self.err, r"the context window has 40 \(the model's own \d+: --context\)", verb)

    def test_what_stands_elsewhere_than_it_was_written_is_said(self):
        self.write("swapped.pml", '<prompt schema="guide"><rome/><user>Hm?</user> So</prompt>')
        for verb in ("check", "explain", "run"):
            self.verb(verb, "swapped.pml")
            self.assertRegex(self.err, r"swapped\.pml: remark: text stands outside of all turns", verb)
        report = self.verb_json("check", "swapped.pml")
        self.assertEqual(len(report["prompts"][0]["remarks"]), 1)
        self.assertEqual(self.verb_json("explain", "swapped.pml")["remarks"], report["prompts"][0]["remarks"])

    def test_encoding_a_prompt_stores_what_it_uses(self):
        prompt = self.write("turn.pml", '<prompt schema="guide"><user><oslo/>Where to?</user></prompt>')
        self.verb("encode")
        self.assertIn("miss", {m["state"] for m in self.verb_json("explain", prompt)["modules"]})
        encoded = self.verb_json("encode", prompt)
        self.assertGreater(encoded["modules_encoded"], 0)
        self.assertEqual({m["state"] for m in self.verb_json("explain", prompt)["modules"]}, {"hit"})
        self.assertEqual(self.verb_json("encode", prompt)["modules_encoded"], 0)

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

    def test_a_module_behind_stand_ins_is_told_by_its_slot(self):
        self.schema = self.write("slots.pml", '<schema name="guide" attend="slots"><stand-in>A quay. </stand-in>'
                                              '<module name="a">A pier. </module><module name="b">A port. </module>'
                                              '</schema>')
        prompt = self.write("slots-prompt.pml", '<prompt schema="guide"><b/><a/>Where?</prompt>')
        plan = self.compare_with_run(prompt)
        told = {r["label"]: (r.get("stand_ins"), r["exact"]) for r in plan["runs"] if r["kind"] == "cached"}
        self.assertEqual((told["b"], told["a"]), ((None, True), (1, False)))
        self.assertIn("a (slot 1)", self.verb("explain", prompt))
        self.assertIn("attend slots", self.verb("check"))

    def test_the_text_shows_each_run_and_the_totals(self):
        plan = self.verb_json("explain", self.prompt)
        text = self.verb("explain", self.prompt)
        self.assertIn(f"{plan['prompt_tokens']} prompt tokens: {plan['cached_tokens']} from modules, "
                      f"{plan['computed_tokens']} to compute", text)
        for name in ("trip.days", "oslo", "food/fish"):
            self.assertIn(name, text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
