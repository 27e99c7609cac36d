#!/usr/bin/env python3
"""How many cycles the products on AMX's tiles would take at the least, by a model of Sapphire Rapids.

    amx_bounds.py [--build DIR] [--mca PROGRAM]

Runs tests/instructions/amx_kernels.cc, which notes what each path executes, and hands that to llvm-mca:
data in the first cache, branches foreseen. LLVM 19 has no model of tiles: loading or storing one is taken
as 16 vectors loaded or stored (8 where it has 8 rows), and a product of tiles as 16 cycles of a unit of
its own (Intel's optimisation manual). Printed for each path, for 16 x 32 weights and all rows of x:
instructions; cycles of the tile unit; of memory, two vectors loaded and one stored a cycle (LLVM's model
has three and two); of the other units; and of the pipeline without the tile unit, in which each
instruction waits for its operands but for those of tiles. No measurement. Needs llvm-mca and
llvm-objdump of version 19 (Debian: llvm-19).
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/instructions"))
import amx_kernels  # noqa: E402

MOST = 20000  # instructions that are handed to the model
GROUPS = 64 // 16 * 512 // 32  # of 16 x 32 weights, in a path
TILE_CYCLES = 16
BRANCH = re.compile(r"^(j\w+|call|ret)\b")


def listing(program, objdump):
    """address -> instruction, from that of counting_begins."""
    text = subprocess.run([objdump, "-d", "--no-show-raw-insn", program], check=True,
                          capture_output=True, text=True).stdout
    begins = int(re.search(r"^([0-9a-f]+) <counting_begins>:", text, re.M)[1], 16)
    found = re.findall(r"^\s*([0-9a-f]+):\s+(.+)$", text, re.M)
    return {int(at, 16) - begins: re.sub(r"\s*(<.*>|#.*)$", "", what).replace("\t", " ") for at, what in found}


def segments(trace, code):
    """path -> its instructions in the order of their execution."""
    found, here = {}, None
    for line in trace.split("\n"):
        if re.fullmatch(r"[0-9a-f]+", line):
            at = int(line, 16)
            here.append(code.get(at - (1 << 64) if at >> 63 else at, "nop"))
        elif line:
            here = found.setdefault(line, [])
    return found


def for_model(instruction, rows):
    """What stands for an instruction in the model."""
    if BRANCH.match(instruction):
        return ["nop"]
    tile = re.match(r"(tileloadd|tilestored)\b.*?(\(.*?\))", instruction)
    if not tile:
        return [] if re.match(r"tile|tdp|ldtilecfg", instruction) else [instruction]
    base = re.match(r"\((%\w+)", tile[2])[1]
    to = "vmovups {}({}), %zmm31" if tile[1] == "tileloadd" else "vmovups %zmm31, {}({})"
    return [to.format(64 * r, base) for r in range(rows)]


def tile_rows(instruction, half):
    """Rows of the tile that is loaded or stored; right operands, 0 to 3, have 8 in products of half the depth."""
    number = re.search(r"%tmm(\d)", instruction)
    return 8 if half and number and int(number[1]) < 4 else 16


def memory_cycles(instructions):
    """Two vectors of 64 bytes are loaded a cycle and one is stored."""
    vectors = [i for i in instructions if "%zmm" in i and "(" in i]
    stores = sum(1 for i in vectors if i.rstrip().endswith(")"))
    return max((len(vectors) - stores) / 2, stores)


def cycles(mca, instructions):
    """(by its units, by its pipeline) of all of them."""
    begin = max(0, (len(instructions) - MOST) // 2)
    part = instructions[begin:begin + MOST]
    done = subprocess.run([mca, "-mtriple=x86_64-linux-gnu", "-mcpu=sapphirerapids", "-iterations=1", "-json"],
                          input="\n".join(part), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"amx_bounds.py: {mca}: {done.stderr[:2000]}")
    summary = json.loads(done.stdout)["CodeRegions"][0]["SummaryView"]
    scale = len(instructions) / len(part)
    return summary["BlockRThroughput"] * scale, summary["TotalCycles"] * scale


def main():
    parser = argparse.ArgumentParser(description="see the top of this file")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--mca", default="llvm-mca-19")
    given = parser.parse_args()
    program = given.build / "tests/instructions/amx_kernels"
    code = listing(program, given.mca.replace("mca", "objdump"))
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace"
        counts = amx_kernels.run(program, trace)
        executed = segments(trace.read_text(), code)
    print("| path | instructions | tile unit | memory | other units | pipeline |\n|---|---|---|---|---|---|")
    for path, n in counts.items():
        if path.startswith(("row", "attend")):
            continue
        half = path.startswith("codes_q6")
        modelled = [m for i in executed[path] for m in for_model(i, tile_rows(i, half))]
        tiles = TILE_CYCLES * collections.Counter(i.split(" ")[0] for i in executed[path])["tdpbf16ps"]
        units, pipeline = cycles(given.mca, modelled)
        print(f"| {path} | {n / GROUPS:.0f} | {tiles / GROUPS:.0f} | {memory_cycles(modelled) / GROUPS:.0f} | {units / GROUPS:.0f} | {pipeline / GROUPS:.0f} |",
              flush=True)


if __name__ == "__main__":
    main()
