#!/usr/bin/env python3
"""model info and model verify."""
import shutil
import struct
import sys
import unittest

from command import CommandTest, MODEL, SOURCE

GGUF = SOURCE / "tests" / "golden" / "gguf"


class ModelTest(CommandTest):
    def copy(self):
        copy = self.dir / "model"
        shutil.copytree(MODEL, copy)
        return copy

    def damaged(self):
        """A model whose last weight is NaN and whose tokenizer is gone."""
        copy = self.copy()
        with open(copy / "model.safetensors", "r+b") as weights:
            weights.seek(-4, 2)
            weights.write(struct.pack("<f", float("nan")))
        (copy / "tokenizer.json").unlink()
        return str(copy)


class Info(ModelTest):
    def test_the_model_is_named_with_or_without_the_flag(self):
        report = self.json("model", "info", MODEL)
        self.assertEqual(report, self.json("model", "info", "-m", MODEL))
        self.environment["PROMPTCACHE_MODEL"] = MODEL
        self.assertEqual(report, self.json("model", "info"))
        self.assertEqual((report["architecture"], report["layers"], report["kv_heads"], report["refused"]),
                         ("LlamaForCausalLM", 2, 2, None))
        self.assertEqual((report["positions"], report["relocates"]), ("rotary", True))
        self.assertFalse(self.cache.exists())

    def test_the_text_has_what_the_report_has(self):
        report = self.json("model", "info", MODEL)
        text = self.command("model", "info", MODEL)
        for line in ("format +safetensors", "architecture +LlamaForCausalLM", "layers +2", "chat template +the model's own",
                     "modules relocate +yes", "feed-forward +f32 +49152 +192.0 KiB"):
            self.assertRegex(text, "(?m)^" + line + "$")
        self.assertIn(report["tokenizer_digest"], text)
        self.assertNotIn("refused", text)

    def test_states_take_the_bytes_of_their_type(self):
        of = {t: self.json("model", "info", MODEL, "--kv-type", t)["kv_bytes_per_token"] for t in ("f32", "bf16", "q8")}
        numbers = 2 * 2 * 2  # layers, heads, a key and a value: 16 each, in q8 with a scale
        self.assertEqual(of, {"f32": numbers * 4 * 16, "bf16": numbers * 2 * 16, "q8": numbers * (16 + 4)})
        guide = str(SOURCE / "models/city-guide")  # heads of 64: codes of 4 bits, and two more of steps
        report = self.json("model", "info", guide, "--kv-type", "q4")
        self.assertEqual(report["kv_bytes_per_token"], 4 * 2 * 2 * (64 // 2 + 16))
        refused = self.json("model", "info", str(GGUF / "mistral.gguf"), "--kv-type", "q4")["refused"]
        self.assertIn("multiple of 16", refused)

    def test_layers_that_differ_in_their_states_are_told_apart(self):
        gemma4 = str(SOURCE / "tests/golden/models/gemma4")
        report = self.json("model", "info", gemma4)
        self.assertEqual(report["states"], [{"layers": 2, "kv_heads": 1, "head_dim": 8},
                                            {"layers": 1, "kv_heads": 1, "head_dim": 16}])
        token = 2 * 2  # a key and a value of bf16
        self.assertEqual(report["kv_bytes_per_token"], token * (2 * 8 + 16))
        self.assertEqual(report["window_kv_bytes_per_token"], token * 2 * 8)
        self.assertIn("per-layer embedding", [group["group"] for group in report["weights"]])
        text = self.command("model", "info", gemma4)
        self.assertRegex(text, "(?m)^layers with K/V +2 with 1 head of 8; 1 with 1 head of 16$")
        self.assertNotIn("layers with K/V", self.command("model", "info", MODEL))

    def test_learned_positions_do_not_relocate(self):
        report = self.json("model", "info", str(GGUF / "gpt2.gguf"))
        self.assertEqual((report["format"], report["positions"], report["relocates"]), ("gguf", "learned", False))

    def test_a_refused_model_is_described_and_the_reason_given(self):
        copy = self.copy()
        config = (copy / "config.json").read_text().replace("LlamaForCausalLM", "MambaForCausalLM")
        (copy / "config.json").write_text(config)
        report = self.json("model", "info", str(copy))
        self.assertEqual((report["architecture"], report["family"], report["layers"]), ("MambaForCausalLM", None, 2))
        self.assertIn("Mamba", report["refused"])
        self.assertIn("\nrefused: ", self.command("model", "info", str(copy)))

    def test_where_there_is_no_model_it_ends_with_4(self):
        for verb in ("info", "verify"):
            self.command("model", verb, str(self.dir / "missing"), expect=4)
            self.assertIn("missing", self.err)
            self.command("model", verb, str(self.dir), expect=4)
            self.assertIn("config.json", self.err)
            self.command("model", verb, expect=2)


class Verify(ModelTest):
    def test_a_sound_model(self):
        report = self.json("model", "verify", MODEL)
        self.assertEqual((report["ok"], report["problems"]), (True, []))
        text = self.command("model", "verify", MODEL)
        self.assertIn(" checked: 0 problems\n", text)
        self.assertIn(report["weights_digest"], text)
        self.assertFalse(self.cache.exists())

    def test_every_problem_is_named_and_it_ends_with_4(self):
        model = self.damaged()
        report = self.json("model", "verify", model, expect=4)
        messages = [p["message"] for p in report["problems"]]
        self.assertEqual((report["ok"], len(messages)), (False, 2))
        self.assertIn("NaN", messages[1])
        text = self.command("model", "verify", model, expect=4)
        for message in messages:
            self.assertIn(message + "\n", text)
        self.assertIn(" checked: 2 problems\n", text)

    def test_the_digest_is_that_of_the_engine_and_remembered_only_there(self):
        digest = self.json("model", "verify", MODEL)["weights_digest"]
        self.assertIsNone(self.json("model", "info", MODEL)["weights_digest"])
        self.verb("encode", "-q")
        stored = {f["model"] for f in self.json("cache", "ls")["files"]}
        self.assertEqual(stored, {digest})
        # The files of the tiny model are older than two seconds here, or just made.
        self.assertIn(self.json("model", "info", MODEL)["weights_digest"], (digest, None))


class Probe(ModelTest):
    def test_layers_perplexity_and_instruction_sets(self):
        text = self.dir / "text"
        text.write_text("The tram of Vienna costs six euros.")
        report = self.json("model", "verify", MODEL, "--probe", "--probe-text", str(text))["probe"]
        self.assertTrue(report["ok"])
        for way in ("as_run", "exact"):
            self.assertEqual([layer["name"] for layer in report[way]["layers"]], ["embedding", "1", "2"])
            self.assertGreater(report[way]["perplexity"], 1)
        supported = self.json("version")["isa"]["supported"]
        self.assertEqual([s["name"] for s in report["instruction_sets"]], supported)
        for s in report["instruction_sets"]:
            self.assertLess(s["exact"], 1e-4)
        table = self.command("model", "verify", MODEL, "--probe", "--probe-text", str(text))
        for line in ("probe +tokens +perplexity.*", "embedding .* 0", "scalar .*"):
            self.assertRegex(table, "(?m)^" + line + "$")

    def test_a_text_that_is_not_there_and_a_damaged_model(self):
        self.command("model", "verify", MODEL, "--probe", "--probe-text", str(self.dir / "none"), expect=1)
        self.assertNotIn("perplexity", self.command("model", "verify", self.damaged(), "--probe", expect=4))


class Remembered(ModelTest):
    def test_the_store_does_not_mind_the_records(self):
        self.verb("encode", "-q")
        models = self.cache / "models"
        models.mkdir(exist_ok=True)
        (models / ("ab" * 32)).write_text("no record")
        self.verb("encode", "-q")
        before = self.json("cache", "ls")
        self.json("cache", "gc", "--cache-size", "0")
        self.json("cache", "verify")
        self.json("cache", "rm", "--all")
        self.assertGreater(len(before["files"]), 0)
        self.assertTrue((models / ("ab" * 32)).exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
