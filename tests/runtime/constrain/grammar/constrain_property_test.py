#!/usr/bin/env python3
"""Constrained output against a validator of JSON Schema: the package jsonschema.

    constrain_property_test.py WALK

WALK is the program of walk.cc. Schemas are those of real tools, those of all keywords one by one,
and random ones. Of each:
  - every text that a random walk under the mask ends with is valid;
  - of texts that were changed at random, those that the automaton takes are valid: many are not,
    and none of these may be taken.
Prints "SKIPPED: " and why where the package is missing.
"""
import datetime
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import unittest
import urllib.parse


def packages():
    """Where scripts/clients puts packages, too."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    cache = pathlib.Path(cache) if cache.startswith("/") else pathlib.Path.home() / ".cache"
    return os.environ.get("PC_CLIENTS") or str(cache / "promptcache-clients")


sys.path.append(packages())
try:
    import jsonschema
except ImportError as missing:
    print(f"SKIPPED: {missing}; scripts/clients installs it")
    sys.exit(0)

from schemas import REAL, SMALL, random_schema

SLOW = "PC_EMULATED" in os.environ  # under qemu-user
WALKS, CHANGES, RANDOM_SCHEMAS = (4, 20, 20) if SLOW else (25, 150, 250)


# The package checks some formats only beside others that are not installed.
FORMATS = jsonschema.FormatChecker(["date", "uuid", "email", "ipv4"])


@FORMATS.checks("date-time", raises=ValueError)
def is_date_time(text):
    return "T" in text and datetime.datetime.fromisoformat(text).tzinfo is not None


@FORMATS.checks("time", raises=ValueError)
def is_time(text):
    return datetime.time.fromisoformat(text).tzinfo is not None


@FORMATS.checks("hostname")
def is_hostname(text):
    return len(text) <= 253 and all(0 < len(label) <= 63 and label.strip("-") == label for label in text.split("."))


@FORMATS.checks("uri", raises=ValueError)
def is_uri(text):
    parts = urllib.parse.urlsplit(text)
    return bool(parts.scheme and parts.netloc) and text.isascii() and " " not in text


@FORMATS.checks("duration")
def is_duration(text):
    date, _, time = text[1:].partition("T")
    numbers = re.split("[A-Z]", date)[:-1] + re.split("[A-Z]", time)[:-1]
    return text.startswith("P") and not text.endswith("T") and numbers and all(n.isdigit() for n in numbers)


def validator(schema):
    return jsonschema.Draft202012Validator(schema, format_checker=FORMATS)


def refuse_constant(name):
    raise ValueError(name)


def parsed(text):
    """The value of a JSON text; ValueError where it is none."""
    return json.loads(text, parse_constant=refuse_constant)


def problem(schema, text):
    """Why a text is not valid, or None."""
    try:
        errors = validator(schema).iter_errors(parsed(text))
        return next((error.message for error in errors), None)
    except ValueError as error:
        return f"not JSON: {error}"


def changed_value(value, chance):
    """The value with one part of it replaced, removed, doubled or renamed."""
    if isinstance(value, (dict, list)) and value and chance.random() < 0.7:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = chance.choice(keys)
        copy = value.copy()
        kind = chance.randrange(4)
        if kind == 0:
            del copy[key]
        elif kind == 1 and isinstance(value, dict):
            copy[chance.choice(["a", "b", "x", key + "x", key[:-1]])] = copy.pop(key)
        elif kind == 1:
            copy.insert(key, copy[key])
        else:
            copy[key] = changed_value(value[key], chance)
        return copy
    if isinstance(value, (int, float)) and not isinstance(value, bool) and chance.random() < 0.6:
        return value + chance.choice([-1, 1, 0.5, 1000, -1000, 10**17])
    if isinstance(value, str) and chance.random() < 0.6:
        at = chance.randrange(len(value) + 1)
        return value[:at] + chance.choice(["", "a", "é", "-", "0", "\n", "\U0001F600"]) + value[at + chance.randrange(2):]
    return chance.choice([None, True, 0, -1, 1.5, "", "a", [], {}, [1], {"a": 1}, "2024-02-30"])


def changed_text(text, chance):
    """The text with a byte, or a few characters, other than they were."""
    at = chance.randrange(len(text) + 1)
    return (text[:at] + chance.choice(["", "", " ", "0", "9", "-", '"', ",", "}", "]", "a", "\\", "\n", "true"])
            + text[at + chance.randrange(3):])


def changed(texts, chance):
    text = chance.choice(texts)
    if chance.random() < 0.5:
        return changed_text(text, chance)
    separators = chance.choice([(",", ":"), (", ", ": ")])
    value = changed_value(parsed(text), chance)
    return json.dumps(value, ensure_ascii=chance.random() < 0.2, separators=separators)


class Constrained(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.process = subprocess.Popen([WALK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                       encoding="utf-8")
        cls.counts = {"walks": 0, "unfinished": 0, "changed": 0, "invalid": 0, "taken": 0, "refused": 0}

    @classmethod
    def tearDownClass(cls):
        cls.process.stdin.close()
        cls.process.stdout.close()
        cls.process.wait()
        print(cls.counts)

    def ask(self, **question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        self.assertNotIn("defect", answer, json.dumps(question["schema"]))
        return answer

    def check(self, schema, seed, may_be_refused=False):
        answer = self.ask(schema=schema, walks=WALKS, seed=seed)
        if "refused" in answer:
            self.counts["refused"] += 1
            self.assertTrue(may_be_refused, answer["refused"])
            return
        self.counts["walks"] += WALKS
        self.counts["unfinished"] += answer["unfinished"]
        for text in answer["texts"]:
            self.assertIsNone(problem(schema, text), f"{text}\nof {json.dumps(schema)}")
        if answer["texts"]:
            self.check_changed(schema, answer["texts"], random.Random(seed))

    def check_changed(self, schema, texts, chance):
        tried = [changed(texts, chance) for _ in range(CHANGES)]
        for text, is_taken in zip(tried, self.ask(schema=schema, takes=tried)["taken"]):
            why = problem(schema, text)
            self.counts["changed"] += 1
            self.counts["invalid"] += why is not None
            self.counts["taken"] += is_taken
            if is_taken:
                self.assertIsNone(why, f"{text}\nof {json.dumps(schema)}")

    def test_schemas_of_tools(self):
        for seed, (name, schema) in enumerate(REAL.items()):
            with self.subTest(name):
                self.check(schema, seed)

    def test_keywords(self):
        for seed, schema in enumerate(SMALL):
            with self.subTest(json.dumps(schema)):
                self.check(schema, seed)

    def test_random_schemas(self):
        for seed in range(RANDOM_SCHEMAS):
            schema = random_schema(random.Random(seed))
            with self.subTest(seed):
                self.check(schema, seed, may_be_refused=True)

    def test_what_is_drawn_is_what_is_meant(self):
        """Few walks do not come to an end, and changes make enough that is not valid."""
        self.test_keywords()
        self.assertLess(self.counts["unfinished"], self.counts["walks"] / 20)
        self.assertGreater(self.counts["invalid"], self.counts["changed"] / 5)
        self.assertGreater(self.counts["taken"], self.counts["changed"] / 20)


if __name__ == "__main__":
    WALK = sys.argv.pop(1)
    unittest.main(verbosity=2)
