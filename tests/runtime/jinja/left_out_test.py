#!/usr/bin/env python3
"""What Jinja and Python have is there, or refused by its name.

    left_out_test.py RENDER_CASES...

Goes through jinja2's own tables of filters, tests and functions, and through the methods that Python's
types have. A name that runtime/jinja/ does not know must be one that it says is not offered.
"""
import sys

import judge
from judge_results import ours

VALUES = {"'x'": str, "[1]": list, "{'a': 1}": dict, "5": int, "2.5": float}


def public(names):
    return sorted(name for name in names if name.isidentifier() and not name.startswith("_"))


# What changes a list or a dict, and is missing in the sandbox of some version of jinja2: 3.1.2 (Debian 12)
# lets templates pop and clear lists, later ones do not.
CHANGING = {list: {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"},
            dict: {"clear", "pop", "popitem", "setdefault", "update"}}


def changing(kind):
    """The methods that the sandbox of jinja2, of this version or another, keeps from templates."""
    kept = {name for name in dir(kind) if judge.jinja2.sandbox.modifies_known_mutable(kind(), name)}
    return kept | CHANGING.get(kind, set())


def templates():
    """(what is used, a template that uses it)"""
    environment = judge.jinja2.sandbox.ImmutableSandboxedEnvironment()
    for name in public(environment.filters):
        yield f"the filter '{name}'", "{{ 'x'|" + name + " is defined }}"
    for name in public(environment.filters):
        yield f"the filter '{name}'", "{{ [1]|map('" + name + "')|list }}"
    for name in public(environment.tests):
        yield f"the test '{name}'", "{{ ('x' is " + name + ") is defined }}"
    for name in public(environment.globals):
        yield f"the function '{name}'", "{{ " + name + "() }}"
    for value, kind in VALUES.items():
        for name in public(set(dir(kind)) - changing(kind)):
            yield f"{kind.__name__}.{name}", "{{ (" + value + ")." + name + " is defined }}"
    for name in ("cycle", "changed"):
        yield f"LoopContext.{name}", "{% for x in [1] %}{{ loop." + name + " is defined }}{% endfor %}"


def is_known(mine):
    """It is there, with whatever complaint about its arguments."""
    if "error" in mine:
        return not any(words in mine["error"] for words in ("No filter named", "No test named", "is undefined"))
    return mine.get("text") != "False" and "raised" not in mine


def main():
    cases = list(templates())
    results = ours(sys.argv[1:], [{"template": template, "messages": []} for _, template in cases])
    refused, wrong = 0, []
    for (what, template), mine in zip(cases, results, strict=True):
        is_refused = (mine.get("code") == "unsupported" and f"{what} is not offered" in mine["error"]
                      and "another template" in mine["error"])  # the way out
        refused += is_refused
        if not is_refused and ("not offered" in mine.get("error", "") or not is_known(mine)):
            wrong.append(f"{what}, {template}: {mine}")
    print(f"{len(cases)} names, {refused} of them refused, {len(wrong)} wrong")
    print("\n".join(wrong))
    sys.exit(1 if wrong or refused < 50 else 0)


if __name__ == "__main__":
    main()
