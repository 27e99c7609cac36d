#!/usr/bin/env python3
"""Every request that cannot be answered has the right status and one sentence that names what is
wrong, in the form of its protocol; and none disturbs the next."""
import json
import unittest

from server import ServeTest

HI = [{"role": "user", "content": "Hi"}]

# What is sent instead of a good field, and what the error names.
BAD_FIELDS = [
    ({"messages": None}, "messages"),
    ({"messages": []}, "messages"),
    ({"messages": "Hi"}, "messages"),
    ({"messages": [5]}, "messages[0]"),
    ({"messages": [{"content": "Hi"}]}, "messages[0].role"),
    ({"messages": [{"role": 5, "content": "Hi"}]}, "messages[0].role"),
    ({"messages": [{"role": "user"}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
    ({"messages": HI + [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[1].content[0].type"),
    ({"messages": HI + [{"role": "assistant", "tool_calls": [{"function": {}}]}]},
     "messages[1].tool_calls[0].function.name"),
    ({"messages": HI + [{"role": "observer", "content": "Hi"}]}, "messages[1].role"),
    ({"messages": HI + [{"role": "assistant", "tool_calls": [{"type": "custom"}]}]}, "messages[1].tool_calls[0].custom"),
    ({"temperature": "hot"}, "temperature"),
    ({"temperature": -1}, "temperature"),
    ({"temperature": 3}, "temperature"),
    ({"top_p": 1.5}, "top_p"),
    ({"max_tokens": -3}, "max_tokens"),
    ({"top_k": -2}, "top_k"),
    ({"seed": 1.5}, "seed"),
    ({"max_tokens": 1.5}, "max_tokens"),
    ({"max_tokens": 1e30}, "max_tokens"),
    ({"n": 0}, "n"),
    ({"n": 1000}, "n"),
    ({"stop": [1]}, "stop"),
    ({"stop": ["a"] * 2000}, "stop"),
    ({"seed": "x"}, "seed"),
    ({"logit_bias": {"a": 1}}, "logit_bias.a"),
    ({"logit_bias": {"99999": 1}}, "logit_bias.99999"),
    ({"logit_bias": {"1": 1000}}, "logit_bias.1"),
    ({"top_logprobs": 2}, "top_logprobs"),
    ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
    ({"stream": "yes"}, "stream"),
    ({"tools": [{"type": "function"}]}, "tools[0].function"),
    ({"tools": [{"function": {"name": "f"}}, {"function": {"name": "f"}}]}, "tools"),
    ({"tools": [{"type": "retrieval"}], "tool_choice": "required"}, "tool_choice"),
    ({"tools": [{"function": {"name": "f", "description": 5}}]}, "tools[0].function.description"),
    ({"tools": [{"function": {"name": "f", "parameters": []}}]}, "tools[0].function.parameters"),
    ({"tools": [{"function": {"name": "f"}, "cache_control": "yes"}]}, "tools[0].cache_control"),
    ({"tools": [{"function": {"name": "f"}, "prompt_cache_breakpoint": 1}]}, "tools[0].prompt_cache_breakpoint"),
    ({"response_format": "json"}, "response_format"),
    ({"response_format": {"type": "json_schema", "json_schema": {"schema": {}, "strict": 1}}},
     "response_format.json_schema.strict"),
    ({"prompt_cache": {"mode": "magic"}}, "prompt_cache.mode"),
    ({"modalities": ["text", "audio"]}, "modalities"),
    ({"functions": []}, "functions"),
]

# Bodies that are no request, as they are sent.
BAD_BODIES = [b"", b"{", b"[]", b"5", b'"x"', b"{\"a\":1}}", b'{"a":1,"a":2}', b"\xff\xfe", b'{"a":"\xff"}',
              b"[" * 100000, b'{"a":' * 1000 + b"1" + b"}" * 1000, b'{"a":1e999}', b"\0" * 100,
              b'{"messages":[{"role":"user","content":"\\ud800"}]}']


class Errors(ServeTest):
    def good(self):
        self.assertEqual(len(self.chat("Hi")["choices"]), 1)

    def refused(self, path, body, status=400):
        got, _, data = self.server.ask("POST", path, body)
        self.assertEqual(got, status, data)
        return json.loads(data)

    def test_fields_that_cannot_be_meant_are_named(self):
        for fields, param in BAD_FIELDS:
            with self.subTest(fields):
                body = {"messages": HI, "max_tokens": 2} | fields
                error = self.refused("/v1/chat/completions", body)["error"]
                self.assertEqual(error["param"], param)
                self.assertEqual(error["type"], "invalid_request_error")
                self.assertIn(param.split(".")[0].split("[")[0], error["message"])
        self.good()

    def test_bodies_that_cannot_be_read_say_why(self):
        for path in ("/v1/chat/completions", "/v1/completions", "/tokenize", "/detokenize",
                     "/v1/prompt_cache/explain", "/v1/prompt_cache/prewarm", "/apply-template",
                     "/v1/responses", "/pml/schemas", "/pml/run", "/pml/explain"):
            for body in BAD_BODIES:
                with self.subTest(path, body=body[:40]):
                    self.assertTrue(self.refused(path, body)["error"]["message"])
        for body in BAD_BODIES:
            error = self.refused("/v1/messages", body)
            self.assertEqual(error["type"], "error")
            self.assertEqual(error["error"]["type"], "invalid_request_error")
        self.good()

    def test_another_model_is_not_found(self):
        error = self.refused("/v1/chat/completions", {"messages": HI, "model": "gpt-9"}, 404)["error"]
        self.assertEqual(error["code"], "model_not_found")
        self.assertIn("gpt-9", error["message"])
        error = self.refused("/v1/messages", {"messages": HI, "max_tokens": 1, "model": "claude"}, 404)
        self.assertEqual(error["error"]["type"], "not_found_error")
        status, _, data = self.server.ask("GET", "/v1/models/gpt-9")
        self.assertEqual((status, json.loads(data)["error"]["code"]), (404, "model_not_found"))
        self.assertEqual(self.server.json("GET", "/v1/models/tiny%2Dmodel")["id"], "tiny-model")

    def test_a_prompt_that_is_too_long_says_by_how_much(self):
        long = [{"role": "user", "content": "x" * 5000}]
        error = self.refused("/v1/chat/completions", {"messages": long})["error"]
        self.assertEqual(error["code"], "context_length_exceeded")
        self.assertRegex(error["message"], r"^This model's maximum context length is 4096 tokens\. However, your "
                                           r"messages resulted in 50\d\d tokens\.")
        raw = self.refused("/v1/completions", {"prompt": "x" * 5000})["error"]
        self.assertEqual((raw["param"], raw["code"]), ("prompt", "context_length_exceeded"))
        self.assertIn("maximum context length is 4096 tokens", raw["message"])
        full = self.refused("/v1/completions", {"prompt": [5] * 4096, "max_tokens": 9})["error"]
        self.assertIn("4097 tokens (4096 in the prompt, 1 in the completion)", full["message"])
        error = self.refused("/v1/messages", {"messages": long, "max_tokens": 4})["error"]
        self.assertEqual(error["type"], "invalid_request_error")
        self.assertRegex(error["message"], r"^prompt is too long: 50\d\d tokens > 4095 maximum$")
        streamed = self.refused("/v1/chat/completions", {"messages": long, "stream": True})
        self.assertEqual(streamed["error"]["code"], "context_length_exceeded")
        self.good()

    def test_routes_and_methods_that_are_not_there(self):
        status, headers, _ = self.server.ask("GET", "/v1/chat/completions")
        self.assertEqual((status, headers["allow"]), (405, "POST"))
        self.assertEqual(self.server.ask("PUT", "/pml/schemas")[1]["allow"], "GET, POST")
        self.assertEqual(self.server.ask("POST", "/v1/nothing", {})[0], 404)
        self.assertEqual(self.server.ask("GET", "/../etc/passwd")[0], 404)

    def test_tokens_that_the_model_has_not(self):
        self.refused("/detokenize", {"tokens": [100000]})
        self.refused("/detokenize", {"tokens": "x"})
        self.refused("/v1/completions", {"prompt": [-1]})
        self.refused("/v1/completions", {"prompt": ["a", 98]})


if __name__ == "__main__":
    unittest.main(argv=[__file__], verbosity=1)
