#!/usr/bin/env python3
"""examples/home-assistant: its tools are what the server takes, and its program finds them again in
another order and company. A token of the tiny model is a byte, so that a few of the tools fit."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

from server import PATIENCE, ServeTest

EXAMPLE = pathlib.Path(os.environ["PC_SOURCE_DIR"]) / "examples/home-assistant"
TOOLS = json.loads((EXAMPLE / "tools.json").read_text())


class Home(ServeTest):
    ARGUMENTS = ("--chat-template", str(EXAMPLE / "home.jinja"), "--name", "house")

    def run_example(self, *arguments):
        return subprocess.run([sys.executable, "-B", EXAMPLE / "ask.py", *arguments], capture_output=True, text=True,
                              timeout=PATIENCE)

    def test_thirty_tools_are_taken(self):
        self.assertEqual(len({tool["function"]["name"] for tool in TOOLS}), 30)
        body = {"messages": [{"role": "user", "content": "Light, please."}], "tools": TOOLS}
        prompt = self.server.json("POST", "/apply-template", body)["prompt"]
        for tool in TOOLS:
            self.assertIn(json.dumps(tool["function"]) + "\n", prompt)

    def test_swapped_tools_are_found_and_a_new_one_is_computed(self):
        run = self.run_example("--url", self.server.url + "/v1", "--first", "5")
        self.assertEqual(run.returncode, 0, run.stderr)
        rows = re.findall(r"(\d+) tokens: +(\d+) cached, +(\d+) computed; +(\d+) of +\d+ modules encoded, mode (\w+)",
                          run.stdout)
        (first, _, _, _, first_used), (second, cached, computed, encoded, used) = rows
        self.assertEqual(first_used, "prefix")  # its tools are encoded while nobody waits
        self.assertEqual(int(encoded), 1)
        new = len(json.dumps(TOOLS[4]["function"]))
        self.assertEqual(int(second) - int(first), new + 1)  # and a line's end
        self.assertEqual(used, "tools")
        self.assertGreater(int(cached), int(second) / 2)
        self.assertLess(int(computed), int(second) / 2)

    def test_without_a_server_it_says_so(self):
        run = self.run_example("--url", "http://127.0.0.1:1/v1")
        self.assertEqual(run.returncode, 1)
        self.assertIn("cannot be asked", run.stderr)

    def test_the_configuration_asks_a_route_that_is_there(self):
        urls = re.findall(r"http://127\.0\.0\.1:8080(/\S*)", (EXAMPLE / "configuration.yaml").read_text())
        paths = self.server.json("GET", "/openapi.json")["paths"]
        self.assertTrue(urls)
        for url in urls:
            self.assertIn(url, paths)


if __name__ == "__main__":
    unittest.main(argv=[__file__], verbosity=1)
