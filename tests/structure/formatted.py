#!/usr/bin/env python3
"""Every source is as clang-format 14 writes it by .clang-format.

    formatted.py ROOT          prints each place that is written otherwise; status 1 if any
    formatted.py --self-test   plants a file that is not formatted beside one that is, and fails
                               unless that one, and nothing else, is reported

Another version of clang-format breaks lines elsewhere: without version 14 there is nothing to check
with, and one line says so. To format a file: clang-format -i FILE.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

FOLDERS = ("base", "bench", "cuda", "examples", "include", "modules", "pml", "runtime", "simd", "tests", "tools")
ENDINGS = (".c", ".cc", ".cu", ".h", ".hpp")
# File: why it is written otherwise.
WRITTEN_OTHERWISE = {"examples/hello.c": "a whole program in 25 lines, related declarations in one"}
BATCH = 50  # files of one process: about 0.15 s


def formatter():
    """A clang-format of version 14, or None."""
    for name in ("clang-format-14", "clang-format"):
        if shutil.which(name):
            version = subprocess.run([name, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
            if re.search(r"version 14\.", version):
                return name
    return None


def sources(root):
    for folder in FOLDERS:
        for path, _, names in os.walk(os.path.join(root, folder)):
            for name in sorted(names):
                relative = os.path.relpath(os.path.join(path, name), root)
                if name.endswith(ENDINGS) and relative not in WRITTEN_OTHERWISE:
                    yield relative


def reports(command, root):
    """Each place that is not formatted, as FILE:LINE:COLUMN: error; and how many files there are."""
    paths = list(sources(root))

    def check(batch):
        done = subprocess.run([command, "--dry-run", "--Werror", *batch], cwd=root, stderr=subprocess.PIPE, text=True)
        return done.stderr if done.returncode else ""

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        batches = [paths[at:at + BATCH] for at in range(0, len(paths), BATCH)]
        return "".join(pool.map(check, batches)), len(paths)


def self_test(command, root):
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copy(os.path.join(root, ".clang-format"), scratch)
        os.mkdir(os.path.join(scratch, "base"))
        for name, text in (("good.cc", "int f() {\n  return 1;\n}\n"), ("planted.cc", "int  f() { return 1; }\n")):
            with open(os.path.join(scratch, "base", name), "w", encoding="utf-8") as file:
                file.write(text)
        found, _ = reports(command, scratch)
    places = set(re.findall(r"^(\S+):\d+:\d+: error:", found, re.M))
    return "" if places == {"base/planted.cc"} else f"reported: {places}\n{found}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    command = formatter()
    if not command:
        return print("SKIPPED: clang-format 14 is not installed (scripts/deps test)")
    if sys.argv[1] == "--self-test":
        here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        found, n = self_test(command, here), 2
    else:
        found, n = reports(command, os.path.abspath(sys.argv[1]))
    if found:
        sys.exit(found)
    print(f"{n} files, all formatted")


if __name__ == "__main__":
    main()
