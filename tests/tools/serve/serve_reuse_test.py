#!/usr/bin/env python3
"""What a request may reuse, by mode: tools in any order, parts that a client marks, documents that come
again; that exact reuse goes first; and that no key's states are another's."""
import hashlib
import json
import pathlib
import subprocess
import tempfile
import time
import unittest

from server import COMMAND, MODEL, PATIENCE, Server, ServeTest

TEMPLATE = """{%- if tools -%}<|im_start|>system
# Tools
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif -%}
{%- for m in messages -%}<|im_start|>{{ m.role }}
{{ m.content }}{% for call in m.tool_calls or [] %}<tool_call>
{{ {"name": call.function.name, "arguments": call.function.arguments} | tojson }}
</tool_call>{% endfor %}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}<|im_start|>assistant
{% endif -%}"""
PAGE = "The harbour lies in the south, and the tower stands on the hill above it. " * 5


def template_file(template=TEMPLATE):
    file = tempfile.NamedTemporaryFile("w", suffix=".jinja", delete=False)
    file.write(template)
    file.close()
    return file.name


TEMPLATE_FILE = template_file()


def tool(name):
    return {"type": "function", "function": {
        "name": name, "description": f"Asks for {name}, of today and of each day of the week that comes.",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}}}


class ReuseTest(ServeTest):
    ARGUMENTS = ("--chat-template", TEMPLATE_FILE)

    def ask(self, mode, content="Hello", path="/v1/chat/completions", expect=200, **fields):
        body = {"messages": [{"role": "user", "content": content}], "max_tokens": 4, "temperature": 0,
                "prompt_cache": {"mode": mode} | ({"repair": "none"} if mode in ("tools", "marked") else {})} | fields
        return self.server.json("POST", path, body, expect)

    def states(self, answer):
        return [part["state"] for part in answer["prompt_cache"]["parts"]]

    def wait_until_encoded(self):
        deadline = time.monotonic() + PATIENCE
        while self.server.metric("modules_waiting") > 0 and time.monotonic() < deadline:
            time.sleep(0.02)


class Calls(unittest.TestCase):
    """Of Qwen's kind: an answer that is a forced call, in the history of the next request."""
    def test_a_call_that_was_made_is_found_again(self):
        ending = template_file(TEMPLATE.replace("<|im_end|>", "</s>"))  # the tiny model's EOS
        server = Server("--chat-template", ending)
        self.addCleanup(server.close)
        body = {"messages": [{"role": "user", "content": "Where is it dry? " + PAGE}], "max_tokens": 200,
                "tools": [{"type": "function", "function": {"name": "rain_of_today_and_of_each_day_that_comes"}}],
                "tool_choice": "required", "temperature": 0}
        first = server.json("POST", "/v1/chat/completions", body)
        message = first["choices"][0]["message"]
        self.assertEqual(first["choices"][0]["finish_reason"], "tool_calls", first)
        again = server.json("POST", "/v1/chat/completions", body | {"messages": [
            *body["messages"], message,
            {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "Wet."}]})
        cached = again["usage"]["prompt_tokens_details"]["cached_tokens"]
        self.assertGreaterEqual(cached, first["usage"]["total_tokens"] - 8)


THOUGHTS = """{%- for m in messages -%}<|im_start|>{{ m.role }}
{% if m.role == 'assistant' and m.reasoning_content and loop.last %}<think>
{{ m.reasoning_content }}
</think>

{% endif %}{{ m.content }}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}<|im_start|>assistant
<think>
{% endif -%}"""


class NextTurns(unittest.TestCase):
    def after_an_idle_while(self, *arguments, **fields):
        """Tokens that the second request computes, and that come behind the first answer in it."""
        server = Server("--chat-template", template_file(THOUGHTS), *arguments)
        self.addCleanup(server.close)
        body = {"messages": [{"role": "user", "content": "Where is it dry? " + PAGE}], "max_tokens": 120,
                "reasoning_budget": 20, "temperature": 0, "logit_bias": {str(ord("x")): 100}}
        first = server.json("POST", "/v1/chat/completions", body)
        message = first["choices"][0]["message"]
        self.assertTrue(message["reasoning_content"], first)
        self.assertGreater(len(message["content"]), 60)
        deadline = time.monotonic() + PATIENCE
        while server.metric("modules_waiting") > 0 and time.monotonic() < deadline:
            time.sleep(0.02)
        self.prepared = server.metric("prepared_turns_total"), server.metric("prepared_tokens_total")
        history = [*body["messages"], {"role": "assistant", "content": message["content"]}]
        following = body | fields | {"messages": [*history, {"role": "user", "content": "And the hill?"}]}
        self.explained = server.json("POST", "/v1/prompt_cache/explain", following)
        self.answer = server.json("POST", "/v1/chat/completions", following)
        usage = self.answer["usage"]
        new = server.json("POST", "/tokenize", {"content": "<|im_end|>\n<|im_start|>user\nAnd the hill?<|im_end|>\n"
                                                           "<|im_start|>assistant\n<think>\n"})["tokens"]
        self.used = server.metric("prepared_turns_used_total"), server.metric("prepared_tokens_used_total")
        return usage["prompt_tokens"] - usage["prompt_tokens_details"]["cached_tokens"], len(new)

    def test_an_answer_without_its_thoughts_is_there_when_the_next_turn_comes(self):
        computed, new = self.after_an_idle_while()
        self.assertEqual(self.prepared[0], 1)
        self.assertGreater(self.prepared[1], 60)
        self.assertEqual(self.used, self.prepared)
        self.assertLessEqual(computed, new + 16)
        # And what is prepared is seen before it is used.
        self.assertLessEqual(self.explained["computed_tokens"], new + 16)

    def test_nothing_is_prepared_where_nobody_wants_it(self):
        computed, new = self.after_an_idle_while("--prepare", "off")
        self.assertEqual(self.prepared[0], 0)
        self.assertGreater(computed, new + 60)
        self.assertTrue(self.answer["prompt_cache"]["exact"])

    def test_where_there_was_no_time_the_answers_states_move_if_they_may(self):
        computed, new = self.after_an_idle_while("--prepare", "off", prompt_cache={"moves": True})
        self.assertLessEqual(computed, new + 16)
        told = self.answer["prompt_cache"]
        self.assertFalse(told["exact"])
        self.assertGreater(told["tokens"]["approximate"], 60)


class Tools(ReuseTest):
    def test_tools_are_found_in_another_order_and_company(self):
        tools = [tool(name) for name in ("rain", "snow", "sun", "wind")]
        first = self.ask("tools", tools=tools)
        self.assertEqual((first["prompt_cache"]["used"], first["prompt_cache"]["exact"]), ("prefix", True))
        self.assertTrue(any("while nobody waits" in remark for remark in first["prompt_cache"]["remarks"]), first)
        self.wait_until_encoded()
        again = self.ask("tools", tools=[tools[2], tool("fog"), tools[0], tools[3]])
        self.assertEqual((again["prompt_cache"]["used"], again["prompt_cache"]["exact"]), ("tools", False))
        self.assertEqual(self.states(again).count("miss"), 1)
        # Each keeps the slot in which it is, and the new one takes that of the tool which is gone. A token of
        # the tiny model is a byte, and two of those that stand in fit: of four tools two are in the first slot.
        self.assertEqual([part.get("slot", 0) for part in again["prompt_cache"]["parts"][-4:]], [2, 1, 0, 0])
        cached = again["usage"]["prompt_tokens_details"]["cached_tokens"]
        self.assertGreater(cached, again["usage"]["prompt_tokens"] / 2)
        self.assertEqual(again["prompt_cache"]["tokens"]["from_modules"] +
                         again["prompt_cache"]["tokens"]["from_conversations"], cached)

    def test_exact_reuse_goes_first(self):
        tools = [tool(name) for name in ("one", "two", "three", "four")]
        plain = self.ask("prefix", tools=tools)
        again = self.ask("tools", tools=tools)
        self.assertEqual(again["prompt_cache"]["used"], "prefix")
        self.assertTrue(again["prompt_cache"]["exact"])
        self.assertEqual(again["choices"], plain["choices"])
        self.assertGreater(again["usage"]["prompt_tokens_details"]["cached_tokens"], 256)

    def test_what_a_request_would_cost_can_be_asked(self):
        tools = [tool(name) for name in ("mon", "tue", "wed")]
        before = self.ask("tools", path="/v1/prompt_cache/explain", tools=tools)
        self.assertEqual((before["mode"], before["used"]), ("tools", "prefix"))
        self.ask("tools", path="/v1/prompt_cache/prewarm", tools=tools)
        self.wait_until_encoded()
        runs = self.ask("tools", path="/v1/prompt_cache/explain", tools=tools[::-1])["runs"]
        self.assertEqual([run["state"] for run in runs if run["kind"] == "cached"], ["hit"] * 4)


class Marked(ReuseTest):
    def content(self, *pages):
        parts = [{"type": "text", "text": page, "cache_control": {"type": "ephemeral"}} for page in pages]
        return parts + [{"type": "text", "text": "Which page is it?"}]

    def test_marked_parts_are_modules(self):
        a, b, c = ("A: " + PAGE, "B: " + PAGE, "C: " + PAGE)
        self.ask("marked", self.content(a, b, c))
        again = self.ask("marked", self.content(c, a))
        self.assertEqual(set(self.states(again)), {"hit"})
        self.assertEqual(again["prompt_cache"]["used"], "marked")

    def test_modules_that_were_encoded_for_a_request_were_not_cached(self):
        content = self.content("J: " + PAGE, "K: " + PAGE)
        first, again = self.ask("marked", content), self.ask("marked", content)
        self.assertEqual(self.states(first).count("miss"), 2)
        for answer in (first, again):
            details, tokens = answer["usage"]["prompt_tokens_details"], answer["prompt_cache"]["tokens"]
            there, encoded = (sum(part["tokens"] for part in answer["prompt_cache"]["parts"]
                                  if part["state"] == state) for state in ("hit", "miss"))
            cached, written = details["cached_tokens"], details["cache_write_tokens"]
            self.assertEqual((tokens["from_modules"], tokens["from_conversations"]), (there, cached - there))
            self.assertEqual(tokens["computed"], tokens["prompt"] - cached)
            self.assertEqual(answer["timings"]["cache_n"], cached)
            self.assertLessEqual(encoded, written)  # and what was asked about them, and said
            self.assertLessEqual(written, tokens["computed"] + answer["usage"]["completion_tokens"])

    def test_a_marked_part_is_found_behind_a_text_that_changes(self):
        document = {"type": "text", "text": "L: " + PAGE, "cache_control": {"type": "ephemeral"}}
        def ask(nonce):
            body = {"model": "tiny-model", "max_tokens": 4, "prompt_cache": {"mode": "marked", "repair": "none"},
                    "system": [{"type": "text", "text": f"session {nonce}"}, document],
                    "messages": [{"role": "user", "content": "Which page is it?"}]}
            return self.server.json("POST", "/v1/messages", body)
        self.assertTrue(ask("amber")["prompt_cache"]["exact"])
        self.assertTrue(ask("amber")["prompt_cache"]["exact"])  # a front that stays is seen
        self.assertIn("miss", self.states(ask("birch")))
        for nonce in ("cedar", "dune"):
            answer = ask(nonce)
            self.assertEqual(set(self.states(answer)), {"hit"})
            self.assertFalse(answer["prompt_cache"]["exact"])
            self.assertGreater(answer["usage"]["cache_read_input_tokens"], 64)

    def test_marks_mean_nothing_in_other_modes(self):
        answer = self.ask("prefix", self.content("D: " + PAGE, "E: " + PAGE))
        self.assertEqual(answer["prompt_cache"]["parts"], [])
        self.assertEqual(answer["choices"], self.ask(
            "off", "D: " + PAGE + "E: " + PAGE + "Which page is it?")["choices"])

    def test_anthropics_blocks_are_modules(self):
        body = {"model": "tiny-model", "max_tokens": 4, "system": "Be brief.", "prompt_cache": {"mode": "marked", "repair": "none"},
                "messages": [{"role": "user", "content": self.content("F: " + PAGE, "G: " + PAGE)}]}
        first = self.server.json("POST", "/v1/messages", body)
        again = self.server.json("POST", "/v1/messages", body)
        self.assertEqual(set(self.states(again)), {"hit"})
        for answer in (first, again):
            usage, parts = answer["usage"], answer["prompt_cache"]["parts"]
            self.assertGreaterEqual(usage["cache_creation_input_tokens"],
                                    sum(part["tokens"] for part in parts if part["state"] == "miss"))
            self.assertEqual(usage["input_tokens"] + usage["cache_creation_input_tokens"] +
                             usage["cache_read_input_tokens"], answer["prompt_cache"]["tokens"]["prompt"])
        self.assertGreater(first["usage"]["cache_creation_input_tokens"], 256)
        self.assertGreater(again["usage"]["cache_read_input_tokens"], 256)

    def test_the_header_names_the_mode(self):
        body = {"messages": [{"role": "user", "content": self.content("H: " + PAGE, "I: " + PAGE)}], "max_tokens": 2,
                "prompt_cache": {"repair": "none"}}
        status, _, data = self.server.ask("POST", "/v1/chat/completions", body, {"X-Prompt-Cache": "marked"})
        self.assertEqual((status, json.loads(data)["prompt_cache"]["used"]), (200, "marked"))
        for more in ({}, {"prompt_cache": {"mode": "off"}}):
            self.assertEqual(self.server.ask("POST", "/v1/chat/completions", body | more, {"X-Prompt-Cache": "magic"})[0],
                             400)


class UncheckedDocuments(ReuseTest):
    def test_without_a_check_of_answers_documents_stay_exact(self):
        for _ in range(3):
            answer = self.ask("documents", "J: " + PAGE)
        self.assertTrue(answer["prompt_cache"]["exact"])
        content = [{"type": "text", "text": t + PAGE} for t in ("K: ", "L: ")]
        for _ in range(3):
            answer = self.ask("documents", content)
        self.assertTrue(answer["prompt_cache"]["exact"])
        answer = self.ask("documents", content[::-1])
        self.assertTrue(any("check" in remark for remark in answer["prompt_cache"]["remarks"]), answer)


    def test_tools_wait_for_a_check_too(self):
        tools = [tool("rain"), tool("wind")]
        for listed in (tools, tools[::-1]):
            answer = self.ask("tools", tools=listed, prompt_cache={"mode": "tools"})["prompt_cache"]
            self.assertEqual((answer["used"], answer["exact"]), ("prefix", True), answer)
            self.assertTrue(any("check" in remark for remark in answer["remarks"]), answer)
        self.assertEqual(self.ask("tools", tools=tools[::-1])["prompt_cache"]["used"], "prefix")  # it came before


class CheckedDocuments(ReuseTest):
    def test_behind_a_check_a_document_is_a_module_the_third_time(self):
        schema = pathlib.Path(self.server.folder) / "chat.pml"
        schema.write_text("<schema name='chat'><module name='a'>A " + PAGE + "</module>"
                          "<module name='b'>B " + PAGE + "</module></schema>")
        environment = {"PROMPTCACHE_CACHE_DIR": str(self.server.cache), "PATH": "/usr/bin"}
        check = subprocess.run([COMMAND, "check", "-m", MODEL, "-t", "1", "-s", str(schema), "--answers"],
                               env=environment, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(check.returncode, 0, check.stderr)
        pages = [{"type": "text", "text": t + PAGE} for t in ("M: ", "N: ")]
        used = []
        for i in range(4):
            answer = self.ask("documents", pages if i % 2 == 0 else pages[::-1])
            used.append(answer["prompt_cache"]["used"])
            self.wait_until_encoded()
        self.assertEqual(used[:2], ["prefix", "prefix"])
        self.assertEqual(set(self.states(answer)) - {"hit"}, set(), answer["prompt_cache"])


class DocumentsInSlots(ReuseTest):
    """Their repair is named, so that no check of answers stands in front."""

    def ask_about(self, names):
        pages = [{"type": "text", "text": f"{name}: {PAGE}"} for name in names]
        body = {"messages": [{"role": "user", "content": pages}], "max_tokens": 2, "temperature": 0,
                "prompt_cache": {"mode": "documents", "repair": "none"}}
        plan = self.server.json("POST", "/v1/prompt_cache/explain", body)
        made = self.server.json("POST", "/v1/chat/completions", body)["prompt_cache"]
        self.wait_until_encoded()
        made["stand_ins"] = [run.get("stand_ins") for run in plan["runs"] if run["kind"] == "cached"]
        return made

    def test_documents_of_other_conversations_stand_in(self):
        self.assertEqual([self.ask_about(names)["used"] for names in ("ABC", "BCA")], ["prefix"] * 2)
        first = self.ask_about("CAB")  # nothing stood in front of these when they were encoded
        self.assertEqual((first["used"], first["modules"]["encoded"]), ("documents", 0), first)
        self.assertTrue(all("slot" not in part for part in first["parts"]), first)

        self.assertEqual([self.ask_about(names)["used"] for names in ("DEF", "EFD")], ["prefix"] * 2)
        moved = self.ask_about("FDE")  # each of them in another place: it is found in its slot
        self.assertEqual((moved["used"], moved["exact"], moved["modules"]["encoded"]), ("documents", False, 0), moved)
        self.assertEqual(moved["stand_ins"][-3:], [1, 2, None])
        found = self.ask_about("ED")
        self.assertEqual((found["used"], found["exact"], found["modules"]["encoded"]), ("documents", False, 0), found)
        parts = [part for part in found["parts"] if PAGE[:20] in part["text"]]
        self.assertEqual([(part["text"][0], part.get("slot"), part["state"] != "miss") for part in parts],
                         [("E", None, True), ("D", 2, True)], found)
        self.assertEqual(found["stand_ins"][-2:], [None, 2])
        again = self.ask_about("DF")
        self.assertEqual((again["used"], again["modules"]["encoded"], again["stand_ins"][-2:]),
                         ("documents", 0, [2, 1]), again)

    def test_one_document_is_exact(self):
        for _ in range(3):
            one = self.ask_about("G")
        self.assertTrue(one["exact"], one)


class DocumentsInOrder(ReuseTest):
    def test_documents_in_the_same_order_are_a_beginning(self):
        """They need not be encoded together: what was kept of the last question is that."""
        pages = [{"type": "text", "text": f"{name}: {PAGE}"} for name in "PQR"]
        for i, question in enumerate(("Why?", "Where to?", "Who?", "And then?")):
            made = self.server.json("POST", "/v1/chat/completions", {
                "messages": [{"role": "user", "content": pages + [{"type": "text", "text": question}]}],
                "max_tokens": 2, "temperature": 0, "prompt_cache": {"mode": "documents", "repair": "none"}})
            cache = made["prompt_cache"]
            self.assertEqual((cache["used"], cache["exact"]), ("prefix", True), cache)
            if i > 0:
                self.assertGreaterEqual(made["usage"]["prompt_tokens_details"]["cached_tokens"], 3 * len(PAGE), cache)


KEYS = {"ann": "secret-of-ann", "bob": "secret-of-bob"}


class Keys(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.file = pathlib.Path(tempfile.mkdtemp(prefix="serve_test.")) / "keys"
        cls.file.write_text("# who may ask\n" + "".join(
            f"{name} {hashlib.sha256(key.encode()).hexdigest()}\n" for name, key in KEYS.items()))
        cls.server = Server("--keys", str(cls.file))

    @classmethod
    def tearDownClass(cls):
        assert cls.server.close() == 0, cls.server.err

    def ask(self, headers):
        body = {"messages": [{"role": "user", "content": PAGE}], "max_tokens": 2}
        return self.server.ask("POST", "/v1/chat/completions", body, headers)

    def test_who_has_no_key_is_told_so(self):
        none, wrong = (None, "You didn't provide an API key"), ("invalid_api_key", "Incorrect API key provided")
        for headers, said in (({}, none), ({"Authorization": "Bearer wrong"}, wrong), ({"x-api-key": ""}, none),
                              ({"Authorization": "secret-of-ann"}, none), ({"x-api-key": "SECRET-OF-ANN"}, wrong)):
            status, got, data = self.ask(headers)
            self.assertEqual(status, 401)
            self.assertEqual(got["www-authenticate"], "Bearer")
            error = json.loads(data)["error"]
            self.assertEqual((error["type"], error["code"]), ("invalid_request_error", said[0]))
            self.assertTrue(error["message"].startswith(said[1]), error)
            for key in headers.values():
                self.assertNotIn(key.removeprefix("Bearer ") or "SECRET", error["message"])
        self.assertEqual(self.server.ask("GET", "/health")[0], 200)
        self.assertEqual(self.server.ask("GET", "/metrics")[0], 401)
        status, _, data = self.server.ask("POST", "/v1/messages", {}, {"x-api-key": "?"})
        self.assertEqual((status, json.loads(data)["error"]["type"]), (401, "authentication_error"))

    def test_no_key_finds_what_another_computed(self):
        def cached(headers):
            status, _, data = self.ask(headers)
            self.assertEqual(status, 200)
            return json.loads(data)["usage"]["prompt_tokens_details"]["cached_tokens"]
        ann, bob = ({"Authorization": "Bearer " + KEYS["ann"]}, {"x-api-key": KEYS["bob"]})
        self.assertLessEqual(cached(ann), 1)  # BOS, which the tokenizer adds
        self.assertGreater(cached(ann), 256)
        self.assertLessEqual(cached(bob), 1)
        self.assertGreater(cached(bob), 256)

    def test_a_file_that_is_no_list_of_keys_is_refused_by_its_line(self):
        for text, named in (("ann\n", ":1:"), ("# x\nann 12\n", ":2:"), ("a/b " + "0" * 64, ":1:"), ("", "no key"),
                            (f"a {'0' * 64}\nb {'0' * 64}\n", ":2:")):
            bad = self.file.with_name("bad")
            bad.write_text(text)
            server = Server("--keys", str(bad))
            self.assertEqual(server.close(), 1)
            self.assertIn(named, server.err)
        bad.chmod(0o666)
        server = Server("--keys", str(bad))
        self.assertEqual(server.close(), 1)
        self.assertIn("chmod", server.err)


if __name__ == "__main__":
    unittest.main(argv=[__file__], verbosity=1)
