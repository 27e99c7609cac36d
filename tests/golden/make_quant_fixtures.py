#!/usr/bin/env python3
"""Blocks of GGUF's quantised types, and what the package gguf dequantises them to.

    python tests/golden/make_quant_fixtures.py [--out tests/golden/quant]

Needs gguf 0.19 and numpy; deterministic. <out>/<TYPE>.bin holds n blocks, one after
the other, and then n * (elements of a block) expected f32, little-endian; n
follows from the file's size. Blocks are random bytes, all zeros and all ones,
their f16 scales (and minima) ordinary, zero of both signs, subnormal, and the
largest finite ones. Files with scales that are not finite are refused; of the types of
codebooks and tables there are such blocks here all the same, for the loops that meet
them before anything is refused. Their other blocks go through every row of a codebook,
every pattern of signs, every byte of base 3, and every scale of 8 bits.
"""

import argparse
import pathlib

import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

# Byte of a block where each f16 lies: the scale, then the minimum.
SCALES = {
    "Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2],
    "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
    "IQ2_XXS": [0], "IQ2_XS": [0], "IQ2_S": [0], "IQ3_XXS": [0], "IQ3_S": [0], "IQ1_S": [0],
    "IQ1_M": [], "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64], "MXFP4": [], "NVFP4": [],
}
CODED = list(SCALES)[10:]
# (bytes of the block: None is random; f16 scale, minimum as bits: None is ordinary)
BLOCKS = [
    (None, None, None),
    (None, None, None),
    (None, 0x0000, 0x8000),  # zero, -zero
    (None, 0x8000, 0x0000),
    (None, 0x0001, 0x83FF),  # the smallest subnormal, the largest negative one
    (None, 0x83FF, 0x0001),
    (None, 0x7BFF, 0xFBFF),  # the largest finite ones
    (0x00, None, None),
    (0x00, 0xFBFF, 0x7BFF),
    (0xFF, None, None),
    (0xFF, 0x7BFF, 0x7BFF),
    (0xFF, 0x8001, 0x0400),  # subnormal, the smallest normal
]
NOT_FINITE = [(None, 0x7C00), (0x00, 0xFC00), (0xFF, 0x7E01)]  # both infinities, NaN
E8M0 = [(None, 118), (None, 127), (None, 0), (0xFF, 0), (None, 1), (None, 2), (0x00, 120), (0xFF, 130),
        (None, 251), (None, 252), (None, 253), (None, 254), (None, 255)]


def filled(rng, size, fill):
    return rng.integers(0, 256, size, dtype=np.uint8) if fill is None else np.full(size, fill, np.uint8)


def block(rng, name, size, fill, *halves):
    raw = filled(rng, size, fill)
    if name == "IQ1_M":  # its f16 is in the upper nibbles of four words
        half = int(np.float16(rng.normal() * 0.02).view(np.uint16)) if halves[0] is None else halves[0]
        for i in range(4):
            raw[49 + 2 * i] = int(raw[49 + 2 * i]) & 15 | (half >> 4 * i & 15) << 4
    for at, bits in zip(SCALES[name], halves):
        half = np.float16(rng.normal() * 0.02) if bits is None else np.uint16(bits)
        raw[at:at + 2] = np.frombuffer(half.tobytes(), np.uint8)
    return raw


def put_rows(name, raw, first):
    """The rows from `first` on, as many as a block has, and as many patterns of signs."""
    if name in ("IQ2_XXS", "IQ3_XXS"):
        per = 4 if name == "IQ2_XXS" else 8  # rows of 32 elements
        for group in range(8):
            at, tail = (2 + 8 * group, 6 + 8 * group) if per == 4 else (2 + 8 * group, 66 + 4 * group)
            raw[at:at + per] = [(first + group * per + r) % 256 for r in range(per)]
            start = first * 4 // per + group * 4
            signs = sum((start + r) % 128 << 7 * r for r in range(4)) | int(raw[tail + 3]) >> 4 << 28
            raw[tail:tail + 4] = np.frombuffer(np.uint32(signs).tobytes(), np.uint8)
    elif name == "IQ2_XS":
        numbers = [(first + r) % 512 | (first + r) % 128 << 9 for r in range(32)]
        raw[2:66] = np.frombuffer(np.array(numbers, "<u2").tobytes(), np.uint8)
    elif name == "IQ2_S":
        raw[2:34] = [(first + r) % 256 for r in range(32)]
        raw[66:74] = [first // 256 * 0x55] * 8
    elif name == "IQ3_S":
        raw[2:66] = [(first + r) % 256 for r in range(64)]
        raw[66:74] = [first // 256 * 0xFF] * 8
    elif name == "IQ1_S":
        raw[2:34] = [(first + r) % 256 for r in range(32)]
        high = first // 256 * 0o1111
        for group in range(8):
            raw[34 + 2 * group] = high & 0xFF
            raw[35 + 2 * group] = int(raw[35 + 2 * group]) & 0xF0 | high >> 8
    elif name == "TQ1_0":
        raw[:52] = [(first + r) % 256 for r in range(52)]


# (rows or bytes in all, of a block)
ALL_ROWS = {"IQ2_XXS": (256, 32), "IQ2_XS": (512, 32), "IQ2_S": (1024, 32), "IQ3_XXS": (256, 64),
            "IQ3_S": (512, 64), "IQ1_S": (2048, 32), "TQ1_0": (256, 48)}


def blocks_of(rng, name, size):
    if name == "MXFP4":
        blocks = [filled(rng, size, fill) for fill, _ in E8M0]
        for raw, (_, bits) in zip(blocks, E8M0):
            raw[0] = bits
        return blocks
    if name == "NVFP4":
        blocks = [filled(rng, size, None) for _ in range(64)]
        for i, raw in enumerate(blocks):
            raw[:4] = range(4 * i, 4 * i + 4)
        return blocks
    blocks = [block(rng, name, size, *b) for b in BLOCKS + (NOT_FINITE if name in CODED else [])]
    n, each = ALL_ROWS.get(name, (0, 1))
    for first in range(0, n, each):
        raw = block(rng, name, size, None, None)
        put_rows(name, raw, first)
        blocks.append(raw)
    return blocks


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent / "quant")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for seed, name in enumerate(SCALES):
        kind = GGMLQuantizationType[name]
        rng = np.random.default_rng(seed)
        blocks = np.stack(blocks_of(rng, name, GGML_QUANT_SIZES[kind][1]))
        with np.errstate(all="ignore"):
            expected = dequantize(blocks, kind).astype("<f4")
        assert name in CODED or np.isfinite(expected).all(), name
        (out / f"{name}.bin").write_bytes(blocks.tobytes() + expected.tobytes())


if __name__ == "__main__":
    main()
