#!/usr/bin/env python3
"""simd/blocks/codebook_rows.h, the grids of GGUF's codebook types, from the package gguf.

    python tests/golden/make_codebooks.py [--out simd/blocks/codebook_rows.h]

Needs gguf 0.19. A row of a grid is one number of 16 bits: eight elements of two bits, or
four of four, the first one lowest. Which number an element stands for is in codebooks.cc.
"""

import argparse
import pathlib

from gguf import quants

# The grids of IQ1_M and IQ1_S are one.
GRIDS = ["IQ1_S", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S"]
PER_LINE = 12


def rows(name):
    raw = bytes.fromhex(getattr(quants, name).grid_hex.decode())
    numbers = [raw[i] | raw[i + 1] << 8 for i in range(0, len(raw), 2)]
    assert len(numbers) == getattr(quants, name).grid_shape[0], name
    return numbers


def constant(name):
    return "k" + name.title().replace("_", "") + "Rows"


def table(name):
    numbers = rows(name)
    lines = [", ".join(f"0x{n:04x}" for n in numbers[i:i + PER_LINE])
             for i in range(0, len(numbers), PER_LINE)]
    body = ",\n    ".join(lines)
    return (f"inline constexpr std::array<std::uint16_t, {len(numbers)}> "
            f"{constant(name)} = {{\n    {body}}};\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--out", type=pathlib.Path, default=root / "simd/blocks/codebook_rows.h")
    out = parser.parse_args().out
    head = """// The grids of GGUF's codebook types: what ggml and its package gguf (llama.cpp) call iq1s_grid,
// iq2xxs_grid, iq2xs_grid, iq2s_grid, iq3xxs_grid and iq3s_grid. Written by
// tests/golden/make_codebooks.py; not edited by hand.
//
// A row is 16 bits: eight elements of two bits, or four of four, the first one lowest. What an
// element stands for: simd/blocks/codebooks.cc. Constant data.
#pragma once

#include <array>
#include <cstdint>

namespace pc::simd {

"""
    out.write_text(head + "\n".join(table(name) for name in GRIDS) + "\n}  // namespace pc::simd\n")


if __name__ == "__main__":
    main()
