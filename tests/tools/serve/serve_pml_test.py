#!/usr/bin/env python3
"""PML over HTTP: schemas that clients give, prompts of them, chats that import modules, and who
leaves while modules are encoded."""
import json
import socket
import time
import unittest
import urllib.parse

from server import PATIENCE, Server, ServeTest, events

TRAVEL = """<schema name="travel">
  <system>Be brief.</system>
  <module name="plan">Plan a trip of <param name="duration" len="8"/>.</module>
  <module name="europe">Europe is old. <module name="paris">Paris lies on the Seine.</module></module>
  <module name="oslo">Oslo lies on a fjord.</module>
</schema>"""
PROMPT = '<prompt schema="travel"><plan duration="3 days"/><oslo/><user>Where to?</user></prompt>'
PARIS = {"type": "module", "module": "europe/paris"}
WHERE = {"type": "text", "text": "Where to?"}

# Bodies of POST /pml/run that cannot be meant, and what the error names.
BAD_RUNS = [
    ({"prompt": None}, "prompt", None),
    ({"prompt": ""}, "prompt", None),
    ({"prompt": 5}, "prompt", None),
    ({"prompt": "Hello"}, "prompt", (1, 1)),
    ({"prompt": "<prompt>x</prompt>"}, "prompt", (1, 1)),
    ({"prompt": '<prompt schema="travel">\n <osl/></prompt>'}, "prompt", (2, 2)),
    ({"prompt": '<prompt schema="travel">\n<oslo></prompt>'}, "prompt", (2, 9)),  # behind the tag
    ({"prompt": '<prompt schema="travel"><user>' + "x" * 5000 + "</user></prompt>"}, "prompt", None),
    ({"repair": "some"}, "repair", None),
    ({"repair": 5}, "repair", None),
    ({"temperature": 9}, "temperature", None),
    ({"n": 0}, "n", None),
    ({"prompt_cache": {"mode": "magic"}}, "prompt_cache.mode", None),
]

# Bodies of POST /pml/schemas.
BAD_SCHEMAS = [
    ({"schema": None}, "schema", None),
    ({"schema": ""}, "schema", None),
    ({"schema": ["x"]}, "schema", None),
    ({"encode": "yes"}, "encode", None),
    ({"stream": 1}, "stream", None),
    ({"schema": "text"}, "schema", (1, 1)),
    ({"schema": "<schema>text</schema>"}, "schema", (1, 1)),
    ({"schema": '<schema name="a">\n <module name="m" src="m.txt"/></schema>'}, "schema", (2, 2)),
    ({"schema": '<schema name="a">\n<modul/></schema>'}, "schema", (2, 1)),
]

# Fields of a chat that names a schema; the readers' own are in pml_requests_test.cc.
BAD_CHATS = [
    ({"schema": 5}, "schema"),
    ({"schema": "nowhere"}, "schema"),
    ({"tools": []}, "tools"),
    ({"tool_choice": "auto"}, "tool_choice"),
    ({"repair": "some"}, "repair"),
    ({"messages": [{"role": "user", "content": [{"type": "module", "module": "atlantis"}]}]}, "messages"),
    ({"messages": [{"role": "user", "content": [PARIS | {"arguments": {"duration": "x"}}]}]}, "messages"),
    ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role"),
]


class Pml(ServeTest):
    def upload(self, schema, expect=200, **fields):
        return self.server.json("POST", "/pml/schemas", {"schema": schema} | fields, expect)

    def setUp(self):
        self.upload(TRAVEL, encode=False)

    def run_prompt(self, prompt=PROMPT, **fields):
        return self.server.json("POST", "/pml/run",
                                {"prompt": prompt, "max_tokens": 6, "temperature": 0} | fields)

    def refused(self, path, body, status=400):
        got, _, data = self.server.ask("POST", path, body)
        self.assertEqual(got, status, data)
        return json.loads(data)["error"]

    def test_a_schema_is_described_encoded_and_listed(self):
        schema = TRAVEL.replace("Oslo lies", "Oslo lay").replace('"travel"', '"fresh"')
        first = self.upload(schema)
        self.assertEqual((first["object"], first["name"]), ("pml.schema", "fresh"))
        paths = [module["path"] for module in first["description"]["modules"]]
        self.assertEqual(paths, ["", "plan", "europe", "europe/paris", "oslo"])
        self.assertEqual(first["encoded"]["modules"], 5)
        again = self.upload(schema)["encoded"]
        self.assertEqual((again["modules_encoded"], again["tokens_computed"]), (0, 0))
        self.assertNotIn("encoded", self.upload(schema, encode=False))
        listed = self.server.json("GET", "/pml/schemas")
        self.assertEqual(listed["object"], "list")
        fresh = [entry for entry in listed["data"] if entry["name"] == "fresh"]
        self.assertEqual(fresh[0]["modules"], 4)
        self.assertGreater(fresh[0]["tokens"], 60)
        self.assertGreater(fresh[0]["stored_bytes"], 0)
        one = self.server.json("GET", "/pml/schemas/fresh")
        self.assertEqual(one["description"], first["description"])
        self.assertTrue(self.server.json("DELETE", "/pml/schemas/fresh")["deleted"])
        for method in ("GET", "DELETE"):
            error = self.server.json(method, "/pml/schemas/fresh", expect=404)["error"]
            self.assertEqual(error["code"], "schema_not_found")

    def test_names_are_written_in_paths_with_percent_signs(self):
        name = "\u00f8st.1"
        self.upload(f'<schema name="{name}">x</schema>')
        path = "/pml/schemas/" + urllib.parse.quote(name)
        self.assertEqual(self.server.json("GET", path)["name"], name)
        self.assertEqual(self.server.json("DELETE", path)["name"], name)
        self.assertEqual(self.server.ask("GET", "/pml/schemas/a%2")[0], 400)
        self.assertEqual(self.server.ask("GET", "/pml/schemas/")[0], 200)  # a slash behind a path says nothing
        self.assertEqual(self.server.ask("POST", "/pml/schemas/travel", {})[0], 405)

    def test_a_stream_shows_the_modules_one_by_one(self):
        schema = TRAVEL.replace("Oslo lies", "Oslo sits").replace('"travel"', '"streamed"')
        status, headers, data = self.server.ask("POST", "/pml/schemas", {"schema": schema, "stream": True})
        self.assertEqual((status, headers["content-type"]), (200, "text/event-stream"))
        stream = [(name, json.loads(text)) for name, text in events(data)]
        self.assertEqual([name for name, _ in stream], ["progress"] * (len(stream) - 1) + ["schema"])
        shown = [event for _, event in stream[:-1] if event["done"] == event["total"] == 5]
        self.assertEqual(shown[-1]["module"], "oslo")
        self.assertEqual(stream[-1][1]["encoded"]["modules"], 5)

    def test_a_schema_replaces_the_one_of_its_name(self):
        self.upload('<schema name="twice"><module name="a">A</module></schema>')
        self.upload('<schema name="twice"><module name="b">B</module></schema>')
        self.run_prompt('<prompt schema="twice"><b/></prompt>')
        error = self.refused("/pml/run", {"prompt": '<prompt schema="twice"><a/></prompt>'})
        self.assertIn("'a'", error["message"])

    def test_a_prompt_is_answered_with_its_modules(self):
        first = self.run_prompt()
        self.assertEqual(first["object"], "chat.completion")
        again = self.run_prompt()
        self.assertEqual(again["choices"], first["choices"])
        cache = again["prompt_cache"]
        self.assertEqual(cache["modules"]["encoded"], 0)
        self.assertGreaterEqual(cache["tokens"]["from_modules"], len("Oslo lies on a fjord."))
        self.assertFalse(cache["exact"])  # oslo has not seen the plan
        self.assertGreaterEqual(cache["tokens"]["approximate"], len("Oslo lies on a fjord."))
        exact = self.run_prompt('<prompt schema="travel"><oslo/><user>Where to?</user></prompt>')
        self.assertTrue(exact["prompt_cache"]["exact"])
        off = self.run_prompt(prompt_cache={"mode": "off"})["prompt_cache"]
        self.assertTrue(off["exact"])
        self.assertEqual(off["tokens"]["computed"], off["tokens"]["prompt"])

    def test_repaired_tokens_are_computed_anew(self):
        repaired = self.run_prompt(repair="leading:3")["prompt_cache"]["tokens"]
        self.assertEqual(repaired["repaired"], 3 + len("."))  # of oslo, and behind the argument
        whole = self.run_prompt(prompt_cache={"mode": "off"})
        self.assertEqual(self.run_prompt(repair="all")["choices"], whole["choices"])

    def test_modules_that_come_together_again_are_encoded_together_when_idle(self):
        self.upload("""<schema name="reports"><module name="a">The tram is red.</module>
          <module name="b">The bus is late.</module><module name="c">The ferry rests.</module></schema>""")
        def ask(imports):
            made = self.run_prompt(f'<prompt schema="reports"><user>{imports}Why?</user></prompt>')
            deadline = time.monotonic() + PATIENCE
            while self.server.metric("modules_waiting") > 0 and time.monotonic() < deadline:
                time.sleep(0.02)
            return made["prompt_cache"]
        self.assertEqual([ask("<a/><b/>")["exact"] for _ in range(4)], [False, False, False, True])
        self.assertEqual([ask(imports)["exact"] for imports in ("<b/><a/>", "<a/><c/>", "<a/><b/>")],
                         [False, False, True])

    def test_a_streamed_answer_is_the_same(self):
        whole = self.run_prompt()
        _, _, data = self.server.ask("POST", "/pml/run", {
            "prompt": PROMPT, "max_tokens": 6, "temperature": 0, "stream": True,
            "stream_options": {"include_usage": True}})
        texts = [text for _, text in events(data)]
        self.assertEqual(texts[-1], "[DONE]")
        chunks = [json.loads(text) for text in texts[:-1]]
        said = "".join(c["choices"][0]["delta"].get("content", "") for c in chunks if c["choices"])
        self.assertEqual(said, whole["choices"][0]["message"]["content"])
        self.assertEqual(chunks[-1]["prompt_cache"]["tokens"]["prompt"],
                         whole["prompt_cache"]["tokens"]["prompt"])

    def test_several_answers_come_of_one_prompt(self):
        never_ends = {"257": -100}  # </s>, which a machine's rounding may draw
        answer = self.run_prompt(n=3, seed=7, temperature=1.5, max_tokens=24, logprobs=True, logit_bias=never_ends)
        self.assertEqual(len({choice["message"]["content"] for choice in answer["choices"]}), 3)
        self.assertEqual(len(answer["choices"][2]["logprobs"]["content"]), 24)

    def test_a_prompt_is_explained(self):
        explained = self.server.json("POST", "/pml/explain", {"prompt": PROMPT})
        self.assertEqual(explained["schema"], "travel")
        self.assertIn("oslo", [run["label"] for run in explained["runs"]])
        self.refused("/pml/explain", {"prompt": '<prompt schema="nowhere"/>'}, 404)

    def test_a_chat_imports_the_modules_of_a_schema(self):
        plan = {"type": "module", "module": "plan", "arguments": {"duration": "3 days"}}
        oslo = {"type": "module", "module": "oslo"}
        asked = {"schema": "travel", "messages": [{"role": "user", "content": [plan, oslo, WHERE]}]}
        first, again = self.chat("", **asked), self.chat("", **asked)
        self.assertEqual(first["choices"], again["choices"])
        self.assertEqual(again["prompt_cache"]["modules"]["encoded"], 0)
        as_pml = self.run_prompt('<prompt schema="travel"><user><plan duration="3 days"/><oslo/>'
                                 'Where to?</user></prompt>', max_tokens=8)
        self.assertEqual(as_pml["choices"], first["choices"])
        self.assertEqual(as_pml["prompt_cache"]["tokens"], again["prompt_cache"]["tokens"])
        explained = self.server.json("POST", "/v1/prompt_cache/explain", asked)
        self.assertEqual(explained["schema"], "travel")
        self.assertEqual(self.refused("/apply-template", asked)["param"], "schema")
        nested = self.chat("", schema="travel", messages=[{"role": "user", "content": [PARIS, WHERE]}])
        self.assertGreaterEqual(nested["prompt_cache"]["tokens"]["from_modules"],
                                len("Europe is old. Paris lies on the Seine."))

    def test_prompts_that_cannot_be_meant_are_named(self):
        for path in ("/pml/run", "/pml/explain"):
            for fields, param, place in BAD_RUNS:
                if path == "/pml/explain" and fields == {"repair": "some"}:
                    continue  # what explains knows no repair but the prompt's
                with self.subTest(path, fields=str(fields)[:80]):
                    body = {"prompt": PROMPT, "max_tokens": 6} | fields
                    self.check(self.refused(path, body), param, place)
        error = self.refused("/pml/run", {"prompt": '<prompt schema="nowhere"/>', "stream": True}, 404)
        self.assertEqual((error["param"], error["code"]), ("prompt", "schema_not_found"))

    def test_schemas_that_cannot_be_meant_are_named(self):
        for streams in (False, True):
            for fields, param, place in BAD_SCHEMAS:
                with self.subTest(fields):
                    body = {"schema": TRAVEL, "stream": streams} | fields
                    self.check(self.refused("/pml/schemas", body), param, place)

    def test_chats_that_cannot_be_meant_are_named(self):
        for fields, param in BAD_CHATS:
            with self.subTest(fields):
                body = {"schema": "travel", "messages": [{"role": "user", "content": [WHERE]}]} | fields
                status = 404 if fields == {"schema": "nowhere"} else 400
                self.assertEqual(self.refused("/v1/chat/completions", body, status)["param"], param)

    def check(self, error, param, place):
        self.assertEqual(error["param"], param)
        self.assertEqual(error["type"], "invalid_request_error")
        self.assertEqual((error.get("line"), error.get("column")), place or (None, None))

    def test_answers_under_way_go_on_without_their_schema(self):
        self.upload(TRAVEL.replace('"travel"', '"leaving"'))
        body = {"prompt": PROMPT.replace('"travel"', '"leaving"'), "max_tokens": 1500, "stream": True,
                "logit_bias": {"257": -100}}
        connection = self.server.connect()
        connection.request("POST", "/pml/run", json.dumps(body))
        response = connection.getresponse()
        response.readline()
        self.server.json("DELETE", "/pml/schemas/leaving")
        self.assertTrue(response.read().endswith(b"data: [DONE]\n\n"))
        connection.close()

    def test_fields_without_a_meaning_are_named(self):
        self.assertEqual(self.run_prompt(mirostat=2)["prompt_cache"]["ignored_fields"], ["mirostat"])
        self.assertEqual(self.upload(TRAVEL, encod=False)["ignored_fields"], ["encod"])


class Limits(ServeTest):
    def test_there_is_room_for_so_many_schemas(self):
        for i in range(64):
            self.server.json("POST", "/pml/schemas", {"schema": f'<schema name="s{i}">x</schema>', "encode": False})
        body = {"schema": '<schema name="more">x</schema>', "encode": False}
        error = self.server.json("POST", "/pml/schemas", body, expect=400)["error"]
        self.assertEqual((error["param"], error["code"]), ("schema", "schema_limit_exceeded"))
        self.assertIn("more", error["message"])
        self.server.json("DELETE", "/pml/schemas/s7")
        self.server.json("POST", "/pml/schemas", body)


class Leaving(unittest.TestCase):
    N = 60
    MODULES = (f'<module name="m{i}">{i} ' + "The tower stands on the hill. " * 100 + "</module>" for i in range(N))
    LONG = '<schema name="long">' + "".join(MODULES) + "</schema>"

    def test_a_client_that_leaves_ends_the_encoding_of_its_schema(self):
        server = Server()
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
        body = json.dumps({"schema": self.LONG, "stream": True}).encode()
        connection.sendall(b"POST /pml/schemas HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                           str(len(body)).encode() + b"\r\n\r\n" + body)
        data = b""
        while b"event: progress" not in data:
            data += connection.recv(4096)
        self.assertEqual(server.json("GET", "/health"), {"status": "ok"})
        connection.close()
        deadline = time.monotonic() + PATIENCE
        while server.metric("answers_running") > 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        # What was done stays, and so does the schema.
        self.assertEqual(server.json("GET", "/pml/schemas")["data"][0]["modules"], self.N)
        again = server.json("POST", "/pml/schemas", {"schema": self.LONG})["encoded"]
        self.assertGreater(again["modules_encoded"], 0)
        self.assertLess(again["modules_encoded"], again["modules"])
        self.assertEqual(server.close(), 0)


if __name__ == "__main__":
    unittest.main(argv=[__file__], verbosity=1)
