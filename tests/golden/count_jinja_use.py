#!/usr/bin/env python3
"""Which filters, tests, functions and methods of Jinja the chat templates of some folders use.

    python tests/golden/count_jinja_use.py FOLDER|FILE... [--json]

Reads every *.jinja file, and every *.json that is a list of objects with a "template" (the shared
assets' form) or an object with a "chat_template" (tokenizer_config.json). A template counts once,
however many files have its text; one that jinja2 cannot parse is named on stderr and not counted.
Prints the tables of docs/CHAT_TEMPLATES.md, a name with the number of templates that use it, the
most used first; --json prints {kind: {name: number}}. Needs jinja2 (Debian: python3-jinja2).

A method is what is called behind a dot or an index of a text (`x.strip()`, `x['items']()`), whatever
the type of x; a function is a called name that the template does not define itself.
"""
import argparse
import collections
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "runtime/jinja"))
import judge  # noqa: E402

from jinja2 import TemplateError, nodes  # noqa: E402  (judge finds a Python that has it)

KINDS = ("filter", "test", "function", "method")
# Where the name of a filter or a test is an argument: `map('upper')`, `selectattr('role', 'equalto', 'user')`.
NAMED_BY_ARGUMENT = {"map": ("filter", 0), "select": ("test", 0), "reject": ("test", 0),
                     "selectattr": ("test", 1), "rejectattr": ("test", 1)}


def texts_of(path):
    """The templates of one file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".json":
        return [text]
    whole = json.loads(text)
    entries = whole if isinstance(whole, list) else [whole]
    found = [entry.get("template", entry.get("chat_template")) for entry in entries if isinstance(entry, dict)]
    # tokenizer_config.json may name several: [{"name": ..., "template": ...}, ...]
    flat = [one for each in found for one in (each if isinstance(each, list) else [each])]
    return [one["template"] if isinstance(one, dict) else one for one in flat if one]


def files_of(places):
    for place in map(pathlib.Path, places):
        yield from [place] if place.is_file() else sorted(
            path for path in place.rglob("*") if path.is_file() and path.suffix in (".jinja", ".json"))


def templates_of(places):
    """Each text once, with the first file that has it."""
    texts = {}
    for path in files_of(places):
        try:
            for text in texts_of(path):
                texts.setdefault(text, path)
        except (ValueError, KeyError, AttributeError):
            continue  # a JSON file of another kind
    return texts


def own_names(tree):
    """What the template itself assigns, takes as an argument, or defines as a macro."""
    stored = {name.name for name in tree.find_all(nodes.Name) if name.ctx != "load"}
    return stored | {macro.name for macro in tree.find_all(nodes.Macro)} | {"caller", "loop"}


def named_uses(node):
    """What a filter that takes the name of a filter or test is given."""
    kind, place = NAMED_BY_ARGUMENT[node.name]
    if len(node.args) > place and isinstance(node.args[place], nodes.Const) and isinstance(node.args[place].value, str):
        yield kind, node.args[place].value


def called(node, own):
    """The function or method of a call."""
    callee = node.node
    if isinstance(callee, nodes.Name) and callee.name not in own:
        yield "function", callee.name
    elif isinstance(callee, nodes.Getattr):
        yield "method", callee.attr
    elif isinstance(callee, nodes.Getitem) and isinstance(callee.arg, nodes.Const) and isinstance(callee.arg.value, str):
        yield "method", callee.arg.value


def uses(tree):
    """{(kind, name)} of one template."""
    own, found = own_names(tree), set()
    for node in tree.find_all((nodes.Filter, nodes.Test, nodes.Call)):
        if isinstance(node, nodes.Call):
            found.update(called(node, own))
            continue
        found.add(("filter" if isinstance(node, nodes.Filter) else "test", node.name))
        if isinstance(node, nodes.Filter) and node.name in NAMED_BY_ARGUMENT:
            found.update(named_uses(node))
    return found


def counted(texts):
    counts, n = {kind: collections.Counter() for kind in KINDS}, 0
    for text, path in texts.items():
        try:
            tree = judge.ENVIRONMENT.parse(text)
        except TemplateError as error:
            print(f"not counted: {path}: {error}", file=sys.stderr)
            continue
        n += 1
        for kind, name in uses(tree):
            counts[kind][name] += 1
    return counts, n


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="+")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    counts, n = counted(templates_of(arguments.places))
    if arguments.json:
        print(json.dumps({kind: dict(counts[kind].most_common()) for kind in KINDS}, indent=1))
        return
    print(f"{n} distinct templates\n\n| kind | name and number of templates |\n|---|---|")
    for kind in KINDS:
        row = sorted(counts[kind].items(), key=lambda each: (-each[1], each[0]))
        print(f"| {kind}s | " + ", ".join(f"`{name}` {number}" for name, number in row) + " |")


if __name__ == "__main__":
    main()
