#!/usr/bin/env python3
"""The language of chat templates, piece by piece, as jinja2 has it.

    snippets_test.py RENDER_CASES...

The snippets and what jinja2 makes of them are in tests/golden/jinja_snippets.json
(tests/golden/make_jinja_fixtures.py writes it), so no jinja2 is needed here.
"""
import json
import os
import sys

from judge_results import agree, ours


def main():
    path = os.path.join(os.environ.get("PC_SOURCE_DIR", "."), "tests/golden/jinja_snippets.json")
    with open(path, encoding="utf-8") as file:
        fixtures = json.load(file)
    snippets = fixtures["snippets"]
    cases = [{"template": one["template"], "variables": fixtures["variables"], "messages": [], "time": 1721990645}
             for one in snippets]
    wrong = [f"{one}\n  ours: {mine}" for one, mine in zip(snippets, ours(sys.argv[1:], cases), strict=True)
             if not agree(one, mine)]
    print(f"{len(snippets)} snippets, {len(wrong)} differ")
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
