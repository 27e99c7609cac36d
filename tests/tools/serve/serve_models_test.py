#!/usr/bin/env python3
"""Several models of one server: each by its name, loaded when it is asked for, within a budget."""
import json
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest

from server import COMMAND, MODEL, PATIENCE, Server, ServeTest

SCHEMA = '<schema name="guide"><module name="tower">The tower stands on the hill.</module></schema>'
PROMPT = '<prompt schema="guide"><tower/><user>Where is it?</user></prompt>'
WEIGHT_BYTES = json.loads(subprocess.run([COMMAND, "model", "info", "-m", MODEL, "--json"], check=True,
                                         capture_output=True).stdout)["weight_bytes"]


def ask(server, model, content="Where is the harbour?", **fields):
    body = {"messages": [{"role": "user", "content": content}], "max_tokens": 8, "temperature": 0}
    return server.json("POST", "/v1/chat/completions", body | ({"model": model} if model else {}) | fields)


def ask_at_once(test):
    """Three clients of each model, at once."""
    names = [model["id"] for model in test.server.json("GET", "/v1/models")["data"]]
    found = []

    def client(name):
        for _ in range(4):
            found.append((name, ask(test.server, name)["model"]))

    threads = [threading.Thread(target=client, args=(name,)) for name in names * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    test.assertEqual(len(found), 4 * len(threads))
    test.assertTrue(all(asked == answered for asked, answered in found))


class Names(ServeTest):
    ARGUMENTS = ("--name", "first", "--alias", "gpt/4", "--add-model", f"second={MODEL}", "--alias", "second=other")

    def test_a_model_answers_to_its_other_names(self):
        for name, model in (("gpt/4", "first"), ("other", "second"), ("second", "second")):
            self.assertEqual(ask(self.server, name)["model"], model)
            self.assertEqual(self.server.json("GET", "/v1/models/" + name)["id"], model)
        listed = self.server.json("GET", "/v1/models")["data"]
        self.assertEqual([model["aliases"] for model in listed], [["gpt/4"], ["other"]])
        body = {"model": "third", "messages": [{"role": "user", "content": "Hi"}]}
        self.assertIn("does not exist here", self.server.json("POST", "/v1/chat/completions", body, 404)["error"]["message"])

    def test_names_that_are_taken_are_refused_at_the_start(self):
        for alias, said in (("first", "first is called so"), ("a=b", "names no model"), ("", "names no model")):
            run = subprocess.run([COMMAND, "serve", "-m", MODEL, "--name", "first", "--alias", alias],
                                 capture_output=True, text=True)
            self.assertEqual(run.returncode, 2)
            self.assertIn(said, run.stderr)


class AnyName(ServeTest):
    ARGUMENTS = ("--name", "first", "--any-model")

    def test_whatever_is_asked_for_is_the_first(self):
        for name in ("gpt-4o", "first", ""):
            self.assertEqual(ask(self.server, name)["model"], "first")


class Models(ServeTest):
    """Two fit, three do not."""
    ARGUMENTS = ("--name", "first", "--add-model", f"second={MODEL}", "--add-model", MODEL,
                 "--model-template", "second=llama2",
                 "--model-memory", str(WEIGHT_BYTES * 2 + WEIGHT_BYTES // 2))

    def loaded(self):
        models = self.server.json("GET", "/v1/models")["data"]
        return {model["id"] for model in models if model["loaded"]}

    def test_each_answers_by_its_name_and_the_longest_unused_gives_way(self):
        names = [model["id"] for model in self.server.json("GET", "/v1/models")["data"]]
        third = pathlib.Path(MODEL).name
        self.assertEqual(names, ["first", "second", third])
        loads = self.server.metric("model_loads_total")
        answers = [ask(self.server, name) for name in ("first", "second", third, "first", "", "first")]
        self.assertEqual([answer["model"] for answer in answers],
                         ["first", "second", third, "first", "first", "first"])
        self.assertEqual(self.loaded(), {"first", third})
        texts = {answer["model"]: answer["choices"][0]["message"]["content"] for answer in answers}
        self.assertEqual(texts[third], texts["first"])  # the same model, and template
        self.assertIn(self.server.metric("model_loads_total") - loads, (2, 3))  # of which the first two may be there

    def test_one_that_is_not_loaded_is_listed_without_what_is_not_known(self):
        models = {model["id"]: model for model in self.server.json("GET", "/v1/models")["data"]}
        for name, model in models.items():
            self.assertEqual("max_model_len" in model, model["loaded"], name)
            self.assertEqual(self.server.json("GET", "/v1/models/" + name), model)

    def test_an_unknown_name_is_refused_with_those_that_there_are(self):
        for method, path, body in (("POST", "/v1/chat/completions", {"model": "none", "messages": []}),
                                   ("POST", "/tokenize", {"model": "none", "content": "a"}),
                                   ("GET", "/v1/models/none", None), ("GET", "/pml/schemas?model=none", None)):
            error = self.server.json(method, path, body, expect=404)["error"]
            self.assertEqual((error["code"], error["param"]), ("model_not_found", "model"), path)
            self.assertIn('"first"', error["message"])

    def test_a_schema_is_one_models_and_outlives_its_place_in_memory(self):
        self.server.json("POST", "/pml/schemas", {"schema": SCHEMA, "model": "second"})
        names = [model["id"] for model in self.server.json("GET", "/v1/models")["data"]]
        run = {"prompt": PROMPT, "max_tokens": 4, "temperature": 0}
        before = self.server.json("POST", "/pml/run", run | {"model": "second"})
        for name in (names[2], "first"):
            ask(self.server, name)
        self.assertNotIn("second", self.loaded())
        again = self.server.json("POST", "/pml/run", run | {"model": "second"})
        self.assertEqual(again["choices"], before["choices"])
        self.assertEqual(again["prompt_cache"]["modules"]["encoded"], 0)
        listed = self.server.json("GET", "/pml/schemas?model=second")["data"]
        self.assertEqual([schema["name"] for schema in listed], ["guide"])
        self.assertEqual(self.server.json("GET", "/pml/schemas")["data"], [])
        self.server.json("POST", "/pml/run", run, expect=404)
        self.server.json("DELETE", "/pml/schemas/guide?model=second")

    def test_a_template_is_one_models(self):
        body = {"messages": [{"role": "user", "content": "Hi"}]}
        first, second = (self.server.json("POST", "/apply-template", body | {"model": name})["prompt"]
                         for name in ("first", "second"))
        self.assertIn("[INST]", second)
        self.assertNotIn("[INST]", first)

    def test_responses_go_on_with_another_model(self):
        ask_ = {"input": "Where is the harbour?", "max_output_tokens": 4, "temperature": 0}
        first = self.server.json("POST", "/v1/responses", ask_ | {"model": "first"})
        second = self.server.json("POST", "/v1/responses",
                                  ask_ | {"model": "second", "previous_response_id": first["id"]})
        self.assertEqual(second["model"], "second")
        self.assertGreater(second["usage"]["input_tokens"], first["usage"]["input_tokens"])

    def test_many_who_want_different_ones_at_once_are_all_answered(self):
        ask_at_once(self)


class OneAtOnce(ServeTest):
    """One fits, and one answer is made at a time: those who wait for a model hold up nobody whose answer it needs."""
    ARGUMENTS = ("--name", "first", "--add-model", f"second={MODEL}", "--parallel", "1",
                 "--model-memory", str(WEIGHT_BYTES))

    def test_all_are_answered_all_the_same(self):
        ask_at_once(self)


class Starting(unittest.TestCase):
    def refused(self, *arguments, model=MODEL):
        done = subprocess.run([COMMAND, "serve", "-m", str(model), "--port", "0", *arguments], text=True,
                              capture_output=True, timeout=PATIENCE)
        self.assertEqual(done.stdout, "")
        return done.returncode, done.stderr

    def test_what_cannot_be_served_is_said_at_once(self):
        code, error = self.refused("--add-model", MODEL)
        self.assertEqual(code, 2)
        self.assertIn("--add-model NAME=", error)
        code, error = self.refused("--model-memory", str(WEIGHT_BYTES - 1))
        self.assertEqual(code, 2)
        self.assertIn("--model-memory", error)
        code, error = self.refused("--model-template", "none=chatml")
        self.assertEqual(code, 2)
        self.assertIn("none=chatml", error)
        code, error = self.refused("--add-model", "other=/no/such/model")
        self.assertEqual(code, 4)
        self.assertIn("/no/such/model", error)

    def test_a_model_that_vanished_is_an_error_of_its_own_requests(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "copy"
            shutil.copytree(MODEL, copy)
            server = Server("--name", "first", "--add-model", str(copy))
            shutil.rmtree(copy)
            try:
                body = {"model": "copy", "messages": [{"role": "user", "content": "Where?"}]}
                error = server.json("POST", "/v1/chat/completions", body, expect=503)["error"]
                self.assertIn("copy", error["message"])
                self.assertEqual(ask(server, "first")["model"], "first")
            finally:
                self.assertEqual(server.close(), 0)


if __name__ == "__main__":
    unittest.main(argv=[__file__], verbosity=1)
