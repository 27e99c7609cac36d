#!/usr/bin/env python3
"""Counts the instructions of the products on AMX's tiles, so that a slip shows in any review though no
machine with AMX is at hand.

    amx_kernels.py PROGRAM COMPILER            compares with amx_counts.json; 77: skipped
    amx_kernels.py PROGRAM COMPILER --update   writes amx_counts.json

PROGRAM is amx_kernels.cc, which runs where the CPU has AVX-512 with VNNI and BF16 and steps through the compiled
code; COMPILER what it was built with ("GNU 12 Release"). Counts are the same in each run; a path fails
at 1.1 times what is committed: what a compiler's patch release changes is less.
"""

import json
import pathlib
import subprocess
import sys

from committed import SKIPPED, compare, skip

COUNTS = pathlib.Path(__file__).resolve().parent / "amx_counts.json"
COMPILER = "GNU 12 Release"
BOUND = 1.1


def run(program, trace=None):
    """path -> instructions; what was executed goes to the file `trace`."""
    done = subprocess.run([program, *([trace] if trace else [])], capture_output=True, text=True)
    if done.returncode == SKIPPED:
        skip("this machine has no AVX-512 with VNNI and BF16")
    if done.returncode != 0:
        sys.exit(f"{program} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return {name: int(n) for name, n in (line.split() for line in done.stdout.splitlines())}


def main(program, compiler, update):
    if compiler != COMPILER:
        skip(f"the counts are those of {COMPILER}, this is {compiler}")
    counts = run(program)
    if update:
        COUNTS.write_text(json.dumps(counts, indent=2, sort_keys=True) + "\n")
        return
    problems = compare(counts, json.loads(COUNTS.read_text()), BOUND, COUNTS.name)
    if problems:
        sys.exit("\n".join(problems + ["If that is meant: ninja update_amx_instruction_counts"]))


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    main(arguments[0], arguments[1], "--update" in sys.argv)
