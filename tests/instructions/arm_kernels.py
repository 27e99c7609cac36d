#!/usr/bin/env python3
"""Counts the instructions of the kernels of 64-bit Arm under qemu-user, so that a slip shows in any review
though no Arm machine is at hand.

    arm_kernels.py PROGRAM COMPILER EMULATOR...            compares with arm_counts.json; 77: skipped
    arm_kernels.py PROGRAM COMPILER EMULATOR... --update   writes arm_counts.json

PROGRAM is arm_kernels.cc, COMPILER what it was built with ("GNU 12 Release"), EMULATOR qemu-aarch64 and
its options. qemu_counter.c, built here for this machine, counts. Counts are the same in each run; a path
fails at 1.1 times what is committed: what a compiler's patch release changes is less.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from committed import compare, skip

HERE = pathlib.Path(__file__).resolve().parent
COUNTS = HERE / "arm_counts.json"
COMPILER = "GNU 12 Release"
TABLES = ("neon", "neon_dot", "neon_i8mm", "neon_bf16")
BOUND = 1.1

def build_counter(folder):
    """The plug-in, for this machine."""
    compiler = shutil.which("cc") or skip("there is no C compiler for this machine")
    counter = pathlib.Path(folder) / "libqemu_counter.so"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", counter, HERE / "qemu_counter.c"], check=True)
    return counter


def run(program, emulator, table, counter, trace=None):
    """path -> instructions, of the kernels of `table`; what was executed goes to the file `trace`."""
    counts = counter.with_suffix(".counts")
    plugin = f"{counter},counts={counts}" + (f",trace={trace}" if trace else "")
    command = [emulator[0], "-plugin", plugin, *emulator[1:], program]
    environment = {**os.environ, "PC_ISA": table, "QEMU_CPU": "max"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if "plugin" in done.stderr:
        skip(f"this QEMU takes no plug-ins of version 1: {done.stderr.strip()}")
    if done.returncode != 0:
        sys.exit(f"{program} with {table} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return dict(zip(done.stdout.split(), map(int, counts.read_text().split()), strict=True))


def count(program, emulator):
    with tempfile.TemporaryDirectory() as folder:
        counter = build_counter(folder)
        return {f"{table}.{path}": n for table in TABLES
                for path, n in run(program, emulator, table, counter).items()}


def main(program, compiler, emulator, update):
    if compiler != COMPILER:
        skip(f"the counts are those of {COMPILER}, this is {compiler}")
    counts = count(program, emulator)
    if update:
        COUNTS.write_text(json.dumps(counts, indent=2, sort_keys=True) + "\n")
        return
    problems = compare(counts, json.loads(COUNTS.read_text()), BOUND, COUNTS.name)
    if problems:
        sys.exit("\n".join(problems + ["If that is meant: ninja update_arm_instruction_counts"]))


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    main(arguments[0], arguments[1], arguments[2:], "--update" in sys.argv)
