#!/usr/bin/env python3
"""The official Python clients of OpenAI and Anthropic, unmodified, against the server.

Prints "SKIPPED: " and why where they are not installed (scripts/clients).
"""
import sys
import unittest

from server import PATIENCE, ServeTest

try:
    import anthropic
    import openai
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

    def test_errors_are_the_clients_own(self):
        with self.assertRaises(openai.NotFoundError) as refused:
            self.client.chat.completions.create(model="other", messages=[{"role": "user", "content": "Hi"}])
        self.assertEqual(refused.exception.code, "model_not_found")
        with self.assertRaises(openai.BadRequestError) as refused:
            self.ask("Hi", temperature=9)
        self.assertEqual(refused.exception.param, "temperature")


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
