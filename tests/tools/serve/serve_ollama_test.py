#!/usr/bin/env python3
"""Ollama's protocol: its routes as they are, and its official client, unmodified, where scripts/clients
put it."""
import json
import pathlib
import tempfile
import typing
import unittest

import calling_model
from serve_format_test import SCHEMA, is_valid
from serve_reuse_test import tool
from server import PATIENCE, ServeTest

try:
    import ollama
    import pydantic
except ImportError:
    ollama = None

QUESTION = [{"role": "user", "content": "Where is the harbour?"}]
GREEDY = {"temperature": 0, "num_predict": 8, "repeat_penalty": 1}


def lines(data):
    return [json.loads(line) for line in data.decode().splitlines()]


class Routes(ServeTest):
    def chat(self, expect=200, **fields):
        return self.server.json("POST", "/api/chat", {
            "model": "tiny-model", "messages": QUESTION, "stream": False, "options": GREEDY} | fields, expect)

    def test_a_stream_is_lines_that_come_to_the_whole_answer(self):
        whole = self.chat()
        self.assertTrue(whole["done"])
        self.assertEqual(whole["done_reason"], "length")
        self.assertEqual(whole["eval_count"], 8)
        status, headers, data = self.server.ask("POST", "/api/chat", {
            "model": "tiny-model:latest", "messages": QUESTION, "options": GREEDY})
        self.assertEqual(status, 200)
        self.assertEqual(headers["content-type"], "application/x-ndjson")
        pieces = lines(data)
        self.assertEqual("".join(piece["message"]["content"] for piece in pieces), whole["message"]["content"])
        self.assertEqual([piece["done"] for piece in pieces], [False] * (len(pieces) - 1) + [True])
        self.assertEqual(pieces[-1]["prompt_eval_count"], whole["prompt_eval_count"])
        self.assertEqual(pieces[0]["model"], "tiny-model:latest")

    def test_a_chat_is_what_openais_protocol_makes_of_it(self):
        openai = self.server.json("POST", "/v1/chat/completions", {
            "messages": QUESTION, "temperature": 0, "max_tokens": 8})
        whole = self.chat()
        self.assertEqual(whole["message"]["content"], openai["choices"][0]["message"]["content"])
        self.assertEqual(whole["prompt_eval_count"], openai["usage"]["prompt_tokens"])

    def test_generate_asks_in_a_turn_or_raw(self):
        body = {"model": "tiny-model", "stream": False, "options": GREEDY}
        turn = self.server.json("POST", "/api/generate", body | {"prompt": QUESTION[0]["content"]})
        self.assertEqual(turn["response"], self.chat()["message"]["content"])
        system = self.server.json("POST", "/api/generate", body | {"prompt": "Hi", "system": "Be brief."})
        self.assertGreater(system["prompt_eval_count"], 0)
        raw = self.server.json("POST", "/api/generate", body | {"prompt": "Once", "raw": True})
        text = self.server.json("POST", "/v1/completions", {"prompt": "Once", "temperature": 0, "max_tokens": 8})
        self.assertEqual(raw["response"], text["choices"][0]["text"])

    def test_an_empty_request_loads_the_model(self):
        for path, fields in (("/api/chat", {"messages": []}), ("/api/generate", {}), ("/api/generate", {"prompt": ""})):
            answer = self.server.json("POST", path, {"model": "tiny-model"} | fields)
            self.assertEqual(answer["done_reason"], "load")

    def test_format_holds_the_answer(self):
        answer = self.chat(format=SCHEMA, options={"num_predict": 1500, "seed": 3, "repeat_penalty": 1, "temperature": 1,
                                                   "top_k": 0, "top_p": 1})
        self.assertTrue(is_valid(json.loads(answer["message"]["content"])))

    def test_models_are_told(self):
        [model] = self.server.json("GET", "/api/tags")["models"]
        self.assertEqual(model["model"], "tiny-model:latest")
        [loaded] = self.server.json("GET", "/api/ps")["models"]
        self.assertGreater(loaded["context_length"], 0)
        shown = self.server.json("POST", "/api/show", {"model": "tiny-model"})
        self.assertIn("completion", shown["capabilities"])
        self.assertTrue(shown["model_info"]["general.architecture"])
        self.assertTrue(self.server.json("GET", "/api/version")["version"])
        self.assertEqual(self.server.json("POST", "/api/pull", {"model": "tiny-model"})["status"], "success")
        self.assertEqual(self.server.ask("HEAD", "/")[0], 200)

    def test_what_is_not_done_is_refused_by_name(self):
        for fields, name in (({"messages": [{"role": "user", "content": "a", "images": ["aGk="]}]}, "messages[0].images"),
                             ({"options": {"mirostat": 2}}, "options.mirostat"), ({"format": "xml"}, "format"),
                             ({"think": "very"}, "think"), ({"think": True}, "does not support thinking"),
                             ({"options": {"temperature": -1}}, "options.temperature")):
            with self.subTest(fields):
                self.assertIn(name, self.chat(expect=400, **fields)["error"])
        self.assertIn("does not exist here", self.chat(expect=404, model="other")["error"])
        for field in ({"template": "x"}, {"context": [1]}, {"images": ["aGk="]}, {"suffix": "b"}):
            error = self.server.json("POST", "/api/generate", {"model": "tiny-model", "prompt": "a"} | field, 400)
            self.assertIn(next(iter(field)), error["error"])
        answer = self.chat(options=GREEDY | {"num_ctx": 4096}, keep_alive="5m")
        self.assertEqual(answer["prompt_cache"]["ignored_fields"], ["options.num_ctx"])


class Calls(ServeTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="serve_test.")
        calling_model.write(pathlib.Path(cls.folder.name) / "calling")
        cls.OPTIONS = {"model": pathlib.Path(cls.folder.name) / "calling"}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.folder.cleanup()

    def test_a_tool_makes_the_round(self):
        tools = [tool("now") | {"type": "function"}]
        body = {"model": "calling", "messages": [{"role": "user", "content": "What time is it?"}], "tools": tools,
                "options": {"temperature": 0, "repeat_penalty": 1}}
        _, _, data = self.server.ask("POST", "/api/chat", body)
        [call] = [call for piece in lines(data) for call in piece["message"].get("tool_calls", [])]
        self.assertEqual((call["function"]["name"], call["function"]["arguments"]), ("now", {}))
        whole = self.server.json("POST", "/api/chat", body | {"stream": False})["message"]
        self.assertEqual(whole["tool_calls"][0]["function"], call["function"])
        turns = body["messages"] + [whole, {"role": "tool", "tool_name": "now", "content": "noon"}]
        answer = self.server.json("POST", "/api/chat", body | {"messages": turns, "stream": False})
        self.assertEqual(answer["message"]["content"], calling_model.SAID)


@unittest.skipIf(ollama is None, "scripts/clients installs Ollama's client")
class Client(ServeTest):
    def setUp(self):
        self.client = ollama.Client(host=self.server.url, timeout=PATIENCE)

    def test_chats_and_their_streams_are_the_same(self):
        asked = {"model": "tiny-model", "messages": QUESTION, "options": GREEDY}
        whole = self.client.chat(**asked)
        said = "".join(part.message.content or "" for part in self.client.chat(stream=True, **asked))
        self.assertEqual(said, whole.message.content)
        text = self.client.generate(model="tiny-model", prompt=QUESTION[0]["content"], options=GREEDY)
        self.assertEqual(text.response, whole.message.content)

    def test_an_answer_of_a_type(self):
        class Person(pydantic.BaseModel):
            name: typing.Annotated[str, pydantic.Field(max_length=12)]
            age: typing.Annotated[int, pydantic.Field(ge=0, le=150)]
        answer = self.client.chat(model="tiny-model", messages=QUESTION, format=Person.model_json_schema(),
                                  options={"num_predict": 500, "seed": 1})
        self.assertIsInstance(Person.model_validate_json(answer.message.content), Person)

    def test_what_there_is(self):
        self.assertEqual([model.model for model in self.client.list().models], ["tiny-model:latest"])
        self.assertIn("completion", self.client.show("tiny-model").capabilities)
        self.assertEqual(len(self.client.ps().models), 1)
        self.assertEqual(self.client.pull("tiny-model").status, "success")

    def test_errors_are_the_clients_own(self):
        with self.assertRaises(ollama.ResponseError) as refused:
            self.client.chat(model="other", messages=QUESTION)
        self.assertEqual(refused.exception.status_code, 404)


if __name__ == "__main__":
    unittest.main(argv=[__file__], verbosity=1)
