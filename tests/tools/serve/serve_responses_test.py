#!/usr/bin/env python3
"""OpenAI's Responses protocol without a client library: whole and streamed, remembered responses,
and calls of a tool by a model that makes them."""
import json
import pathlib
import tempfile
import unittest

import calling_model
from server import ServeTest, events

LONG = "The harbour lies in the south, and the tower stands on the hill above it. " * 8
NOW = {"type": "function", "name": "now", "description": "The time.",
       "parameters": {"type": "object", "properties": {}}}

# Fields that cannot be meant; more are in responses_request_test.cc.
BAD_FIELDS = [
    ({"input": None}, "input"),
    ({"input": []}, "input"),
    ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0].type"),
    ({"max_output_tokens": 0}, "max_output_tokens"),
    ({"temperature": 3}, "temperature"),
    ({"background": True}, "background"),
    ({"truncation": "most"}, "truncation"),
    ({"text": {"format": {"type": "xml"}}}, "text.format.type"),
    ({"tools": [{"type": "web_search"}], "tool_choice": "required"}, "tool_choice"),
    ({"tools": [NOW]}, "tools"),  # this model's template has none
    ({"previous_response_id": "resp_0"}, "previous_response_id"),
]


class RespondTest(ServeTest):
    def respond(self, asked, expect=200, **fields):
        body = {"input": asked, "max_output_tokens": 8, "temperature": 0} | fields
        return self.server.json("POST", "/v1/responses", body, expect)

    def stream(self, asked, **fields):
        body = {"input": asked, "max_output_tokens": 8, "temperature": 0, "stream": True} | fields
        status, headers, data = self.server.ask("POST", "/v1/responses", body)
        self.assertEqual((status, headers["content-type"]), (200, "text/event-stream"))
        found = [(name, json.loads(text)) for name, text in events(data)]
        self.assertTrue(all(name == event["type"] for name, event in found))
        self.assertEqual([event["sequence_number"] for _, event in found], [*range(len(found))])
        return [event for _, event in found]


def text_of(response):
    return response["output"][0]["content"][0]["text"]


class Responses(RespondTest):
    def test_a_response_has_the_form_of_the_protocol(self):
        response = self.respond("Hello!", metadata={"a": "b"})
        self.assertEqual(response["object"], "response")
        self.assertTrue(response["id"].startswith("resp_"))
        self.assertIn(response["status"], ("completed", "incomplete"))
        self.assertEqual(response["metadata"], {"a": "b"})
        usage = response["usage"]
        self.assertEqual(usage["total_tokens"], usage["input_tokens"] + usage["output_tokens"])

    def test_a_stream_is_the_same_answer(self):
        whole, stream = self.respond("Tell me."), self.stream("Tell me.")
        said = "".join(e["delta"] for e in stream if e["type"] == "response.output_text.delta")
        self.assertEqual(said, text_of(whole))
        self.assertEqual(text_of(stream[-1]["response"]), said)
        self.assertEqual(stream[-1]["response"]["status"], whole["status"])

    def test_the_conversation_is_that_of_a_chat(self):
        turns = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": LONG}]
        said = self.chat("", messages=turns)
        response = self.respond(LONG, instructions="Be brief.")
        self.assertEqual(text_of(response), said["choices"][0]["message"]["content"])
        self.assertEqual(response["usage"]["input_tokens"], said["usage"]["prompt_tokens"])
        self.assertGreater(response["usage"]["input_tokens_details"]["cached_tokens"], 256)
        self.assertEqual(text_of(self.respond(turns)), text_of(response))

    def test_a_request_follows_a_response(self):
        first = self.respond("Where?", instructions="Be brief.")
        second = self.respond("And then?", previous_response_id=first["id"])
        turns = [{"role": "user", "content": "Where?"}, {"role": "assistant", "content": text_of(first)},
                 {"role": "user", "content": "And then?"}]
        self.assertEqual(text_of(second), text_of(self.respond(turns)))  # the instructions are gone
        self.assertEqual(second["previous_response_id"], first["id"])
        third = self.respond("Hm?", previous_response_id=second["id"], store=False)
        self.assertGreater(third["usage"]["input_tokens"], second["usage"]["input_tokens"])
        self.respond("Hm?", previous_response_id=third["id"], expect=400)

    def test_a_response_is_remembered_until_it_is_removed(self):
        response = self.respond("Hello!")
        path = "/v1/responses/" + response["id"]
        self.assertEqual(self.server.json("GET", path), response)
        self.assertEqual(self.server.ask("GET", path + "?stream=true")[0], 400)
        self.assertTrue(self.server.json("DELETE", path)["deleted"])
        for method in ("GET", "DELETE"):
            error = self.server.json(method, path, expect=404)["error"]
            self.assertEqual(error["code"], "response_not_found")

    def test_logprobs_are_of_the_drawn_tokens(self):
        asked = {"include": ["message.output_text.logprobs"], "top_logprobs": 2, "prompt_cache": {"mode": "off"}}
        tokens = self.respond("Hm?", **asked)["output"][0]["content"][0]["logprobs"]
        self.assertEqual(len(tokens), 8)
        self.assertEqual(len(tokens[0]["top_logprobs"]), 2)
        stream = self.stream("Hm?", **asked)
        streamed = [t for e in stream if e["type"] == "response.output_text.delta" for t in e["logprobs"]]
        self.assert_same_chances(streamed, tokens[:len(streamed)])

    def test_fields_that_cannot_be_meant_are_named(self):
        for fields, param in BAD_FIELDS:
            with self.subTest(fields):
                error = self.respond("Hi", expect=400, **fields)["error"]
                self.assertEqual(error["param"], param)
                self.assertEqual(error["type"], "invalid_request_error")
        error = self.respond("Hi", expect=404, model="gpt-9")["error"]
        self.assertEqual(error["code"], "model_not_found")
        error = self.respond("x" * 5000, expect=400, stream=True)["error"]
        self.assertEqual(error["code"], "context_length_exceeded")
        self.assertIn("maximum context length is 4096 tokens", error["message"])

    def test_fields_without_a_meaning_are_named(self):
        response = self.respond("Hi", reasoning={"effort": "low", "summary": "auto"}, mirostat=2)
        self.assertEqual(response["prompt_cache"]["ignored_fields"], ["mirostat", "reasoning.summary"])


class Calls(RespondTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="serve_test.")
        model = pathlib.Path(cls.folder.name) / "calling"
        calling_model.write(model)
        cls.OPTIONS = {"model": model}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.folder.cleanup()

    def test_a_call_and_its_output_make_the_round(self):
        asked = self.respond("What time is it?", tools=[NOW], store=False)
        self.assertEqual(asked["status"], "completed")
        call = asked["output"][0]
        self.assertEqual((call["type"], call["name"], call["arguments"]), ("function_call", "now", "{}"))
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": "noon"}
        turns = [{"role": "user", "content": "What time is it?"}, call, output]
        self.assertEqual(text_of(self.respond(turns, tools=[NOW])), calling_model.SAID)

    def test_the_round_is_made_by_the_responses_name(self):
        asked = self.respond("What time is it?", tools=[NOW])
        output = {"type": "function_call_output", "call_id": asked["output"][0]["call_id"], "output": "noon"}
        answer = self.respond([output], tools=[NOW], previous_response_id=asked["id"])
        self.assertEqual(text_of(answer), calling_model.SAID)

    def test_a_streamed_call_has_its_events(self):
        stream = self.stream("What time is it?", tools=[NOW])
        said = [event["delta"] for event in stream if event["type"].endswith("arguments.delta")]
        self.assertEqual("".join(said), "{}")
        types = [event["type"] for event in stream]
        self.assertEqual([kind for kind, before in zip(types, [""] + types) if kind != before],
                         ["response.created", "response.in_progress", "response.output_item.added",
                          "response.function_call_arguments.delta", "response.function_call_arguments.done",
                          "response.output_item.done", "response.completed"])

    def test_without_tools_what_looks_like_a_call_is_text(self):
        for fields in ({}, {"tools": [NOW], "tool_choice": "none"}):
            self.assertEqual(text_of(self.respond("What time is it?", **fields)), calling_model.CALL)


if __name__ == "__main__":
    unittest.main(argv=[__file__], verbosity=1)
