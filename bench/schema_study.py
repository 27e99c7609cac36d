#!/usr/bin/env python3
"""Which JSON schemas are enforced whole, and is what comes of them valid?

    python3 bench/schema_study.py WALK SUITE|FOLDER...

WALK is tests/runtime/constrain/constrain_walk of a build. SUITE is "tests" of the JSON-Schema-Test-Suite (in
the sources of the Python package jsonschema, under json/), whose folders are named after drafts; in
any other FOLDER each *.json is a schema. Of each schema that is accepted with "strict": true, the
answers of random walks are judged by the package jsonschema, and of a suite the values that are
invalid must not be taken. Printed: counts, times with the walks, and why others are refused.
"""

import argparse
import collections
import json
import pathlib
import statistics
import subprocess
import time

import jsonschema

WALKS = 6
MOST_BYTES = 200_000
DRAFTS = {"draft4": jsonschema.Draft4Validator, "draft6": jsonschema.Draft6Validator,
          "draft7": jsonschema.Draft7Validator, "draft2019-09": jsonschema.Draft201909Validator,
          "draft2020-12": jsonschema.Draft202012Validator}


def schemas(folder):
    """(name, schema, validator's class, invalid values)"""
    drafts = [draft for draft in DRAFTS if (folder / draft).is_dir()]
    for draft in drafts:
        for file in sorted((folder / draft).glob("*.json")):
            for group in json.loads(file.read_text()):
                invalid = [test["data"] for test in group["tests"] if not test["valid"]]
                yield f"{draft}/{file.stem}", group["schema"], DRAFTS[draft], invalid
    if drafts:
        return
    for file in sorted(folder.rglob("*.json")):
        if file.stat().st_size > MOST_BYTES:
            continue
        try:
            schema = json.loads(file.read_text())
        except ValueError:
            continue
        if isinstance(schema, dict):
            kind = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
            yield file.name, schema, kind, []


class Study:
    def __init__(self, walk):
        self.process = subprocess.Popen([walk], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.n, self.accepted, self.finished, self.invalid = 0, 0, 0, 0
        self.seconds, self.why = [], collections.Counter()

    def ask(self, question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def report(self, name, what):
        self.invalid += 1
        print(f"INVALID {name}: {what[:200]}")

    def judge(self, name, schema, kind, invalid):
        began = time.monotonic()
        answer = self.ask({"schema": schema, "walks": WALKS, "seed": 1})
        self.seconds.append(time.monotonic() - began)
        self.n += 1
        if "refused" in answer:
            self.why[answer["refused"].split(": ", 1)[-1][:90]] += 1
            return
        self.accepted += 1
        validator = kind(schema, format_checker=kind.FORMAT_CHECKER)
        for text in answer["texts"]:
            self.finished += 1
            try:
                if not validator.is_valid(json.loads(text)):
                    self.report(name, text)
            except Exception as error:  # the package resolves no references to elsewhere
                print(f"not judged: {name}: {type(error).__name__}")
        taken = self.ask({"schema": schema, "takes": [json.dumps(value) for value in invalid]})["taken"]
        for value, is_taken in zip(invalid, taken):
            if is_taken:
                self.report(name, json.dumps(value))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("walk")
    parser.add_argument("folder", type=pathlib.Path, nargs="+")
    a = parser.parse_args()
    for folder in a.folder:
        study = Study(a.walk)
        for one in schemas(folder):
            study.judge(*one)
        print(f"{folder}: {study.accepted} of {study.n} accepted, {study.finished} answers finished, "
              f"{study.invalid} invalid; {1e3 * statistics.median(study.seconds):.1f} ms in the median, "
              f"{1e3 * max(study.seconds):.0f} at most, {WALKS} walks included")
        for reason, n in study.why.most_common():
            print(f"{n:5} {reason}")


if __name__ == "__main__":
    main()
