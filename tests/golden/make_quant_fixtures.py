#!/usr/bin/env python3
"""Blocks of GGUF's quantised types, and what the package gguf dequantises them to.

    python tests/golden/make_quant_fixtures.py [--out tests/golden/quant]

Needs gguf and numpy; deterministic. <out>/<TYPE>.bin holds n blocks, one after
the other, and then n * (elements of a block) expected f32, little-endian; n
follows from the file's size. Blocks are random bytes, all zeros and all ones,
their f16 scales (and minima) ordinary, zero of both signs, subnormal, and the
largest finite ones. No infinities: such files are refused.
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
}
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


def block(rng, name, size, fill, *halves):
    raw = rng.integers(0, 256, size, dtype=np.uint8) if fill is None else np.full(size, fill, np.uint8)
    for at, bits in zip(SCALES[name], halves):
        half = np.float16(rng.normal() * 0.02) if bits is None else np.uint16(bits)
        raw[at:at + 2] = np.frombuffer(half.tobytes(), np.uint8)
    return raw


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent / "quant")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for seed, name in enumerate(SCALES):
        kind = GGMLQuantizationType[name]
        rng = np.random.default_rng(seed)
        blocks = np.stack([block(rng, name, GGML_QUANT_SIZES[kind][1], *b) for b in BLOCKS])
        expected = dequantize(blocks, kind).astype("<f4")
        assert np.isfinite(expected).all(), name
        (out / f"{name}.bin").write_bytes(blocks.tobytes() + expected.tobytes())


if __name__ == "__main__":
    main()
