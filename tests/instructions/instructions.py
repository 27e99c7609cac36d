#!/usr/bin/env python3
"""Counts the instructions of the hot paths, so that a slip shows in any review.

    instructions.py PROGRAM BUILD            compares with counts.json; 77: skipped
    instructions.py PROGRAM BUILD --update   writes counts.json

PROGRAM is hot_paths.cc, BUILD what it was built with ("GNU Release x86_64").
Callgrind runs it with the AVX2 kernels: it knows no later ones, and so the counts
are those of every machine. A path fails at 1.5 times what is committed: compilers
and libraries differ by less, a slip worth a failure by more. Clocks fail nothing.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
COUNTS = HERE / "counts.json"
TINY_MODEL = HERE.parent / "tools" / "tiny_model.py"
BUILD = "GNU Release x86_64"
BOUND = 1.5
SKIPPED = 77


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def run(program, folder):
    subprocess.run([sys.executable, "-B", TINY_MODEL, folder], check=True)
    arguments = [program, folder / "tiny_q8_0.gguf", folder / "cache"]
    (folder / "cache").mkdir()
    time.sleep(2.1)  # the digest of a file that changed just now is not remembered: "open" would read all of it
    environment = {**os.environ, "PC_ISA": "avx2", "OMP_NUM_THREADS": "1"}
    # The first run stores, packs and verifies what the counted one finds.
    # Callgrind dumps nothing where both options have one pattern: the second names each function.
    names = re.findall(r"^PC_COUNTED (counted_\w+)", (HERE / "hot_paths.cc").read_text(), re.M)
    for command in (arguments, ["valgrind", "--tool=callgrind", "--toggle-collect=counted_*",
                                *(f"--dump-after={name}" for name in names),
                                f"--callgrind-out-file={folder}/out", *arguments]):
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode == SKIPPED:
            skip("this machine has no AVX2")
        if done.returncode != 0:
            sys.exit(f"{command[0]} ended with {done.returncode}\n{done.stdout}{done.stderr}")


def read_counts(folder):
    counts = {}
    for path in folder.glob("out.*"):
        text = path.read_text()
        trigger = re.search(r"^desc: Trigger: --dump-after=counted_(\w+)", text, re.M)
        if trigger:
            counts[trigger[1]] = int(re.search(r"^(?:totals|summary): (\d+)", text, re.M)[1])
    return dict(sorted(counts.items()))


def compare(counts, committed):
    problems = [f"{name} is in one of program and counts.json alone" for name in counts.keys() ^ committed.keys()]
    print(f"{'path':<16}{'committed':>12}{'now':>12}{'ratio':>8}")
    for name in sorted(counts.keys() & committed.keys()):
        ratio = counts[name] / committed[name]
        print(f"{name:<16}{committed[name]:>12}{counts[name]:>12}{ratio:>8.2f}")
        if ratio > BOUND:
            problems.append(f"{name} takes {ratio:.2f} times the instructions that are committed")
    return problems


def main(program, build, update=False):
    if build != BUILD:
        skip(f"the counts are those of {BUILD}, this is {build}")
    if not shutil.which("valgrind"):
        skip("valgrind is not installed (scripts/deps test)")
    with tempfile.TemporaryDirectory() as name:
        run(program, pathlib.Path(name))
        counts = read_counts(pathlib.Path(name))
    if update:
        COUNTS.write_text(json.dumps(counts, indent=2) + "\n")
        return
    problems = compare(counts, json.loads(COUNTS.read_text()))
    if problems:
        sys.exit("\n".join(problems + ["If that is meant: ninja update_instruction_counts"]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:] == ["--update"])
