#!/usr/bin/env python3
"""Frameworks that are built on the official clients, unmodified, against the server with a model that calls a
tool: each script of clients/ by itself, since they want different versions of the same packages.

Prints "SKIPPED: " and why where none is installed (scripts/clients --all).
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import calling_model
from server import CLIENTS, ServeTest

SETS = {"frameworks": ["litellm", "langchain", "pydantic_ai", "openai_agents", "instructor", "llm"],
        "llama-index": ["llama_index"], "aider": ["aider"]}
SCRIPTS = pathlib.Path(__file__).resolve().parent / "clients"


def folder_of(name):
    return pathlib.Path(f"{CLIENTS}-{name}")


if not any(folder_of(name).is_dir() for name in SETS):
    print("SKIPPED: scripts/clients --all installs the frameworks")
    sys.exit(0)


class Frameworks(ServeTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="serve_test.")
        calling_model.write(pathlib.Path(cls.folder.name) / "calling")
        cls.OPTIONS = {"model": pathlib.Path(cls.folder.name) / "calling"}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.folder.cleanup()

    def run_with(self, packages, name):
        if not folder_of(packages).is_dir():
            self.skipTest(f"scripts/clients --all installs {packages}")
        environment = os.environ | {"PYTHONPATH": str(folder_of(packages)), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        run = subprocess.run([sys.executable, "-B", SCRIPTS / f"with_{name}.py", self.server.url], env=environment,
                             capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr[-3000:])


for packages, names in SETS.items():
    for name in names:
        setattr(Frameworks, f"test_{name}",
                lambda self, packages=packages, name=name: self.run_with(packages, name))

if __name__ == "__main__":
    unittest.main(argv=[__file__], verbosity=1)
