#!/usr/bin/env python3
"""Raw text over HTTP: prompts as texts and as tokens, several of them, echoed with the chances of
their tokens, and what belongs between two texts; in OpenAI's form and in llama.cpp's."""
import json
import math
import pathlib
import shutil
import tempfile
import time
import unittest

import calling_model
from server import PATIENCE, ServeTest, events

BOS = 256  # which stands in front of texts
FIM = {"<|fim_prefix|>": 259, "<|fim_suffix|>": 260, "<|fim_middle|>": 261}
PREFIX, SUFFIX, MIDDLE = FIM.values()


class Text(ServeTest):
    def complete(self, prompt, expect=200, **fields):
        body = {"prompt": prompt, "max_tokens": 4, "temperature": 0}
        return self.server.json("POST", "/v1/completions", body | fields, expect)

    def stream(self, prompt, **fields):
        body = {"prompt": prompt, "max_tokens": 4, "temperature": 0, "stream": True}
        _, _, data = self.server.ask("POST", "/v1/completions", body | fields)
        return [json.loads(text) for _, text in events(data) if text != "[DONE]"]

    def test_tokens_are_the_prompt_of_their_text(self):
        texts = [self.complete(prompt)["choices"][0]["text"]
                 for prompt in ("Once upon", ["Once upon"], [BOS, *b"Once upon"], [[BOS, *b"Once upon"]],
                                "<s>Once upon")]
        self.assertEqual(len(set(texts)), 1, texts)

    def test_lists_of_prompts_have_their_answers_in_order(self):
        prompts = ["Once", "upon a time", "B", "the harbour"] * 6  # more than are drawn at once
        single = [self.complete(prompt) for prompt in prompts[:4]]
        whole = self.complete(prompts, n=2)
        self.assertEqual([c["index"] for c in whole["choices"]], list(range(48)))
        self.assertEqual([c["text"] for c in whole["choices"]],
                         [single[i // 2 % 4]["choices"][0]["text"] for i in range(48)])
        for key in ("prompt_tokens", "completion_tokens"):
            of_one = sum(s["usage"][key] for s in single) * 6
            self.assertEqual(whole["usage"][key], of_one * (2 if key == "completion_tokens" else 1))
        tokens = self.complete([[BOS, *p.encode()] for p in prompts[:4]])
        self.assertEqual([c["text"] for c in tokens["choices"]], [s["choices"][0]["text"] for s in single])

    def test_a_stream_of_lists_comes_to_the_whole_answer(self):
        prompts = ["Once", "upon a time", "B"]
        fields = {"n": 2, "echo": True, "logprobs": 1}
        whole = self.complete(prompts, **fields)
        streamed = {}
        for chunk in self.stream(prompts, **fields):
            for choice in chunk["choices"]:
                got = streamed.setdefault(choice["index"], {"text": "", "tokens": [], "text_offset": []})
                got["text"] += choice["text"]
                for key in ("tokens", "text_offset"):
                    got[key] += choice["logprobs"][key]
        for choice in whole["choices"]:
            self.assertEqual(streamed[choice["index"]], {
                "text": choice["text"], "tokens": choice["logprobs"]["tokens"],
                "text_offset": choice["logprobs"]["text_offset"]})

    def test_an_echo_has_the_chances_of_the_prompt(self):
        choice = self.complete("Once upon", echo=True, logprobs=2, max_tokens=0)["choices"][0]
        self.assertEqual((choice["text"], choice["finish_reason"]), ("Once upon", "length"))
        chances = choice["logprobs"]
        self.assertEqual(chances["tokens"], ["<s>", *"Once upon"])
        self.assertEqual(chances["text_offset"], [0, *range(9)])
        self.assertIsNone(chances["token_logprobs"][0])
        self.assertIsNone(chances["top_logprobs"][0])
        for token, chance, top in list(zip(chances["tokens"], chances["token_logprobs"],
                                           chances["top_logprobs"]))[1:]:
            self.assertEqual(top[token], chance)
            self.assertIn(len(top), (2, 3))
            self.assertLess(chance, 0)

    def test_the_chances_of_an_echo_are_those_of_drawing(self):
        bias = {str(ord("x")): 50}
        drawn = self.complete("Once upon", logprobs=1, logit_bias=bias)["choices"][0]
        self.assertEqual(drawn["text"], "xxxx")
        echoed = self.complete("Once uponxxxx", echo=True, logprobs=1, max_tokens=0)["choices"][0]["logprobs"]
        for a, b in zip(echoed["token_logprobs"][10:], drawn["logprobs"]["token_logprobs"], strict=True):
            self.assertTrue(math.isclose(a, b, abs_tol=0.01), (a, b))

    def test_offsets_count_characters(self):
        chances = self.complete("äb", echo=True, logprobs=0, max_tokens=0)["choices"][0]["logprobs"]
        self.assertEqual(chances["text_offset"], [0, 0, 1, 1])  # BOS, and a character is two tokens
        self.assertEqual([len(top) for top in chances["top_logprobs"][1:]], [1, 1, 1])

    def test_control_tokens_that_are_drawn_take_no_place_in_the_text(self):
        choice = self.complete("Once", logprobs=0, max_tokens=3, logit_bias={str(BOS): 100})["choices"][0]
        self.assertEqual((choice["text"], choice["logprobs"]["tokens"]), ("", ["<s>"] * 3))
        self.assertEqual(choice["logprobs"]["text_offset"], [0] * 3)

    def test_what_is_kept_changes_no_chance(self):
        text = "The harbour lies in the south, and the tower stands on the hill above it. " * 8
        ask = lambda **f: self.complete(text, echo=True, logprobs=0, max_tokens=1, **f)["choices"][0]["logprobs"]
        computed = ask(cache_prompt=False)
        self.complete(text + "And")
        self.assertEqual(ask()["token_logprobs"], computed["token_logprobs"])

    def test_prompts_that_are_none(self):
        for prompt in ([], [[]], {}, ["a", 5], [5, "a"], [[5, "a"]], [[-1]], [5, 100000], [[5, 100000]], 7, [None]):
            with self.subTest(prompt=prompt):
                self.assertEqual(self.complete(prompt, 400)["error"]["param"].split("[")[0], "prompt")
        error = self.complete("a", 400, suffix="b")["error"]
        self.assertIn("filling in the middle", error["message"])
        two = {"prompt": ["a", "b"]}
        self.assertEqual(self.server.json("POST", "/v1/prompt_cache/explain", two, 400)["error"]["param"], "prompt")

    def test_each_prompt_of_a_list_is_kept(self):
        long = ["The harbour lies in the south. " * 16, "The tower stands on the hill. " * 16]
        self.server.json("POST", "/v1/prompt_cache/prewarm", {"prompt": long})
        usage = self.complete(long)["usage"]
        self.assertGreater(usage["prompt_tokens_details"]["cached_tokens"], 512)  # of each, 256 and BOS

    def test_pieces_of_tokens(self):
        tokenize = lambda **body: self.server.json("POST", "/tokenize", body)["tokens"]
        self.assertEqual(tokenize(content="a</s>"), [97, 257])
        self.assertEqual(tokenize(content="a</s>", parse_special=False), list(b"a</s>"))
        self.assertEqual(tokenize(content="aä</s>", with_pieces=True), [
            {"id": 97, "piece": "a"}, {"id": 0xC3, "piece": [0xC3]}, {"id": 0xA4, "piece": [0xA4]},
            {"id": 257, "piece": "</s>"}])


class Llama(ServeTest):
    ARGUMENTS = ("--parallel", "3")

    def complete(self, prompt, expect=200, **fields):
        body = {"prompt": prompt, "n_predict": 4, "temperature": 0}
        return self.server.json("POST", "/completion", body | fields, expect)

    def test_an_answer_has_the_form_of_llama_cpp(self):
        answer = self.complete("Once upon", n_probs=2, return_tokens=True)
        same = self.server.json("POST", "/v1/completions", {"prompt": "Once upon", "max_tokens": 4, "temperature": 0})
        self.assertEqual(answer["content"], same["choices"][0]["text"])
        self.assertEqual((answer["stop"], answer["stop_type"], answer["stopping_word"], answer["truncated"]),
                         (True, "limit", "", False))
        self.assertEqual((answer["tokens_evaluated"], answer["tokens_predicted"], answer["model"]), (10, 4, "tiny-model"))
        self.assertEqual((len(answer["tokens"]), len(answer["completion_probabilities"])), (4, 4))
        for token, chance in zip(answer["tokens"], answer["completion_probabilities"]):
            self.assertEqual(chance["id"], token)
            self.assertEqual(chance["top_logprobs"][0]["id"], token)
            self.assertEqual(len(chance["top_logprobs"]), 2)
        settings = answer["generation_settings"]
        self.assertEqual((settings["n_predict"], settings["temperature"], settings["top_k"]), (4, 0, 40))
        self.assertEqual(self.complete("Once upon")["tokens"], [])

    def test_a_stream_ends_with_its_last_event(self):
        whole = self.complete("Once upon", return_tokens=True)
        body = {"prompt": "Once upon", "n_predict": 4, "temperature": 0, "stream": True}
        pieces = [json.loads(text) for _, text in events(self.server.ask("POST", "/completion", body)[2])]
        self.assertEqual([piece["stop"] for piece in pieces], [False] * (len(pieces) - 1) + [True])
        self.assertEqual("".join(piece["content"] for piece in pieces), whole["content"])
        self.assertEqual(sum((piece["tokens"] for piece in pieces), []), whole["tokens"])
        self.assertEqual((pieces[-1]["tokens_predicted"], pieces[-1]["stop_type"]), (4, "limit"))

    def test_prompts_of_texts_and_tokens(self):
        alone = self.complete("Once upon")["content"]
        for prompt in ([BOS, *b"Once upon"], ["Once", 32, *b"upon"], [BOS, "Once upon"], {"prompt_string": "Once upon"}):
            with self.subTest(prompt=prompt):
                self.assertEqual(self.complete(prompt)["content"], alone)
        several = self.complete(["Once upon", [BOS, *b"Once upon"], ["Once", 32, "upon"], "B"])
        self.assertEqual([a["content"] for a in several], [alone] * 3 + [self.complete("B")["content"]])
        self.assertEqual([a["tokens_evaluated"] for a in several], [10, 10, 10, 2])
        self.assertEqual(len(self.complete("B", n_cmpl=2)), 2)

    def test_why_an_answer_ended(self):
        bias = {str(ord("x")): 50}
        stopped = self.complete("A", stop=["xx"], logit_bias=bias)
        self.assertEqual((stopped["stop_type"], stopped["stopping_word"], stopped["content"]), ("word", "xx", ""))
        self.assertEqual(self.complete("A", logit_bias={"257": 100})["stop_type"], "eos")
        number = self.complete("A", json_schema={"type": "integer"}, n_predict=40)
        self.assertIsInstance(json.loads(number["content"]), int)
        self.assertEqual(self.complete("A", grammar='root ::= "(" root ")" | [x]', logit_bias={"40": 9}, n_predict=6)
                         ["content"], "((((((")
        self.assertEqual(self.complete("A", grammar='root ::= "(" root? ")"', logit_bias={"41": 9})["content"], "()")

    def test_biases_as_a_list(self):
        x = ord("x")
        self.assertEqual(self.complete("A", logit_bias=[[x, 50]])["content"], "xxxx")
        self.assertNotIn("x", self.complete("A", logit_bias=[[x, 50], [x, False]])["content"])
        self.assertEqual(self.complete("A", logit_bias={str(x): 50})["content"], "xxxx")
        for bias in ([[x]], [[x, "1"]], [["x", 1]], [[x, 101]], [[100000, 1]], [7], [[x, True]]):
            with self.subTest(bias=bias):
                self.assertEqual(self.complete("A", 400, logit_bias=bias)["error"]["param"], "logit_bias[0]")

    def test_what_would_draw_otherwise_is_refused(self):
        for field, value in (("mirostat", 2), ("dry_multiplier", 0.8), ("typical_p", 0.5), ("ignore_eos", True),
                             ("grammar", 'root ::= root'), ("lora", [{"id": 0, "scale": 1}]), ("n_probs", 21)):
            with self.subTest(field):
                self.assertEqual(self.complete("A", 400, **{field: value})["error"]["param"], field)
        idle = self.complete("A", mirostat=0, dry_multiplier=0.0, typical_p=1.0, grammar="", lora=[], samplers=["top_k"])
        self.assertEqual(idle["prompt_cache"]["ignored_fields"], ["samplers"])

    def test_what_the_server_says_of_itself(self):
        props = self.server.json("GET", "/props")
        self.assertEqual((props["total_slots"], props["model_path"]), (3, "tiny-model"))
        self.assertEqual(props["default_generation_settings"]["params"]["temperature"], 0.800000011920929)
        slots = self.server.json("GET", "/slots")
        self.assertEqual([(s["id"], s["n_ctx"]) for s in slots], [(i, 4096) for i in range(3)])
        late = time.monotonic() + PATIENCE  # a thread may end just behind the answer that it made
        while any(s["is_processing"] for s in self.server.json("GET", "/slots")):
            self.assertLess(time.monotonic(), late)
        error = self.server.json("POST", "/infill", {"input_prefix": "a", "input_suffix": "b"}, 400)["error"]
        self.assertIn("filling in the middle", error["message"])


class Fim(ServeTest):
    """A model with tokens for filling in the middle, each of whose tokens has one successor."""
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="serve_text_test."))
        calling_model.write_with_controls(cls.folder, calling_model.TEMPLATE, FIM)
        (cls.folder / "model.safetensors").write_bytes(calling_model.safetensors())
        cls.OPTIONS = {"model": cls.folder}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        shutil.rmtree(cls.folder)

    def ask(self, prompt, **fields):
        body = {"prompt": prompt, "max_tokens": 1, "temperature": 0, "echo": True, "logprobs": 0}
        return self.server.json("POST", "/v1/completions", body | fields)

    def test_control_tokens_of_a_text_count(self):
        asked = self.ask("<|fim_prefix|>ab<|fim_suffix|>c<|fim_middle|>")
        self.assertEqual(asked["usage"]["prompt_tokens"], 7)
        self.assertEqual(asked["choices"][0]["logprobs"]["tokens"][:3], ["<s>", "<|fim_prefix|>", "a"])
        same = self.ask([BOS, PREFIX, *b"ab", SUFFIX, *b"c", MIDDLE])
        self.assertEqual(same["choices"][0]["logprobs"]["token_logprobs"],
                         asked["choices"][0]["logprobs"]["token_logprobs"])
        self.assertEqual(same["choices"][0]["text"], "<s>" + asked["choices"][0]["text"])

    def test_a_suffix_is_what_stands_behind_the_gap(self):
        fields = {"echo": False, "logprobs": None}
        whole = self.ask("ab", suffix="c<|fim_middle|>", **fields)
        self.assertEqual(whole["usage"]["prompt_tokens"], 7 + len("<|fim_middle|>"))  # its spelling is text
        body = {"prompt": [97], "suffix": "c"}
        self.assertEqual(self.server.json("POST", "/v1/completions", body, 400)["error"]["param"], "suffix")

    def test_infill_asks_for_what_belongs_between(self):
        body = {"input_prefix": "ab", "input_suffix": "c</s>", "prompt": "~now{", "n_predict": 4, "temperature": 0}
        answer = self.server.json("POST", "/infill", body)
        self.assertEqual((answer["content"], answer["stop_type"]), ("}", "eos"))
        self.assertEqual(answer["prompt"], "<|fim_prefix|>ab<|fim_suffix|>c</s><|fim_middle|>~now{")
        self.assertEqual(answer["tokens_evaluated"], 1 + 3 + 2 + len("c</s>") + 5)
        body["input_extra"] = [{"filename": "x.py", "text": "other"}]
        self.assertEqual(self.server.json("POST", "/infill", body)["prompt"], "other" + answer["prompt"])
        self.assertEqual(self.server.json("POST", "/infill", {"input_prefix": "a"}, 400)["error"]["param"],
                         "input_suffix")

    def test_the_token_that_ends_an_answer_has_its_chance(self):
        """Harnesses cut off what was drawn, whatever it is."""
        choice = self.ask("~now{}")["choices"][0]
        self.assertEqual((choice["text"], choice["finish_reason"]), ("~now{}", "stop"))
        self.assertEqual(choice["logprobs"]["tokens"], ["<s>", *"~now{}", "</s>"])
        self.assertEqual(choice["logprobs"]["text_offset"], [0, *range(7)])
        self.assertGreater(choice["logprobs"]["token_logprobs"][-1], math.log(0.5))


if __name__ == "__main__":
    unittest.main(argv=[__file__], verbosity=1)
