#!/usr/bin/env python3
"""The description at /openapi.json has the routes that the server has: each of its paths takes the
methods that it says and no others, and each path in the sources of the routes is in it."""
import json
import os
import pathlib
import re
import unittest

from server import ServeTest

SOURCES = pathlib.Path(os.environ["PC_SOURCE_DIR"]) / "tools/serve"
METHODS = {"GET", "POST", "DELETE", "PUT", "PATCH"}
PAGES = {"/"}  # of the playground


def references(node):
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from references(item)


class Description(ServeTest):
    def setUp(self):
        self.description = self.server.json("GET", "/openapi.json")
        self.paths = self.description["paths"]

    def test_it_is_the_file(self):
        _, headers, body = self.server.ask("GET", "/openapi.json")
        self.assertEqual(headers["content-type"], "application/json")
        self.assertEqual(body, (SOURCES / "openapi.json").read_bytes())

    def test_each_path_takes_its_methods_and_no_others(self):
        for path, item in self.paths.items():
            described = {method.upper() for method in item}
            taken = set()
            for method in sorted(METHODS):
                status, headers, body = self.server.ask(method, re.sub(r"\{.*\}", "x", path),
                                                        {} if method == "POST" else None)
                self.assertNotIn("is no route of this server", body.decode(), path)
                self.assertLess(status, 500, (method, path))
                if status == 405:
                    self.assertEqual(set(headers["allow"].split(", ")), described, path)
                else:
                    taken.add(method)
                    self.assertIn(str(status), item[method.lower()]["responses"], (method, path))
            self.assertEqual(taken, described, path)

    def test_each_route_of_the_sources_is_in_it(self):
        files = sorted((SOURCES / "routes").glob("*_routes.cc"))
        routes = {route for file in files for route in re.findall(r'"(/[\w/.*-]*)"', file.read_text())}
        routes = {route for route in routes if not route.endswith("models/")}  # with a name behind it
        described = {re.sub(r"\{.*\}", "*", path) for path in self.paths} - {"/openapi.json"}
        self.assertEqual(routes - PAGES, described)

    def test_its_references_lead_somewhere(self):
        used = set(references(self.description))
        for reference in used:
            node = self.description
            for step in reference.removeprefix("#/").split("/"):
                node = node[step]
        defined = {f"#/components/{kind}/{name}" for kind in ("schemas", "responses", "parameters")
                   for name in self.description["components"][kind]}
        self.assertEqual(used, defined)


if __name__ == "__main__":
    unittest.main(argv=[__file__], verbosity=1)
