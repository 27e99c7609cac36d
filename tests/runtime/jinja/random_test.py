#!/usr/bin/env python3
"""Random templates, rendered here and by jinja2.

    random_test.py [--seed N] [--count N] RENDER_CASES...

Expressions and statements are put together at random from the language's pieces;
most of them are wrong somewhere, and then both must refuse. The seed is fixed, so
a run repeats another.
"""
import argparse
import json
import random
import re
import sys

import judge
from judge_results import agree, ours

VARIABLES = {"n": 3, "f": 1.5, "s": "a b,C", "e": "", "u": "é漢😀", "t": True, "z": None, "l": [3, 1, 2],
             "w": ["b", "A", ""], "d": {"a": 1, "b": [1, 2], "c": {"x": "y"}}, "o": [{"k": 1, "v": "x"}, {"k": 2}]}
ATOMS = ["n", "f", "s", "e", "u", "t", "z", "l", "w", "d", "o", "q", "0", "1", "-2", "2.5", "'a'", "' x '", "'%s'", "[]",
         "[1, 'a']", "(1, 2)", "{}", "{'a': n}", "true", "none", "range(3)", "d.b", "d.c.x", "o[0].v", "l[0]", "s[1:]", "u[::-1]", "l[:2]", "w[-2:]"]
FILTERS = ["upper", "lower", "trim", "length", "first", "last", "list", "join", "join(',')", "string", "int", "float",
           "round", "sort", "reverse", "default('q')", "tojson", "title", "capitalize", "unique", "count", "min", "max",
           "map('string')", "select", "reject", "map('upper')", "selectattr('k')", "map(attribute='k')", "replace('a', 'z')",
           "items", "dictsort", "indent(2)", "safe", "e",
           "select('number')", "rejectattr('v')", "format(1)", "tojson(indent=1)"]
TESTS = ["defined", "undefined", "none", "string", "number", "mapping", "iterable", "sequence", "integer",
         "float", "boolean", "true", "false", "eq 1", "in l", "ne n", "gt 1"]
METHODS = [".upper()", ".strip()", ".split()", ".split(',')", ".items()", ".keys()", ".get('a')", ".get('q', 1)", ".title()",
           ".startswith('a')", ".replace('a', 'b')", ".join(['x', 'y'])", ".a", ".b", ".k", "[0]", "[-1]", "['a']", "[n]", ".count(1)", ".index(1)", ".find('a')", ".format(1)", ".splitlines()", ".values()", ".zz"]
BINARY = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]
ADDRESS = re.compile(r"0x[0-9a-z]{6}|<gener.tor|rotareneg|iter.tor object|object>|<built-in|<bound|<function", re.I)


class Maker:
    def __init__(self, seed):
        self.chance = random.Random(seed)

    def expression(self, depth):
        pick = self.chance.random()
        if depth == 0 or pick < 0.15:
            return self.chance.choice(ATOMS)
        inner = self.expression(depth - 1)
        if pick < 0.40:
            return f"{inner}|{self.chance.choice(FILTERS)}"
        if pick < 0.55:
            return f"({inner}){self.chance.choice(METHODS)}"
        if pick < 0.75:
            return f"{inner} {self.chance.choice(BINARY)} {self.expression(depth - 1)}"
        if pick < 0.82:
            return f"{inner} is {self.chance.choice(['', 'not '])}{self.chance.choice(TESTS)}"
        if pick < 0.86:
            return f"{self.chance.choice(['not ', '-', '+'])}{inner}"
        if pick < 0.92:
            return f"({inner} if {self.expression(depth - 1)} else {self.expression(depth - 1)})"
        return f"[{inner}, {self.expression(depth - 1)}]"

    def tag(self, text):
        left, right = self.chance.choice(["", "", "", "-", "+"]), self.chance.choice(["", "", "", "-", "+"])
        return "{%" + left + " " + text + " " + right + "%}"

    def space(self):
        return self.chance.choice(["", "", " ", "\n", "\n  ", "x", " y\n"])

    def body(self, depth):
        return "".join(self.space() + self.statement(depth) for _ in range(self.chance.randint(1, 3))) + self.space()

    def statement(self, depth):
        expression, pick = self.expression(2), self.chance.random()
        if depth == 0 or pick < 0.3:
            return "{{ " + expression + self.chance.choice([" }}", " }}", " -}}"])
        name = self.chance.choice(["x", "y", "n", "ns.a"])
        if pick < 0.45:
            return self.tag(f"set {name} = {expression}")
        if pick < 0.5:
            return self.tag(f"set {name}") + self.body(depth - 1) + self.tag("endset")
        if pick < 0.65:
            middle = self.tag("else") + self.body(depth - 1) if self.chance.random() < 0.5 else ""
            return self.tag(f"if {expression}") + self.body(depth - 1) + middle + self.tag("endif")
        if pick < 0.85:
            test = f" if {self.expression(1)}" if self.chance.random() < 0.2 else ""
            jump = self.tag("if loop.index > 1") + self.tag(self.chance.choice(["break", "continue"])) + self.tag("endif")
            return (self.tag(f"for x in {self.chance.choice(['l', 'w', 'o', 'd', expression])}{test}")
                    + (jump if self.chance.random() < 0.2 else "") + self.body(depth - 1)
                    + self.chance.choice(["", "{{ loop.index }}{{ loop.last }}"])
                    + (self.tag("else") + self.body(0) if self.chance.random() < 0.2 else "") + self.tag("endfor"))
        if pick < 0.92:
            return (self.tag("macro m(x, y=n)") + self.body(depth - 1) + self.tag("endmacro")
                    + "{{ m(" + expression + ") }}")
        if pick < 0.96:
            return self.tag("filter upper") + self.body(depth - 1) + self.tag("endfilter")
        return self.tag(f"with y = {expression}") + self.body(depth - 1) + self.tag("endwith")

    def template(self, i):
        if i % 2:
            return "{{ " + self.expression(3) + " }}"
        return "{% set ns = namespace(a=1) %}" + self.body(2) + "{{ x }}{{ y }}{{ n }}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("program", nargs="+")
    given = parser.parse_args()
    maker = Maker(given.seed)
    cases = [{"template": maker.template(i), "variables": VARIABLES, "messages": []} for i in range(given.count)]
    judged = [judge.render(case) for case in cases]
    wrong = [json.dumps(case["template"]) + f"\n  jinja2 {theirs}\n  ours   {mine}"
             for case, theirs, mine in zip(cases, judged, ours(given.program, cases), strict=True)
             if not ADDRESS.search(theirs.get("text", "")) and not agree(theirs, mine)]
    print(f"{given.count} templates, {sum('text' in one for one in judged)} of them rendered; {len(wrong)} differ")
    print("\n".join(wrong[:20]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
