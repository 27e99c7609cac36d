#!/usr/bin/env python3
"""Conversations that are longer than the context window: refused, or answered without their oldest turns,
the same ones from turn to turn."""
import json
import tempfile
import unittest

from server import ServeTest

TEMPLATE = """{%- for tool in tools or [] -%}<|im_start|>tool
{{ tool | tojson }}<|im_end|>
{% endfor -%}{%- for m in messages -%}<|im_start|>{{ m.role }}
{{ m.content or "" }}{% for call in m.tool_calls or [] %}<tool_call>
{{ {"name": call.function.name, "arguments": call.function.arguments} | tojson }}
</tool_call>{% endfor %}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}<|im_start|>assistant
{% endif -%}"""

WINDOW = 2048
CHATTER = "The harbour lies in the south, and the tower stands on the hill above it. "


def template_file(template):
    with tempfile.NamedTemporaryFile("w", suffix=".jinja", delete=False) as file:
        file.write(template)
    return file.name


def question(number):
    return {"role": "user", "content": f"Question {number}. {CHATTER}"}


def call(number):
    return {"role": "assistant", "content": None, "tool_calls": [
        {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{\"at\": 1}"}}]}


class OverflowTest(ServeTest):
    ARGUMENTS = ("--context", str(WINDOW), "--chat-template", template_file(TEMPLATE))

    def ask(self, messages, overflow="slide", expect=200, **fields):
        body = {"messages": messages, "max_tokens": 8, "temperature": 0,
                "prompt_cache": {"overflow": overflow}} | fields
        return self.server.json("POST", "/v1/chat/completions", body, expect)

    def test_without_a_choice_it_is_refused(self):
        messages = [question(i // 2) if i % 2 == 0 else {"role": "assistant", "content": CHATTER}
                    for i in range(91)]
        for overflow in (None, "stop"):
            error = self.ask(messages, overflow, 400)["error"]
            self.assertEqual(error["code"], "context_length_exceeded")
        self.assertIn("must be one of", self.ask(messages, "spin", 400)["error"]["message"])

    def test_a_conversation_of_many_windows_goes_on(self):
        messages = [{"role": "system", "content": "Be brief."}]
        dropped, slides = 0, 0
        for turn in range(120):
            messages.append(question(turn))
            answer = self.ask(messages)
            cache, usage = answer["prompt_cache"], answer["usage"]
            messages.append({"role": "assistant", "content": answer["choices"][0]["message"]["content"]})
            self.assertLess(usage["prompt_tokens"], WINDOW)
            self.assertTrue(cache["exact"])
            self.assertGreaterEqual(cache["dropped_messages"], dropped)
            self.assertEqual(cache["dropped_messages"] % 2, 0)  # a question goes with its answer
            if cache["dropped_messages"] == dropped:
                if turn > 0:  # what is left is found; the new turn is computed
                    self.assertLess(cache["tokens"]["computed"], WINDOW // 4)
            else:
                slides += 1
                self.assertTrue(any("oldest messages went" in remark for remark in cache["remarks"]), cache["remarks"])
            dropped = cache["dropped_messages"]
        self.assertGreater(slides, 5)
        self.assertLess(slides, 40)  # several turns between two

    def test_what_is_left_is_a_conversation_as_any_other(self):
        messages = [{"role": "system", "content": "Be brief."}]
        for turn in range(30):
            messages += [question(turn), {"role": "assistant", "content": CHATTER}]
        messages.append(question(30))
        long = self.ask(messages)
        left = [messages[0]] + messages[1 + long["prompt_cache"]["dropped_messages"]:]
        short = self.ask(left, prompt_cache={"overflow": "stop", "mode": "off"})
        self.assertEqual(long["usage"]["prompt_tokens"], short["usage"]["prompt_tokens"])
        self.assertEqual(long["choices"][0]["message"], short["choices"][0]["message"])

    def test_of_one_question_with_many_calls_the_oldest_calls_go_with_their_results(self):
        messages = [question(0)]
        for number in range(24):
            messages += [call(number), {"role": "tool", "tool_call_id": f"c{number}", "content": CHATTER}]
        messages.append({"role": "assistant", "content": "That is it."})
        messages.append({"role": "tool", "tool_call_id": "c23", "content": "Well?"})
        answer = self.ask(messages)
        self.assertGreater(answer["prompt_cache"]["dropped_messages"], 8)
        self.assertEqual(answer["prompt_cache"]["dropped_messages"] % 2, 0)

    def test_tools_count_as_what_stays(self):
        tools = [{"type": "function", "function": {"name": f"tool_{i}", "description": CHATTER,
                                                   "parameters": {"type": "object", "properties": {}}}}
                 for i in range(6)]
        messages, dropped, slides = [], 0, 0
        for turn in range(40):
            messages.append(question(turn))
            answer = self.ask(messages, tools=tools, tool_choice="auto")
            messages.append({"role": "assistant", "content": "Well."})
            slides += answer["prompt_cache"]["dropped_messages"] > dropped
            dropped = answer["prompt_cache"]["dropped_messages"]
        self.assertGreater(slides, 3)
        self.assertLess(slides, 20)

    def test_what_does_not_fit_by_itself_is_refused(self):
        error = self.ask([question(0), {"role": "assistant", "content": "Yes."},
                          {"role": "user", "content": CHATTER * 60}], expect=400)["error"]
        self.assertEqual(error["code"], "context_length_exceeded")

    def test_responses_say_it_as_openai_does(self):
        items = [{"role": ("user", "assistant")[i % 2], "content": CHATTER} for i in range(91)]
        body = {"input": items, "max_output_tokens": 16, "temperature": 0}
        self.server.json("POST", "/v1/responses", body, 400)
        answer = self.server.json("POST", "/v1/responses", body | {"truncation": "auto"})
        self.assertEqual(answer["truncation"], "auto")
        self.assertLess(answer["usage"]["input_tokens"], WINDOW)
        self.assertIn("must be one of", json.dumps(
            self.server.json("POST", "/v1/responses", body | {"truncation": "some"}, 400)))


class DefaultTest(ServeTest):
    ARGUMENTS = ("--context", str(WINDOW), "--overflow", "slide")

    def test_the_servers_choice_is_for_requests_that_say_nothing(self):
        messages = [{"role": ("user", "assistant")[i % 2], "content": CHATTER} for i in range(91)]
        body = {"messages": messages, "max_tokens": 4}
        answer = self.server.json("POST", "/v1/chat/completions", body)
        self.assertGreater(answer["prompt_cache"]["dropped_messages"], 0)
        anthropic = self.server.json("POST", "/v1/messages", body | {"model": "tiny-model"})
        self.assertLess(anthropic["usage"]["input_tokens"], WINDOW)
        self.server.json("POST", "/v1/chat/completions", body | {"prompt_cache": {"overflow": "stop"}}, 400)


if __name__ == "__main__":
    unittest.main(argv=[__file__], verbosity=1)
