#!/usr/bin/env python3
"""What a source names of the standard library, it or a header of ours that it includes includes.

    includes.py ROOT          prints each file and header that is missing; status 1 if any
    includes.py --self-test   plants a header without its include beside sound sources, and fails
                              unless it, and nothing else, is reported

Where sources are compiled together (PC_UNITY, the tests' precompiled header) another one's include
hides that; a build without fails then, as a user's first one is. Looked at are names that headers of
ours and of the standard library do not bring with them everywhere; a source that gets one of these
through a third party's header has to say so itself. Sources that are included again for each
instruction set (-inl.h) have theirs where they are.
"""
import os
import re
import sys
import tempfile

FOLDERS = ("base", "bench", "cuda", "examples", "include", "modules", "pml", "runtime", "simd", "tests", "tools")
ENDINGS = (".cc", ".h", ".hpp")
HEADERS = {
    "algorithm": "sort min max clamp", "array": "array", "atomic": "atomic",
    "condition_variable": "condition_variable", "deque": "deque", "fstream": "ifstream ofstream",
    "functional": "function", "limits": "numeric_limits", "list": "list", "map": "map",
    "memory": "unique_ptr shared_ptr weak_ptr make_unique make_shared",
    "mutex": "mutex lock_guard unique_lock once_flag", "optional": "optional", "set": "set", "span": "span",
    "sstream": "ostringstream istringstream", "string": "string to_string", "string_view": "string_view",
    "system_error": "error_code system_error", "thread": "thread jthread", "unordered_map": "unordered_map",
    "unordered_set": "unordered_set", "utility": "pair exchange", "variant": "variant", "vector": "vector",
}
HEADER_OF = {name: header for header, names in HEADERS.items() for name in names.split()}
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)
NAME = re.compile(r"\bstd::(?:ranges::)?(\w+)\b")
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


class Sources:
    """Those of a tree, and which standard headers each has, by whatever way."""

    def __init__(self, root):
        self.texts = {}
        for folder in FOLDERS:
            for path, _, names in os.walk(os.path.join(root, folder)):
                for name in names:
                    if name.endswith(ENDINGS):
                        file = os.path.join(path, name)
                        with open(file, encoding="utf-8", errors="replace") as text:
                            self.texts[os.path.relpath(file, root)] = text.read()

    def own(self, name):
        """The file that an include names, or None where it is nobody's here."""
        return next((path for path in (name, os.path.join("include", name)) if path in self.texts), None)

    def standard(self, file):
        found, seen, left = set(), set(), [file]
        while left:
            file = left.pop()
            if file in seen:
                continue
            seen.add(file)
            for kind, name in INCLUDE.findall(self.texts[file]):
                own = self.own(name)
                if own:
                    left.append(own)
                elif kind == "<":
                    found.add(name)
        return found

    def missing(self):
        for file, text in sorted(self.texts.items()):
            if file.endswith("-inl.h"):
                continue
            wanted = {HEADER_OF[name]: name for name in NAME.findall(NOT_CODE.sub("", text)) if name in HEADER_OF}
            for header in sorted(wanted.keys() - self.standard(file)):
                yield f"{file}: names std::{wanted[header]} and includes <{header}> nowhere"


# ---- self-test

def in_base(name):  # a path of nothing, which this file does not name
    return "/".join(("base", name))


SOUND = {
    in_base("list.h"): "#include <vector>\n#include <string>\n",
    in_base("own.h"): f'#include "{in_base("list.h")}"\nstd::vector<std::string> names();  // std::map\n',
    "/".join(("tools", "use.cc")): f'#include "{in_base("own.h")}"\nconst char* text = "std::set";\n',
}
PLANTED = in_base("planted.h")


def report_of(tree):
    with tempfile.TemporaryDirectory() as root:
        for path, text in tree.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        return list(Sources(root).missing())


def self_test():
    wrong = [f"a sound tree is reported: {found}" for found in report_of(SOUND)]
    found = report_of({**SOUND, PLANTED: "#include <string>\nvoid read(std::vector<std::string>* out);\n"})
    if found != [f"{PLANTED}: names std::vector and includes <vector> nowhere"]:
        wrong.append(f"planted {PLANTED}: expected one report of it, got {found}")
    return wrong


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = self_test() if sys.argv[1] == "--self-test" else list(Sources(sys.argv[1]).missing())
    print("\n".join(found) if found else "nothing to report")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
