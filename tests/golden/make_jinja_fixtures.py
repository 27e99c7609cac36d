#!/usr/bin/env python3
"""What jinja2 makes of the templates in jinja_snippets.py.

    python tests/golden/make_jinja_fixtures.py [--out FILE]

Needs jinja2 3.1 (Debian: python3-jinja2); 3.1.2 and 3.1.6 write the same.
Deterministic. Writes tests/golden/jinja_snippets.json:

  {"variables": {...},
   "snippets": [{"template": "...", and one of "text", "raised", "error"}, ...]}

"raised" is the message of the template's own raise_exception; of the other errors
only that there is one counts.
"""
import argparse
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "runtime/jinja"))
import jinja_snippets  # noqa: E402
import judge  # noqa: E402

ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=HERE / "jinja_snippets.json")
    out = parser.parse_args().out
    snippets, left_out = [], []
    for template in jinja_snippets.templates():
        result = judge.render({"template": template, "variables": jinja_snippets.VARIABLES, "messages": []})
        if "error" in result:
            result = {"error": True}
        if ADDRESS.search(result.get("text", "")):  # a place in memory: nobody's to repeat
            left_out.append(template)
            continue
        snippets.append({"template": template, **result})
    whole = {"variables": jinja_snippets.VARIABLES, "snippets": snippets}
    with open(out, "w", encoding="utf-8") as file:
        json.dump(whole, file, ensure_ascii=True, indent=1)
        file.write("\n")
    print(f"{len(snippets)} snippets; left out, because they print an address: {left_out}")


if __name__ == "__main__":
    main()
