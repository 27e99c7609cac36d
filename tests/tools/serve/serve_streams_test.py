#!/usr/bin/env python3
"""A stream comes to what the whole answer is: in each protocol, of random answers with texts, calls, forms, stop
strings and limits, from a model that knows nothing."""
import json
import random
import tempfile
import unittest

from calling_model import write_with_controls
from serve_format_test import SCHEMA
from serve_reuse_test import tool
from server import ServeTest, events

SEEDS = 40
CALL_TOKEN = 259  # [TOOL_CALLS]
FUNCTIONS = [tool("rain"), {"type": "function", "function": {"name": "sun", "parameters": SCHEMA}}]


def variants(chance):
    """(fields that all protocols of conversations know, tools, form)"""
    fields = {"temperature": chance.choice([0.5, 1, 2]), "max_tokens": chance.choice([1, 7, 60, 900])}
    stops = chance.choice([[], ["e"], ["a", "\n", "zz"]])
    return fields, stops, chance.choice(["none", "auto", "required"]), chance.choice([False, False, True])


class Streams(ServeTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        write_with_controls(cls.folder.name)
        cls.OPTIONS = {"model": cls.folder.name}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.folder.cleanup()

    def both(self, path, body, streams="stream"):
        """The whole answer, and the stream's events."""
        whole = self.server.json("POST", path, body | {streams: False})
        status, _, data = self.server.ask("POST", path, body | {streams: True})
        self.assertEqual(status, 200)
        return whole, data

    def cases(self):
        for seed in range(SEEDS):
            yield seed, *variants(random.Random(seed))

    def check_chat(self, whole, data):
        found = {}
        for _, text in events(data):
            chunk = json.loads(text) if text != "[DONE]" else {"choices": []}
            usage = chunk.get("usage") or None
            for choice in chunk["choices"]:
                told = found.setdefault(choice["index"], {"content": "", "calls": [], "logprobs": [], "finish": None})
                delta = choice["delta"]
                told["content"] += delta.get("content") or ""
                for call in delta.get("tool_calls", []):
                    if call["index"] == len(told["calls"]):
                        told["calls"].append({"name": call["function"]["name"], "arguments": ""})
                    told["calls"][call["index"]]["arguments"] += call["function"].get("arguments", "")
                told["logprobs"] += (choice["logprobs"] or {"content": []})["content"]
                told["finish"] = choice["finish_reason"] or told["finish"]
            if usage:
                self.assertEqual(usage["completion_tokens"], whole["usage"]["completion_tokens"])
        for choice in whole["choices"]:
            told, message = found[choice["index"]], choice["message"]
            self.assertEqual(told["content"], message["content"] or "")
            self.assertEqual(told["calls"], [{key: call["function"][key] for key in ("name", "arguments")}
                                             for call in message.get("tool_calls", [])])
            self.assertEqual(told["finish"], choice["finish_reason"])
            self.assert_same_chances(told["logprobs"], (choice["logprobs"] or {"content": []})["content"])

    def test_chats(self):
        for seed, fields, stops, choice, has_form in self.cases():
            with self.subTest(seed=seed):
                # Reuses nothing: the second of two equal requests finds more than the first, and sums otherwise.
                body = {"messages": [{"role": "user", "content": "Hi"}], "seed": seed, "stop": stops, "n": 1 + seed % 2,
                        "prompt_cache": {"mode": "off"}, "logprobs": seed % 4 == 0,
                        "logit_bias": {str(CALL_TOKEN): 5 * (seed % 3)}, "stream_options": {"include_usage": True}} | fields
                if choice != "none":
                    body |= {"tools": FUNCTIONS, "tool_choice": choice}
                if has_form:
                    body["response_format"] = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
                self.check_chat(*self.both("/v1/chat/completions", body))

    def test_texts(self):
        for seed, fields, stops, _, _ in self.cases():
            body = {"prompt": ["Once", "upon a time"], "seed": seed, "stop": stops, "echo": seed % 2 == 0,
                    "prompt_cache": {"mode": "off"}} | fields
            whole, data = self.both("/v1/completions", body)
            said = ["", ""]
            for _, text in events(data):
                for choice in json.loads(text)["choices"] if text != "[DONE]" else []:
                    said[choice["index"]] += choice["text"]
            self.assertEqual(said, [choice["text"] for choice in whole["choices"]])

    def test_llamas_completions(self):
        for seed, fields, stops, _, _ in self.cases():
            body = {"prompt": "Once", "seed": seed, "stop": stops, "temperature": fields["temperature"],
                    "n_predict": fields["max_tokens"]}
            whole, data = self.both("/completion", body)
            parts = [json.loads(text) for _, text in events(data)]
            self.assertEqual("".join(part["content"] for part in parts), whole["content"])
            self.assertEqual([parts[-1][key] for key in ("stop_type", "stopping_word", "tokens_predicted")],
                             [whole[key] for key in ("stop_type", "stopping_word", "tokens_predicted")])

    def conversation(self, seed, fields, choice):
        named = [{"name": one["function"]["name"], "input_schema": one["function"]["parameters"]} for one in FUNCTIONS]
        body = {"messages": [{"role": "user", "content": f"Hi {seed}"}], "temperature": 0, "max_tokens": fields["max_tokens"]}
        kind = {"auto": "auto", "required": "any"}
        return body if choice == "none" else body | {"tools": named, "tool_choice": {"type": kind[choice]}}

    def test_anthropics_messages(self):
        for seed, fields, stops, choice, _ in self.cases():
            with self.subTest(seed=seed):
                body = self.conversation(seed, fields, choice) | {"stop_sequences": stops}
                whole, data = self.both("/v1/messages", body)
                blocks, end = [], {}
                for name, text in events(data):
                    event = json.loads(text)
                    if name == "content_block_start":
                        blocks.append(event["content_block"] | {"json": ""})
                    elif name == "content_block_delta":
                        delta = event["delta"]
                        if delta["type"] == "text_delta":
                            blocks[event["index"]]["text"] += delta["text"]
                        else:
                            blocks[event["index"]]["json"] += delta["partial_json"]
                    elif name == "message_delta":
                        end = event["delta"]
                self.assertEqual([block["type"] for block in blocks], [block["type"] for block in whole["content"]])
                for told, block in zip(blocks, whole["content"]):
                    if block["type"] == "text":
                        self.assertEqual(told["text"], block["text"])
                    elif whole["stop_reason"] == "tool_use":
                        self.assertEqual(json.loads(told["json"] or "{}"), block["input"])
                self.assertEqual((end["stop_reason"], end["stop_sequence"]), (whole["stop_reason"], whole["stop_sequence"]))

    def test_responses(self):
        for seed, fields, _, choice, has_form in self.cases():
            with self.subTest(seed=seed):
                body = {"input": f"Hi {seed}", "temperature": 0, "max_output_tokens": fields["max_tokens"]}
                if choice != "none":
                    body |= {"tools": [{"type": "function", **one["function"]} for one in FUNCTIONS], "tool_choice": choice}
                if has_form:
                    body["text"] = {"format": {"type": "json_schema", "name": "x", "schema": SCHEMA}}
                whole, data = self.both("/v1/responses", body)
                said, last = {}, None
                for name, text in events(data):
                    last = json.loads(text)
                    if name in ("response.output_text.delta", "response.function_call_arguments.delta"):
                        said[last["output_index"]] = said.get(last["output_index"], "") + last["delta"]
                told = last["response"]
                wanted = [item["arguments"] if item["type"] == "function_call" else item["content"][0]["text"]
                          for item in whole["output"]]
                self.assertEqual([said.get(i, "") for i in range(len(wanted))], wanted)
                self.assertEqual([item["type"] for item in told["output"]], [item["type"] for item in whole["output"]])
                self.assertEqual(told["status"], whole["status"])

    def test_ollamas_chats(self):
        for seed, fields, stops, choice, has_form in self.cases():
            with self.subTest(seed=seed):
                body = {"model": self.server.json("GET", "/v1/models")["data"][0]["id"],
                        "messages": [{"role": "user", "content": "Hi"}],
                        "options": {"seed": seed, "temperature": fields["temperature"], "stop": stops,
                                    "num_predict": fields["max_tokens"], "logit_bias": {str(CALL_TOKEN): 5 * (seed % 3)}}}
                if choice != "none":
                    body["tools"] = FUNCTIONS
                if has_form:
                    body["format"] = SCHEMA
                whole, data = self.both("/api/chat", body)
                parts = [json.loads(line) for line in data.decode().split("\n") if line]
                self.assertEqual("".join(part["message"]["content"] for part in parts), whole["message"]["content"])
                calls = [call["function"] for part in parts for call in part["message"].get("tool_calls", [])]
                self.assertEqual(calls, [call["function"] for call in whole["message"].get("tool_calls", [])])
                self.assertEqual(parts[-1]["done_reason"], whole["done_reason"])


if __name__ == "__main__":
    unittest.main(argv=[__file__], verbosity=1)
