#!/usr/bin/env python3
"""Answers that must be JSON, valid by a schema, or a call of a tool: in each protocol, drawn at random
from a model that knows nothing of any."""
import json
import tempfile
import unittest

from calling_model import CHANNEL_CONTROLS, CHANNEL_TEMPLATE, PARAMETER_CONTROLS, PARAMETER_TEMPLATE, TOLD_CONTROLS, TOLD_TEMPLATE
from calling_model import write_with_controls as write_model_with_controls
from serve_reuse_test import TEMPLATE_FILE, tool
from server import ServeTest, events

SCHEMA = {"type": "object", "additionalProperties": False, "required": ["name", "age", "tags"], "properties": {
    "name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "minimum": 0, "maximum": 150},
    "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3}}}


def is_valid(value):
    return (set(value) == {"name", "age", "tags"} and len(value["name"]) <= 12 and 0 <= value["age"] <= 150 and
            len(value["tags"]) <= 3 and set(value["tags"]) <= {"a", "b"})


class FormatTest(ServeTest):
    ARGUMENTS = ("--chat-template", TEMPLATE_FILE)

    def ask(self, path="/v1/chat/completions", expect=200, **fields):
        body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1500, "temperature": 1} | fields
        return self.server.json("POST", path, body, expect)


class Json(FormatTest):
    FORMAT = {"type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA}}

    def test_an_answer_is_valid_by_its_schema(self):
        for seed in range(5):
            choices = self.ask(response_format=self.FORMAT, seed=seed, n=2)["choices"]
            for choice in choices:
                self.assertEqual(choice["finish_reason"], "stop")
                self.assertTrue(is_valid(json.loads(choice["message"]["content"])), choice)

    def test_a_stream_of_it_is_too(self):
        body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1500, "stream": True, "seed": 3,
                "response_format": self.FORMAT}
        _, _, data = self.server.ask("POST", "/v1/chat/completions", body)
        chunks = [json.loads(text) for _, text in events(data) if text != "[DONE]"]
        said = "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks if c["choices"])
        self.assertTrue(is_valid(json.loads(said)))

    def test_any_object(self):
        bias = {str(ord("}")): 4}  # a model that knows nothing goes on for ever
        for seed in range(5):
            choice = self.ask(response_format={"type": "json_object"}, seed=seed, logit_bias=bias)["choices"][0]
            if choice["finish_reason"] == "stop":
                self.assertIsInstance(json.loads(choice["message"]["content"]), dict)

    def test_responses_have_the_same(self):
        answer = self.server.json("POST", "/v1/responses", {
            "model": "tiny-model", "input": "Hi", "max_output_tokens": 1500,
            "text": {"format": {"type": "json_schema", "name": "person", "schema": SCHEMA}}})
        self.assertTrue(is_valid(json.loads(answer["output"][0]["content"][0]["text"])))

    def test_a_form_is_held_to_in_the_words_of_other_servers(self):
        for asked in ({"response_format": {"type": "json_object", "schema": SCHEMA}}, {"json_schema": SCHEMA},
                      {"guided_json": SCHEMA}, {"structured_outputs": {"json": SCHEMA}}):
            with self.subTest(asked):
                answer = self.ask(seed=4, **asked)
                self.assertTrue(is_valid(json.loads(answer["choices"][0]["message"]["content"])))
                self.assertEqual(answer["prompt_cache"]["ignored_fields"], [])
        for asked in ({"guided_choice": ["harbour", "hill"]}, {"structured_outputs": {"choice": ["harbour", "hill"]}}):
            said = {self.ask(seed=seed, **asked)["choices"][0]["message"]["content"] for seed in range(8)}
            self.assertLessEqual(said, {"harbour", "hill"})
        text = self.server.json("POST", "/v1/completions", {
            "prompt": "Hi", "max_tokens": 1500, "json_schema": SCHEMA})["choices"][0]["text"]
        self.assertTrue(is_valid(json.loads(text)))
        said = {self.ask(seed=seed, grammar='root ::= "harbour" [0-9]{2} | "hill" r\nr ::= "!" r | "."')
                ["choices"][0]["message"]["content"] for seed in range(8)}
        for text in said:
            self.assertRegex(text, r"^(harbour[0-9]{2}|hill!*\.?)$")
        self.assertIn("may begin with itself", self.ask(expect=400, grammar='root ::= root "a"')["error"]["message"])
        for asked in ({"grammar": "root ::= "}, {"grammar": "a"}, {"grammar": 5}, {"guided_regex": "a"}):
            self.assertEqual(self.ask(expect=400, **asked)["error"]["param"], next(iter(asked)))

    def test_anthropics_messages_have_the_same(self):
        form = {"type": "json_schema", "schema": SCHEMA}
        for asked in ({"output_config": {"format": form}}, {"output_format": form}):
            answer = self.server.json("POST", "/v1/messages", {
                "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1500} | asked)
            self.assertTrue(is_valid(json.loads(answer["content"][0]["text"])))

    def test_what_cannot_be_held_to_is_named(self):
        for schema, named in (({"$ref": "a.json"}, "$ref"), ({"type": "nothing"}, "type"),
                              ({"properties": {"a": {"contains": {}, "minContains": 99}}}, "minContains")):
            error = self.ask(expect=400, response_format={
                "type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}})["error"]
            self.assertIn(named, error["message"])
            self.assertEqual(error["param"], "response_format.json_schema.schema")

    def test_without_strict_what_cannot_be_held_to_is_told_with_the_answer(self):
        schema = {"type": "object", "required": ["a"], "$dynamicRef": "#a",
                  "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 99}}, "additionalProperties": False}
        answer = self.ask(response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": schema}})
        self.assertIn(json.loads(answer["choices"][0]["message"]["content"])["a"], range(100))
        self.assertEqual(answer["prompt_cache"]["remarks"],
                         ['response_format.json_schema.schema: "$dynamicRef" is not enforced'])

    def test_formats_that_are_none_are_refused(self):
        for bad, param in (({"type": "xml"}, "response_format.type"),
                           ({"type": "json_schema"}, "response_format.json_schema.schema"),
                           ("json", "response_format")):
            self.assertEqual(self.ask(expect=400, response_format=bad)["error"]["param"], param)


class Calls(FormatTest):
    TOOLS = [tool("rain"), tool("sun")]
    TOOLS[1]["function"]["parameters"] = SCHEMA

    def call(self, choice, **fields):
        answer = self.ask(tools=self.TOOLS, tool_choice=choice, **fields)["choices"][0]
        self.assertEqual(answer["finish_reason"], "tool_calls", answer)
        self.assertIsNone(answer["message"]["content"])
        [call] = answer["message"]["tool_calls"]
        return call["function"]["name"], json.loads(call["function"]["arguments"])

    def test_a_tool_that_is_named_is_called(self):
        for seed in range(3):
            name, arguments = self.call({"type": "function", "function": {"name": "sun"}}, seed=seed)
            self.assertEqual(name, "sun")
            self.assertTrue(is_valid(arguments))

    def test_some_tool_must_be_called(self):
        # Strings without an end would need luck: "x" and the quote are likelier.
        bias = {str(ord('"')): 6}
        names = {self.call("required", seed=seed, logit_bias=bias)[0] for seed in range(6)}
        self.assertLessEqual(names, {"rain", "sun"})

    def test_a_tool_without_parameters_takes_none(self):
        for function in ({"name": "now"}, {"name": "now", "parameters": {"type": "object", "properties": {}}}):
            answers = [self.ask(tools=[{"type": "function", "function": function}], tool_choice="required", seed=seed)
                       for seed in range(3)]
            calls = [answer["choices"][0]["message"]["tool_calls"][0]["function"] for answer in answers]
            self.assertEqual([call["arguments"] for call in calls], ["{}"] * 3)

    def test_tools_of_other_kinds_are_left_out_and_told(self):
        answer = self.ask(tools=[{"type": "web_search"}, *self.TOOLS], tool_choice={
            "type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "sun"}]})
        [call] = answer["choices"][0]["message"]["tool_calls"]
        self.assertTrue(is_valid(json.loads(call["function"]["arguments"])))
        self.assertEqual(answer["prompt_cache"]["ignored_fields"], ["tools[0]"])
        self.assertIn("web_search", answer["prompt_cache"]["remarks"][0])

    def test_anthropics_choice_has_the_same_meaning(self):
        tools = [{"name": "sun", "description": "x", "input_schema": SCHEMA}]
        for choice in ({"type": "any"}, {"type": "tool", "name": "sun"}):
            answer = self.server.json("POST", "/v1/messages", {
                "model": "tiny-model", "max_tokens": 1500, "messages": [{"role": "user", "content": "Hi"}],
                "tools": tools, "tool_choice": choice})
            self.assertEqual(answer["stop_reason"], "tool_use")
            self.assertTrue(is_valid(answer["content"][0]["input"]))

    def test_two_tools_of_one_name_are_refused(self):
        error = self.server.json("POST", "/v1/messages", {
            "model": "tiny-model", "max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}],
            "tools": [{"name": "sun", "input_schema": SCHEMA}] * 2}, 400)["error"]
        self.assertIn('two tools are called "sun"', error["message"])

    def test_choices_that_cannot_be_meant_are_named(self):
        for choice in ("any", 5, {"type": "function", "function": {"name": "snow"}}, {"type": "auto"}):
            error = self.ask(expect=400, tools=self.TOOLS, tool_choice=choice)["error"]
            self.assertIn("tool_choice", error["param"])
        self.assertEqual(self.ask(expect=400, tool_choice="required")["error"]["param"], "tool_choice")


class ControlTokens(ServeTest):
    """A template whose words around calls are control tokens, as Mistral's are."""

    write_model = staticmethod(write_model_with_controls)

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.write_model(cls.folder.name)
        cls.OPTIONS = {"model": cls.folder.name}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.folder.cleanup()

    def is_drawn_right(self, drawn):
        return drawn[:5] == ["[TOOL_CALLS]", "s", "u", "n", "[ARGS]"]

    def test_a_forced_call_begins_with_its_token(self):
        body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1500, "logprobs": True,
                "tools": Calls.TOOLS, "tool_choice": {"type": "function", "function": {"name": "sun"}}}
        for seed in range(3):
            choice = self.server.json("POST", "/v1/chat/completions", body | {"seed": seed})["choices"][0]
            [call] = choice["message"]["tool_calls"]
            self.assertEqual(call["function"]["name"], "sun")
            self.assertTrue(is_valid(json.loads(call["function"]["arguments"])))
            drawn = [token["token"] for token in choice["logprobs"]["content"]]
            self.assertTrue(self.is_drawn_right(drawn), drawn)


class Auto:
    """Calls that may be made, beside what else is asked for."""

    CALLS = {"logit_bias": {"259": 50}, "parallel_tool_calls": False}  # a call begins with that token

    def ask(self, **fields):
        body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1500, "tools": Calls.TOOLS}
        return self.server.json("POST", "/v1/chat/completions", body | fields)

    def test_calls_of_a_strict_tool_are_held_to_its_schema_where_it_may_be_called(self):
        strict = [{"type": "function", "function": tool["function"] | {"strict": True}} for tool in Calls.TOOLS[1:]]
        for seed in range(3):
            answer = self.ask(seed=seed, tools=strict, **self.CALLS)
            [call] = answer["choices"][0]["message"]["tool_calls"]
            self.assertTrue(is_valid(json.loads(call["function"]["arguments"])))
            self.assertEqual(answer["prompt_cache"]["ignored_fields"], [])
            never = self.ask(seed=seed, tools=strict, logit_bias={"259": -100}, max_tokens=20)["choices"][0]
            self.assertNotIn("tool_calls", never["message"])
            self.assertTrue(never["message"]["content"])
        self.assertEqual(answer["prompt_cache"]["remarks"], [])

    def test_a_choice_of_fewer_tools_leaves_the_prompt_as_it_is(self):
        n_tokens = self.ask(max_tokens=1)["usage"]["prompt_tokens"]
        allowed = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "sun"}]}
        for seed in range(3):
            none = self.ask(seed=seed, tool_choice="none", max_tokens=20, **self.CALLS)
            self.assertEqual(none["usage"]["prompt_tokens"], n_tokens)
            self.assertNotIn("tool_calls", none["choices"][0]["message"])
            self.assertTrue(none["choices"][0]["message"]["content"])
            one = self.ask(seed=seed, tool_choice=allowed, **self.CALLS)
            self.assertEqual(one["usage"]["prompt_tokens"], n_tokens)
            self.assertEqual(one["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "sun")

    def test_a_form_beside_tools_is_the_form_or_a_call(self):
        form = {"type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": SCHEMA}}
        for fields, is_call in (({"logit_bias": {"259": -100}}, False), (self.CALLS, True)):
            for seed in range(3):
                choice = self.ask(response_format=form, seed=seed, **fields)["choices"][0]
                self.assertEqual("tool_calls" in choice["message"], is_call)
                if not is_call:
                    self.assertTrue(is_valid(json.loads(choice["message"]["content"])))
                    continue
                [call] = choice["message"]["tool_calls"]
                self.assertIn(call["function"]["name"], ("rain", "sun"))
                self.assertIsInstance(json.loads(call["function"]["arguments"]), dict)
                self.assertIsNone(choice["message"]["content"])

    def test_a_form_beside_tools_is_streamed_as_it_arises(self):
        form = {"type": "json_schema", "json_schema": {"name": "x", "schema": {
            "type": "object", "properties": {"type": {"type": "string", "minLength": 20, "maxLength": 30}},
            "required": ["type"], "additionalProperties": False}}}
        _, _, data = self.server.ask("POST", "/v1/chat/completions", {
            "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 300, "stream": True,
            "tools": Calls.TOOLS, "response_format": form, "logit_bias": {"259": -100}})
        chunks = [json.loads(text) for _, text in events(data) if text != "[DONE]"]
        said = [c["choices"][0]["delta"]["content"] for c in chunks
                if c["choices"] and c["choices"][0]["delta"].get("content")]
        self.assertGreater(len(said), 20)
        self.assertGreaterEqual(len(json.loads("".join(said))["type"]), 20)

    def test_the_other_protocols_take_a_form_beside_tools(self):
        form = {"type": "json_schema", "name": "person", "schema": SCHEMA}
        answer = self.server.json("POST", "/v1/responses", {
            "input": "Hi", "max_output_tokens": 1500, "text": {"format": form},
            "tools": [{"type": "function", **tool["function"]} for tool in Calls.TOOLS]})
        [item] = answer["output"]
        if item["type"] == "message":
            self.assertTrue(is_valid(json.loads(item["content"][0]["text"])))
        else:
            self.assertIsInstance(json.loads(item["arguments"]), dict)
        answer = self.server.json("POST", "/v1/messages", {
            "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1500,
            "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
            "tools": [{"name": "sun", "input_schema": SCHEMA}]})
        [block] = answer["content"]
        self.assertTrue(is_valid(json.loads(block["text"]) if block["type"] == "text" else block["input"]))


class Headers(Auto, ControlTokens):
    """[TOOL_CALLS]NAME[ARGS]{...}"""


class Parameters(Auto, ControlTokens):
    """One that writes parameter by parameter."""

    @staticmethod
    def write_model(folder):
        write_model_with_controls(folder, PARAMETER_TEMPLATE, PARAMETER_CONTROLS)

    def is_drawn_right(self, drawn):
        return drawn[:5] == ["<call>", "\n", "s", "u", "n"] and drawn.count("</value>") == 3 and drawn[-1] == "</call>"

    def test_what_cannot_be_written_so_is_named(self):
        tools = [tool("rain")]
        tools[0]["function"] |= {"strict": True, "parameters": {"type": "object", "anyOf": [{}]}}
        error = self.server.json("POST", "/v1/chat/completions", {
            "messages": [{"role": "user", "content": "Hi"}], "tools": tools, "tool_choice": "required"}, 400)["error"]
        self.assertIn("anyOf", error["message"])
        self.assertIn("tools[0].function.parameters", error["message"])
        tools[0]["function"] = {"name": "let it rain"}
        error = self.server.json("POST", "/v1/chat/completions", {
            "messages": [{"role": "user", "content": "Hi"}], "tools": tools, "tool_choice": "required"}, 400)["error"]
        self.assertEqual(error["param"], "tools[0].function.name")


class Channels(ControlTokens):
    """One that answers by messages in channels, as gpt-oss: what has a recipient is a call."""

    @staticmethod
    def write_model(folder):
        write_model_with_controls(folder, CHANNEL_TEMPLATE, CHANNEL_CONTROLS)

    def is_drawn_right(self, drawn):
        return "".join(drawn).startswith(" to=functions.sun<|channel|>commentary json<|message|>{") and drawn[-1] == "}"

    def test_a_call_is_streamed_as_it_arises(self):
        _, _, data = self.server.ask("POST", "/v1/chat/completions", {
            "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1500, "stream": True, "tools": Calls.TOOLS,
            "tool_choice": {"type": "function", "function": {"name": "sun"}}})
        choices = [choice for _, text in events(data) if text != "[DONE]" for choice in json.loads(text)["choices"]]
        deltas = [choice["delta"] for choice in choices]
        self.assertEqual(choices[-1]["finish_reason"], "tool_calls")  # <|call|> is no part of the text
        calls = [call["function"] for delta in deltas for call in delta.get("tool_calls", [])]
        self.assertEqual([call["name"] for call in calls if call.get("name")], ["sun"])
        self.assertTrue(is_valid(json.loads("".join(call.get("arguments", "") for call in calls))))
        self.assertFalse(any(delta.get("content") for delta in deltas))


class Told(Auto, ControlTokens):
    """One that tells how calls are written, and writes none itself, as SmolLM3's."""

    ASKED = {"role": "user", "content": "Hi"}
    CALLED = '<call>\n{"name": "sun", "arguments": {"name": "%s", "tags": ["a", "b"]}}\n</call>'

    @staticmethod
    def write_model(folder):
        write_model_with_controls(folder, TOLD_TEMPLATE, TOLD_CONTROLS)

    def is_drawn_right(self, drawn):
        return drawn[:2] == ["<call>", "\n"] and drawn[-2:] == ["\n", "</call>"]

    def conversation(self, name):
        arguments = json.dumps({"name": name, "tags": ["a", "b"]}, separators=(",", ":"))
        call = {"id": "call_1", "type": "function", "function": {"name": "sun", "arguments": arguments}}
        return [self.ASKED, {"role": "assistant", "content": "Let me see.", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "call_1", "content": "bright"}]

    def test_what_was_called_stands_in_the_answers_text(self):
        for name in ("Ada", "</call>"):
            body = {"messages": self.conversation(name), "tools": Calls.TOOLS}
            text = self.server.json("POST", "/apply-template", body)["prompt"]
            self.assertIn("<|im_start|>assistant\nLet me see.\n" + self.CALLED % name + "<|im_end|>\n", text)
            self.assertIn("<|im_start|>tool\nbright<|im_end|>\n", text)
            # Bytes are tokens, and so are control tokens: the example's and the call's, not its arguments'.
            answer = self.server.json("POST", "/v1/chat/completions", body | {"max_tokens": 1})
            inside_words = 2 * (len("<call>") - 1 + len("</call>") - 1)
            self.assertEqual(answer["usage"]["prompt_tokens"], 1 + len(text.encode()) - inside_words)  # <s>

    def test_a_conversation_with_calls_needs_no_tools(self):
        text = self.server.json("POST", "/apply-template", {"messages": self.conversation("Ada")})["prompt"]
        self.assertIn(self.CALLED % "Ada", text)

    def test_anthropics_calls_too(self):
        openai = self.conversation("Ada")
        call = openai[1]["tool_calls"][0]["function"]
        anthropic = [openai[0], {"role": "assistant", "content": [
            {"type": "text", "text": "Let me see."},
            {"type": "tool_use", "id": "call_1", "name": "sun", "input": json.loads(call["arguments"])}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "bright"}]}]
        wanted = self.server.json("POST", "/v1/chat/completions", {"messages": openai, "max_tokens": 1})["usage"]
        usage = self.server.json("POST", "/v1/messages", {"messages": anthropic, "max_tokens": 1})["usage"]
        self.assertEqual(sum(usage[key] for key in usage if key.endswith("input_tokens")), wanted["prompt_tokens"])


class Lost(ControlTokens):
    """One that says and writes nothing of calls."""

    @staticmethod
    def write_model(folder):
        write_model_with_controls(folder, TOLD_TEMPLATE.replace("Write ", "").replace("<name>", "it"), TOLD_CONTROLS)

    def test_a_forced_call_begins_with_its_token(self):
        body = {"messages": [Told.ASKED], "tools": Calls.TOOLS, "tool_choice": "required"}
        self.assertEqual(self.server.json("POST", "/v1/chat/completions", body, 400)["error"]["param"], "tools")

    def test_calls_of_before_are_not_lost_in_silence(self):
        call = {"id": "a", "type": "function", "function": {"name": "sun", "arguments": "{}"}}
        error = self.server.json("POST", "/v1/chat/completions", {"messages": [
            Told.ASKED, {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "content": "bright"}]}, 400)["error"]
        self.assertIn("writes no calls of tools: those of message 2 would be lost", error["message"])
        self.assertEqual(error["param"], "messages")


if __name__ == "__main__":
    unittest.main(argv=[__file__], verbosity=1)
