#!/usr/bin/env python3
"""Whoever touches what a mutex guards holds it: clang's -Wthread-safety says so.

    locks.py ROOT          checks every source of the libraries that sees base/mutex.h
    locks.py --self-test   plants a read without the lock and fails unless it is reported

Without clang++ there is nothing to check with: one line says so. The standard library's
mutex says nothing of what it guards, so the libraries use base/mutex.h alone.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

FOLDERS = ("base", "modules", "pml", "runtime", "simd", "tools")
MUTEX = "base/mutex.h"
OWN_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
BARE = re.compile(r"\bstd::(mutex|lock_guard|unique_lock|scoped_lock|shared_mutex)\b")

PLANTED = """
#include "base/mutex.h"
struct Counter {
  int read() const { return n; }
  mutable pc::Mutex mutex;
  int n PC_GUARDED_BY(mutex) = 0;
};
"""


def sources(root):
    for folder in FOLDERS:
        for path, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                if name.endswith((".h", ".cc")):
                    yield os.path.relpath(os.path.join(path, name), root)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def seeing_mutex(includes):
    """The files from which base/mutex.h is reached."""
    seeing = {MUTEX}
    while True:
        more = {p for p, its in includes.items() if p not in seeing and not seeing.isdisjoint(its)}
        if not more:
            return seeing
        seeing |= more


def reports(root, paths):
    command = ["clang++", "-std=c++20", "-fsyntax-only", "-Wthread-safety", f"-I{root}", f"-I{root}/include",
               '-DPC_VERSION="0"', "-Wno-everything", "-Wthread-safety"]
    done = subprocess.run(command + sorted(os.path.join(root, p) for p in paths), stderr=subprocess.PIPE, text=True)
    return done.stderr if done.returncode or "thread-safety" in done.stderr else ""


def violations(root):
    texts = {path: read(root, path) for path in sources(root)}
    bare = [f"{path}: {match.group(0)}: base/mutex.h's can be checked"
            for path, text in sorted(texts.items()) if path != MUTEX
            for match in [BARE.search(text)] if match]
    seeing = seeing_mutex({path: set(OWN_INCLUDE.findall(text)) for path, text in texts.items()})
    found = reports(root, [p for p in seeing if p.endswith(".cc")])
    return "\n".join(bare + ([found] if found else []))


def self_test(root):
    with tempfile.TemporaryDirectory() as scratch:
        planted = os.path.join(scratch, "planted.cc")
        with open(planted, "w", encoding="utf-8") as file:
            file.write(PLANTED)
        found = reports(root, [planted])
    return "" if "requires holding mutex 'mutex'" in found else f"a read without the lock is not reported: {found}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if not shutil.which("clang++"):
        return print("SKIPPED: clang++ is not installed")
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    found = self_test(here) if sys.argv[1] == "--self-test" else violations(os.path.abspath(sys.argv[1]))
    if found:
        sys.exit(found)
    print("nothing to report")


if __name__ == "__main__":
    main()
