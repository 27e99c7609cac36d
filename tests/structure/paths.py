#!/usr/bin/env python3
"""Every path that a page, a comment or a script names is there.

    paths.py ROOT          prints each path of nothing as FILE:LINE: path; status 1 if any
    paths.py --self-test   plants one of each kind in a scratch tree and fails unless each, and
                           nothing else, is reported

Looked at is what begins with a folder of ours and ends in a source's or a page's ending, anywhere; and, in
pages and in backticks, folders (`runtime/cpu/`), scripts (`scripts/test`), and the ends of paths
(`states/timeline.h`). Decisions and the change log tell of what was.
"""
import glob
import os
import re
import sys
import tempfile

FOLDERS = ("base", "bench", "cmake", "cuda", "docs", "examples", "include", "models", "modules", "pml", "python",
           "runtime", "scripts", "simd", "tests", "tools")
TOP = "|".join(FOLDERS)
READ = (".h", ".hpp", ".c", ".cc", ".cu", ".py", ".txt", ".cmake", ".md", ".in", ".toml", ".yml", "")  # "": scripts
HISTORY = ("docs/adr/", "CHANGELOG.md")
NOT_OURS = ("golden", "corpus", "__pycache__", "checkpoints")

ANYWHERE = re.compile(rf"(?<![\w./${{}}<>\"-])((?:{TOP})/[\w./*,-]+\.(?:h|hpp|c|cc|cu|py|md|txt|cmake|pml|json))\b(?!\()")
IN_PAGES = re.compile(rf"`(?:\S*python3? )?((?:{TOP})/[\w./*-]*/|scripts/[\w-]+)(?= [^`]*`|`)")
ENDS_IN_PAGES = re.compile(r"`(?!(?:%s)/)([\w-]+/[\w/-]+\.(?:h|cc|cu))`" % TOP)

# Paths of nothing, and why they are named.
MADE_UP = {"docs/miami.txt": "a document in an example of PML", "bench/serve/loops/NAME.json": "one for each name"}


def texts(root):
    for folder in (".",) + FOLDERS:
        for path, names, leaves in os.walk(os.path.join(root, folder)):
            names[:] = [] if folder == "." else [name for name in names if name not in NOT_OURS]
            for leaf in leaves:
                name = os.path.normpath(os.path.relpath(os.path.join(path, leaf), root))
                if os.path.splitext(leaf)[1] in READ and not name.startswith(HISTORY):
                    yield name


def is_there(root, file, path):
    """From the root, or from the folder of the file that names it."""
    return any(glob.glob(os.path.join(root, start, path)) for start in ("", os.path.dirname(file)))


def named_in(file, line):
    yield from ANYWHERE.findall(line)
    if file.endswith(".md"):
        yield from IN_PAGES.findall(line)


def nothings(root):
    files = sorted(texts(root))
    ends = {"/".join(file.split("/")[-n:]) for file in files for n in range(2, file.count("/") + 2)}
    for file in files:
        with open(os.path.join(root, file), encoding="utf-8", errors="replace") as text:
            for number, line in enumerate(text, 1):
                gone = [path for path in named_in(file, line) if path not in MADE_UP and not is_there(root, file, path)]
                if file.endswith(".md"):
                    gone += [end for end in ENDS_IN_PAGES.findall(line) if end not in ends]
                yield from (f"{file}:{number}: {path}: there is no such path" for path in gone)


# ---- self-test

def below(*parts):  # a path of nothing, which this file does not name
    return "/".join(parts)


SOUND = {
    "runtime/cpu/timeline.h": "// See " + below("pml", "plan", "plan.h") + " and, of a program, " +
                              below("build", "runtime", "gone.h") + "\n",
    "pml/plan/plan.h": "// Of the repository beside: ../" + below("docs", "gone.md") + "\n",
    "scripts/test": "echo\n",
    "docs/GOOD.md": "`runtime/cpu/`, `scripts/test --long`, `cpu/timeline.h`, `python3 scripts/test`, `" +
                    below("runtime", "*", "timeline.h") + "`\n",
    "docs/adr/0001-old.md": "`" + below("runtime", "gone", "gone.h") + "`\n",
}
PLANTED = {
    "runtime/cpu/comment.cc": "// See " + below("pml", "gone.h") + ".\n",
    "tests/run.py": '"""Reads ' + below("docs", "GONE.md") + '"""\n',
    "docs/FOLDER.md": "`" + below("runtime", "gone", "") + "`\n",
    "docs/SCRIPT.md": "`" + below("scripts", "gone") + " --long`\n",
    "docs/END.md": "`" + below("gone", "timeline.h") + "`\n",
}


def report_of(tree):
    with tempfile.TemporaryDirectory() as root:
        for path, text in tree.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        return list(nothings(root))


def self_test():
    wrong = [f"a sound tree is reported: {found}" for found in report_of(SOUND)]
    for path, text in PLANTED.items():
        found = report_of({**SOUND, path: text})
        if len(found) != 1 or not found[0].startswith(path + ":1: "):
            wrong.append(f"planted {path}: expected one report of it, got {found}")
    return wrong


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = self_test() if sys.argv[1] == "--self-test" else list(nothings(sys.argv[1]))
    print("\n".join(found) if found else "nothing to report")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
