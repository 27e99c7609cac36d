#!/usr/bin/env python3
"""What the linker sees.

    symbols.py exported LIBRARY HEADER    the shared library exports exactly the
                                          functions that the header declares, each
                                          with a version (cmake/promptcache.map)
    symbols.py archive LIBRARY HEADER     so does the static library, without versions
    symbols.py weak OBJECT...             no weak symbol belongs to an instruction set
    symbols.py wide OBJECT...             no weak symbol with a plain name holds AVX or
                                          later instructions: x86, built at -O0

The hazard behind the last two: an inline function or a template that an object
emits is a weak symbol, and the linker keeps one copy of each name for the whole
program, whichever it meets first. Where that copy of, say, std::max was compiled
for AVX-512, a call from plain code on a machine without it ends in an illegal
instruction. Names that carry their target (hwy::N_AVX3::...) cannot be mistaken
for plain ones; at -O0, where nothing is inlined, Highway's own are all there, so
that build shows best whether a plain name slipped in. An optimised build is to
emit none of either.
"""
import re
import subprocess
import sys

DECLARED = re.compile(r"PC_API\s[^;{]*?\b(pc_\w+)\s*\(")
VERSION = re.compile(r"\w+@@?PROMPTCACHE_[1-9]\d*")
OF_A_TARGET = re.compile(r"\d+N_(SSSE3|SSE4|AVX|NEON|SVE)")  # in a mangled name
WIDE = re.compile(r"^\s*[0-9a-f]+:\s+v[a-z]\w+\s.*%[xyz]mm")  # VEX and EVEX mnemonics: AVX and later


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def compared(names, header):
    with open(header, encoding="utf-8") as file:
        declared = set(DECLARED.findall(re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)))
    found = {name.split("@")[0] for name in names}
    if not declared:
        return [f"{header} declares nothing"]
    return ([f"{name}: exported, but {header} does not declare it" for name in sorted(found - declared)]
            + [f"{name}: declared, but not exported" for name in sorted(declared - found)])


def exported(library, header):
    # "A" is the name of the version itself.
    rows = [line.split() for line in run("nm", "-D", "--defined-only", library).splitlines()]
    names = sorted(row[2] for row in rows if row[1] != "A")
    return (compared(names, header)
            + [f"{name}: exported without a version" for name in names if not VERSION.fullmatch(name)])


def archive(library, header):
    rows = [line.split() for line in run("nm", "-g", "--defined-only", library).splitlines()]
    return compared([row[2] for row in rows if len(row) == 3], header)


def weak_names(path):
    rows = [line.split() for line in run("nm", "--defined-only", path).splitlines()]
    return {row[2] for row in rows if row[1] in "WwVvu"}


def weak(path):
    return [f"{path}: weak symbol of an instruction set: {name}"
            for name in sorted(weak_names(path)) if OF_A_TARGET.search(name)]


def wide(path):
    plain = {name for name in weak_names(path) if not OF_A_TARGET.search(name)}
    found, function = set(), None
    for line in run("objdump", "-d", "--no-show-raw-insn", path).splitlines():
        head = re.match(r"[0-9a-f]+ <(\S+)>:", line)
        if head:
            function = head.group(1)
        elif function in plain and WIDE.match(line):
            found.add(function)
    return [f"{path}: plain weak symbol with wide instructions: {name}" for name in sorted(found)]


def main():
    rule, operands = (sys.argv[1:2] or [""])[0], sys.argv[2:]
    if rule in ("exported", "archive") and len(operands) == 2:
        wrong = (exported if rule == "exported" else archive)(*operands)
    elif rule in ("weak", "wide") and operands:
        wrong = [line for path in operands for line in (weak if rule == "weak" else wide)(path)]
    else:
        sys.exit(__doc__)
    print("\n".join(wrong) if wrong else "nothing to report")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
