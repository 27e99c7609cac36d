#!/usr/bin/env python3
"""What the server tells of its store, and how it serves the page that shows it."""
import json
import unittest

from server import ServeTest

STORY = "The harbour lies in the south, and the tower stands on the hill above it. " * 8


class Store(ServeTest):
    def test_its_files_are_listed_those_used_last_first(self):
        empty = self.server.json("GET", "/v1/prompt_cache/store")
        self.assertEqual((empty["in_use"], empty["mode"]), (True, "read-write"))
        self.assertEqual((empty["n_files"], empty["total_bytes"], empty["files"]), (0, 0, []))
        for beginning in ("", "Another beginning. "):
            self.chat(beginning + STORY)
        store = self.server.json("GET", "/v1/prompt_cache/store")
        self.assertEqual(store["directory"], str(self.server.cache))
        self.assertGreater(store["n_files"], 2)
        self.assertEqual(store["n_files"], len(store["files"]))
        self.assertEqual(store["total_bytes"], sum(file["bytes"] for file in store["files"]))
        self.assertLess(store["total_bytes"], store["budget_bytes"])
        times = [file["last_used_ms"] for file in store["files"]]
        self.assertEqual(times, sorted(times, reverse=True))
        for file in store["files"]:
            self.assertEqual(len(file["key"]), 64)
            self.assertGreater(file["tokens"], 0)
            self.assertIs(file["pinned"], False)


class NoStore(ServeTest):
    ARGUMENTS = ("--no-cache",)

    def test_there_is_none(self):
        self.assertEqual(self.server.json("GET", "/v1/prompt_cache/store"),
                         {"object": "prompt_cache.store", "in_use": False})


class TinyStore(ServeTest):
    """Of which each part of a prompt is too much."""
    ARGUMENTS = ("--cache-size", "1K")

    def test_prompts_are_answered_without_it(self):
        answers = set()
        for mode in ("off", "prefix", "marked", "tools", "documents"):
            for stream in (False, True):
                body = {"messages": [{"role": "system", "content": [
                            {"type": "text", "text": STORY, "prompt_cache_breakpoint": True}]},
                        {"role": "user", "content": "Where is the harbour?"}],
                        "max_tokens": 4, "temperature": 0, "prompt_cache": {"mode": mode}, "stream": stream}
                status, _, data = self.server.ask("POST", "/v1/chat/completions", body)
                self.assertEqual(status, 200, data)
                if stream:
                    continue
                answers.add(json.loads(data)["choices"][0]["message"]["content"])
                if mode == "marked":
                    self.assertIn("--cache-size", json.loads(data)["prompt_cache"]["remarks"][-1])
        self.assertEqual(len(answers), 1)


class Playground(ServeTest):
    def test_it_is_served_with_a_strict_policy(self):
        for path, kind in (("/", "text/html"), ("/playground/main.js", "text/javascript"),
                           ("/playground/style.css", "text/css"), ("/playground/icon.svg", "image/svg+xml")):
            status, headers, body = self.server.ask("GET", path)
            self.assertEqual(status, 200)
            self.assertTrue(headers["content-type"].startswith(kind), path)
            self.assertEqual(int(headers["content-length"]), len(body))
            self.assertEqual(headers["x-content-type-options"], "nosniff")
            self.assertEqual(headers["referrer-policy"], "no-referrer")
            policy = dict(rule.strip().split(" ", 1) for rule in headers["content-security-policy"].split(";"))
            self.assertEqual(policy["default-src"], "'none'")
            self.assertEqual({policy[rule] for rule in ("script-src", "style-src", "connect-src")}, {"'self'"})
            self.assertEqual({policy[rule] for rule in ("form-action", "frame-ancestors", "base-uri")}, {"'none'"})

    def test_it_has_no_script_or_style_in_its_markup(self):
        _, _, page = self.server.ask("GET", "/")
        for markup in (b"<style", b" style=", b" onclick=", b"<script>", b"http://", b"https://"):
            self.assertNotIn(markup, page)

    def test_what_it_has_not_is_not_found(self):
        self.assertEqual(self.server.ask("GET", "/playground/none.js")[0], 404)


if __name__ == "__main__":
    unittest.main(argv=[__file__], verbosity=1)
