#!/usr/bin/env python3
"""The official Python clients of OpenAI and Anthropic, unmodified, against the server.

Prints "SKIPPED: " and why where they are not installed (scripts/clients).
"""
import pathlib
import sys
import tempfile
import typing
import unittest

import calling_model
from server import PATIENCE, ServeTest

try:
    import anthropic
    import openai
    import pydantic
except ImportError as missing:
    print(f"SKIPPED: {missing}; scripts/clients installs the official clients")
    sys.exit(0)

STORY = "The harbour lies in the south, and the tower stands on the hill above it. " * 8


class OpenAi(ServeTest):
    def setUp(self):
        self.client = openai.OpenAI(base_url=self.server.url + "/v1", api_key="none", max_retries=0,
                                    timeout=PATIENCE)
        self.addCleanup(self.client.close)

    def ask(self, content, **options):
        return self.client.chat.completions.create(
            model="tiny-model", messages=[{"role": "user", "content": content}],
            **{"max_tokens": 8, "temperature": 0} | options)

    def test_models(self):
        self.assertEqual([model.id for model in self.client.models.list()], ["tiny-model"])
        self.assertEqual(self.client.models.retrieve("tiny-model").id, "tiny-model")

    def test_an_answer_and_its_stream_are_the_same(self):
        whole = self.ask("Where is the harbour?")
        said = ""
        for chunk in self.ask("Where is the harbour?", stream=True, stream_options={"include_usage": True}):
            if chunk.choices:
                said += chunk.choices[0].delta.content or ""
            else:
                usage = chunk.usage
        self.assertEqual(said, whole.choices[0].message.content)
        self.assertEqual(usage.completion_tokens, whole.usage.completion_tokens)

    def test_reuse_is_in_the_usage(self):
        self.ask(STORY)
        usage = self.ask(STORY).usage
        self.assertGreater(usage.prompt_tokens_details.cached_tokens, 256)

    def test_logprobs(self):
        token = self.ask("Hm?", logprobs=True, top_logprobs=2).choices[0].logprobs.content[0]
        self.assertEqual(len(token.top_logprobs), 2)
        self.assertEqual(bytes(token.bytes).decode(errors="replace"), token.token)

    def test_bare_text(self):
        answer = self.client.completions.create(model="tiny-model", prompt="Once", max_tokens=4, temperature=0)
        said = "".join(chunk.choices[0].text for chunk in self.client.completions.create(
            model="tiny-model", prompt="Once", max_tokens=4, temperature=0, stream=True))
        self.assertEqual(said, answer.choices[0].text)

    def test_an_answer_of_a_type_is_parsed(self):
        class Person(pydantic.BaseModel):
            name: typing.Annotated[str, pydantic.Field(max_length=12)]
            age: typing.Annotated[int, pydantic.Field(ge=0, le=150)]
        answer = self.client.chat.completions.parse(
            model="tiny-model", messages=[{"role": "user", "content": "Hi"}], response_format=Person,
            max_tokens=500, seed=1)
        self.assertIsInstance(answer.choices[0].message.parsed, Person)

    def test_errors_are_the_clients_own(self):
        with self.assertRaises(openai.NotFoundError) as refused:
            self.client.chat.completions.create(model="other", messages=[{"role": "user", "content": "Hi"}])
        self.assertEqual(refused.exception.code, "model_not_found")
        with self.assertRaises(openai.BadRequestError) as refused:
            self.ask("Hi", temperature=9)
        self.assertEqual(refused.exception.param, "temperature")


class OpenAiResponses(ServeTest):
    def setUp(self):
        self.client = openai.OpenAI(base_url=self.server.url + "/v1", api_key="none", max_retries=0,
                                    timeout=PATIENCE)
        self.addCleanup(self.client.close)
        self.request = {"model": "tiny-model", "input": STORY, "instructions": "Be brief.",
                        "max_output_tokens": 8, "temperature": 0}

    def test_a_response_and_its_stream_are_the_same(self):
        whole = self.client.responses.create(**self.request)
        said = "".join(event.delta for event in self.client.responses.create(stream=True, **self.request)
                       if event.type == "response.output_text.delta")
        self.assertEqual(said, whole.output_text)
        with self.client.responses.stream(**self.request) as stream:
            events = list(stream)
        final = events[-1].response
        self.assertEqual(final.output_text, whole.output_text)
        self.assertGreater(final.usage.input_tokens_details.cached_tokens, 256)

    def test_a_stream_that_ends_by_itself_has_its_final_response(self):
        request = self.request | {"max_output_tokens": 2000, "temperature": 1}
        with self.client.responses.stream(**request) as stream:
            last = list(stream)[-1]
            if last.type == "response.completed":
                self.assertEqual(stream.get_final_response().id, last.response.id)
            else:
                self.assertEqual(last.response.incomplete_details.reason, "max_output_tokens")

    def test_responses_are_followed_retrieved_and_deleted(self):
        first = self.client.responses.create(**self.request)
        second = self.client.responses.create(**self.request | {"input": "And?", "previous_response_id": first.id})
        self.assertGreater(second.usage.input_tokens, first.usage.input_tokens)
        self.assertEqual(self.client.responses.retrieve(first.id).output_text, first.output_text)
        self.client.responses.delete(first.id)
        with self.assertRaises(openai.NotFoundError):
            self.client.responses.retrieve(first.id)

    def test_errors_are_the_clients_own(self):
        with self.assertRaises(openai.BadRequestError) as refused:
            self.client.responses.create(**self.request | {"temperature": 9})
        self.assertEqual(refused.exception.param, "temperature")


class Calls(ServeTest):
    TOOL = {"type": "function", "name": "now", "description": "The time.", "strict": False,
            "parameters": {"type": "object", "properties": {}}}

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

    def test_a_tool_makes_the_round_through_responses(self):
        with openai.OpenAI(base_url=self.server.url + "/v1", api_key="none", max_retries=0,
                           timeout=PATIENCE) as client:
            turns = [{"role": "user", "content": "What time is it?"}]
            request = {"model": "calling", "tools": [self.TOOL], "max_output_tokens": 20}
            asked = client.responses.create(input=turns, **request)
            with client.responses.stream(input=turns, **request) as stream:
                streamed = stream.get_final_response()
            for response in (asked, streamed):
                call = response.output[0]
                self.assertEqual((call.type, call.name, call.arguments), ("function_call", "now", "{}"))
            output = {"type": "function_call_output", "call_id": call.call_id, "output": "noon"}
            answer = client.responses.create(input=turns + list(streamed.output) + [output], **request)
            self.assertEqual(answer.output_text, calling_model.SAID)
            followed = client.responses.create(input=[output], previous_response_id=streamed.id, **request)
            self.assertEqual(followed.output_text, calling_model.SAID)


class Anthropic(ServeTest):
    def setUp(self):
        self.client = anthropic.Anthropic(base_url=self.server.url, api_key="none", max_retries=0,
                                          timeout=PATIENCE)
        self.addCleanup(self.client.close)
        # The client has no temperature any more; the protocol of others does.
        self.request = {"model": "tiny-model", "max_tokens": 8, "system": "Be brief.",
                        "messages": [{"role": "user", "content": STORY}], "extra_body": {"temperature": 0}}

    def test_an_answer_and_its_stream_are_the_same(self):
        whole = self.client.messages.create(**self.request)
        with self.client.messages.stream(**self.request) as stream:
            said = "".join(stream.text_stream)
            final = stream.get_final_message()
        self.assertEqual(said, whole.content[0].text)
        self.assertEqual(final.usage.output_tokens, whole.usage.output_tokens)
        self.assertGreater(final.usage.cache_read_input_tokens, 256)

    def test_tokens_are_counted(self):
        counted = self.client.messages.count_tokens(
            model="tiny-model", system="Be brief.", messages=self.request["messages"]).input_tokens
        usage = self.client.messages.create(**self.request).usage
        self.assertEqual(counted, usage.input_tokens + usage.cache_read_input_tokens +
                         usage.cache_creation_input_tokens)

    def test_errors_are_the_clients_own(self):
        with self.assertRaises(anthropic.NotFoundError):
            self.client.messages.create(**self.request | {"model": "other"})
        with self.assertRaises(anthropic.BadRequestError):
            self.client.messages.create(**self.request | {"extra_body": {"temperature": 3}})


if __name__ == "__main__":
    unittest.main(argv=[__file__], verbosity=1)
