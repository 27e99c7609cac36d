#!/usr/bin/env python3
"""The tables of docs/SERVER.md, "Fields": each field of each protocol is done, named or refused, as they say."""
import json
import os
import pathlib
import re
import unittest

from server import ServeTest

DOCS = pathlib.Path(os.environ["PC_SOURCE_DIR"]) / "docs/SERVER.md"
USER = [{"role": "user", "content": "Hi"}]
SOME = {"metadata": {"a": "b"}, "prompt_cache_key": "a", "prompt_cache_retention": "24h", "safety_identifier": "a",
        "service_tier": "auto", "stream": False, "temperature": 0.5, "top_p": 0.5, "user": "a"}
# Of each protocol: its path, the least request, and a value of each further field.
PROTOCOLS = {
    "OpenAI's chats": ("/v1/chat/completions", {"messages": USER, "model": "tiny-model", "max_tokens": 2}, SOME | {
        "audio": {"voice": "a", "format": "wav"}, "cache_prompt": True, "chat_template_kwargs": {"a": 1},
        "enable_thinking": False, "frequency_penalty": 0.1, "function_call": "auto", "functions": [{"name": "a"}],
        "grammar": 'root ::= "a"', "guided_choice": ["a", "b"], "guided_grammar": 'root ::= "a"', "guided_json": {"const": 1},
        "guided_regex": "a", "json_schema": {"const": 1}, "logit_bias": {"5": 1}, "logprobs": True,
        "max_completion_tokens": 2, "min_p": 0.1, "modalities": ["text"], "n": 2, "n_predict": 2,
        "parallel_tool_calls": False, "prediction": {"type": "content", "content": "a"}, "presence_penalty": 0.1,
        "prompt_cache": {"mode": "prefix"}, "reasoning_budget": 5, "reasoning_effort": "low", "repeat_penalty": 1.1,
        "response_format": {"type": "text"}, "return_progress": True, "seed": 1, "stop": "a", "store": False,
        "stream_options": {"include_usage": True}, "structured_outputs": {"choice": ["a"]}, "tool_choice": "none",
        "tools": [], "top_k": 5, "verbosity": "low", "web_search_options": {}}),
    "OpenAI's responses": ("/v1/responses", {"input": "Hi", "model": "tiny-model", "max_output_tokens": 2}, SOME | {
        "background": False, "conversation": "a", "include": ["file_search_call.results"], "instructions": "a",
        "max_tool_calls": 1, "parallel_tool_calls": True, "previous_response_id": "", "prompt": {"id": "a"},
        "reasoning": {"effort": "low"}, "store": False, "stream_options": {"include_obfuscation": False},
        "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [], "top_logprobs": 0,
        "truncation": "disabled"}),
    "Anthropic's messages": ("/v1/messages", {"messages": USER, "model": "tiny-model", "max_tokens": 2}, {
        "cache_control": {"type": "ephemeral"}, "container": "a", "context_management": {"edits": []},
        "mcp_servers": [{"type": "url", "url": "a", "name": "b"}], "metadata": {"user_id": "a"},
        "output_config": {"format": {"type": "json_schema", "schema": {"const": 1}}},
        "output_format": {"type": "json_schema", "schema": {"const": 1}}, "service_tier": "auto",
        "stop_sequences": ["a"], "stream": False, "system": "a", "temperature": 0.5, "thinking": {"type": "disabled"},
        "tool_choice": {"type": "none"}, "tools": [], "top_k": 5, "top_p": 0.5})}


def told(protocol):
    """field -> the word that the page has for it."""
    section = re.search(rf"^### {re.escape(protocol)}\n(.*?)(?=^##)", DOCS.read_text(), re.M | re.S).group(1)
    rows = re.findall(r"^\| (`.*) \| (\w+)", section, re.M)
    return {field: word for fields, word in rows for field in re.findall(r"`(\w+)`", fields)}


class Conformance(ServeTest):
    def found(self, path, least, field, value):
        status, _, data = self.server.ask("POST", path, least | {field: value})
        answer = json.loads(data)
        if status != 200:
            self.assertIn(field, answer["error"]["message"])
            return "refused"
        ignored = answer["prompt_cache"]["ignored_fields"]
        return "named" if any(re.match(rf"{field}\b", name) for name in ignored) else "done"

    def test_each_field_is_what_the_page_says(self):
        for protocol, (path, least, samples) in PROTOCOLS.items():
            words = told(protocol)
            self.assertEqual(set(words), set(least) | set(samples))
            for field, value in samples.items():
                with self.subTest(protocol=protocol, field=field):
                    self.assertEqual(self.found(path, least, field, value), words[field])
            for field in least:
                self.assertEqual(words[field], "done")


if __name__ == "__main__":
    unittest.main(argv=[__file__], verbosity=1)
