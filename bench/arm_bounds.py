#!/usr/bin/env python3
"""How many cycles the kernels of 64-bit Arm would take at the least on CPUs that LLVM has a model of, since no
Arm machine has timed them.

    arm_bounds.py [--build DIR] [--mca PROGRAM]

Runs tests/instructions/arm_kernels.cc of a cross build (build-arm64; scripts/test-arm64 makes it) under
qemu-user, which notes what each path executes in its order, and hands that to llvm-mca: data in the
first cache, branches foreseen. Two figures a path and CPU, in multiply-adds a cycle: what the CPU's units
would allow, and what the model of its pipeline makes of it, with each instruction waiting for
its operands. Of a long path it takes a part from the middle. Needs llvm-mca and llvm-objdump of
version 19 (Debian: llvm-19), whose models are those of the CPUs named; older ones took others for them.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/instructions"))
import arm_kernels  # noqa: E402

EMULATOR = "qemu-aarch64"
MOST = 20000  # instructions that are handed to the model
# CPU -> tables that it would take or may be made to take (PC_ISA).
CPUS = {
    "cortex-a72": ("neon",),
    "neoverse-n1": ("neon", "neon_dot"),
    "neoverse-v1": ("neon_dot", "neon_i8mm", "neon_bf16"),
    "neoverse-n2": ("neon_dot", "neon_i8mm", "neon_bf16"),
    "neoverse-v2": ("neon_dot", "neon_i8mm", "neon_bf16"),
}
FEATURES = "+dotprod,+i8mm,+bf16,+fullfp16"
# What the tables do not share.
SAME = {"neon_bf16": r"product_|attend_(f32|q8)", "neon_i8mm": r"attend_|rows_1$",
        "neon_dot": r"attend_(f32|bf16)"}
BRANCH = re.compile(r"^(b|bl|b\.\w+|cbn?z|tbn?z)\b")


def multiply_adds(path):
    rows = re.fullmatch(r"product_\w+_rows_(\d+)", path)
    if rows:
        return int(rows[1]) * 64 * 512
    return 2 * 8 * 128 * 64 if path.startswith("attend_") else None


def listing(program, objdump):
    """address -> instruction, as an assembler takes it; and the address of counting_begins."""
    text = subprocess.run([objdump, "-d", "--no-show-raw-insn", program], check=True,
                          capture_output=True, text=True).stdout
    begins = int(re.search(r"^([0-9a-f]+) <counting_begins>:", text, re.M)[1], 16)
    return {int(at, 16): as_assembly(what) for at, what in re.findall(r"^\s*([0-9a-f]+):\s+(.+)$", text, re.M)}, begins


def as_assembly(instruction):
    plain = re.sub(r"\s*(<.*>|//.*)$", "", instruction).replace("\t", " ")
    if BRANCH.match(plain):
        return re.sub(r"0x[0-9a-f]+$", "#8", plain)
    return re.sub(r"0x[0-9a-f]+$", "#0", plain) if plain.startswith("adr") else plain


def segments(trace, names, code, begins):
    """path -> its instructions in the order of their execution."""
    found = {}
    for name, part in zip(names, trace.split("\n\n"), strict=False):
        first, *blocks = part.strip().split("\n")
        base = int(first, 16) - begins
        found[name] = [code[at] for block in blocks for address, n in [block.split()]
                       for at in range(int(address, 16) - base, int(address, 16) - base + 4 * int(n), 4)
                       if at in code]
    return found


def cycles(mca, cpu, instructions):
    """(by its units, by its pipeline) of all of them."""
    begin = max(0, (len(instructions) - MOST) // 2)
    part = instructions[begin:begin + MOST]
    done = subprocess.run([mca, "-mtriple=aarch64-linux-gnu", f"-mcpu={cpu}", f"-mattr={FEATURES}",
                           "-iterations=1", "-json"], input="\n".join(part), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"arm_bounds.py: {mca}: {done.stderr[:2000]}")
    summary = json.loads(done.stdout)["CodeRegions"][0]["SummaryView"]
    scale = len(instructions) / len(part)
    return summary["BlockRThroughput"] * scale, summary["TotalCycles"] * scale


def main():
    parser = argparse.ArgumentParser(description="see the top of this file")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build-arm64")
    parser.add_argument("--mca", default="llvm-mca-19")
    given = parser.parse_args()
    program = given.build / "tests/instructions/arm_kernels"
    code, begins = listing(program, given.mca.replace("mca", "objdump"))
    print("| kernels | path | instructions |" + "".join(f" {cpu} |" for cpu in CPUS))
    print("|---|---|---|" + "---|" * len(CPUS))
    with tempfile.TemporaryDirectory() as folder:
        counter = arm_kernels.build_counter(folder)
        for table in arm_kernels.TABLES:
            trace = pathlib.Path(folder) / "trace"
            counts = arm_kernels.run(program, [EMULATOR, "-L", given.build / "sysroot"], table, counter, trace)
            executed = segments(trace.read_text(), counts, code, begins)
            for path, n in counts.items():
                work = multiply_adds(path)
                if not work or table in SAME and re.search(SAME[table], path):
                    continue
                row = [f"{work / units:.1f}, {work / pipeline:.1f}"
                       for cpu, tables in CPUS.items() if table in tables
                       for units, pipeline in [cycles(given.mca, cpu, executed[path])]]
                cells = iter(row)
                print(f"| {table} | {path} | {n} | "
                      + " | ".join(next(cells) if table in tables else "" for tables in CPUS.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
