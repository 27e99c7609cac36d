#!/usr/bin/env python3
"""Writes a made-up sentencepiece vocabulary, for checkpoints of random weights.

    python bench/make_vocabulary.py OUT/tokenizer.model [--pieces 32000]

Of BPE's kind with bytes to fall back on, as Llama 2's: a word of up to three small letters, and
each of bench/peers/promptcache_runs.WORDS, is one token; every other text is more. Speed does not
depend on what a vocabulary says. Needs no package.
"""

import argparse
import itertools
import pathlib
import string
import struct

WORDS = ("river", "stone", "light", "house", "garden")
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def words():
    """Every word after its own beginnings, so that merging reaches it."""
    yield "\u2581"
    for letter in string.printable.strip():
        yield letter
    for word in WORDS:
        for end in range(1, len(word) + 1):
            yield "\u2581" + word[:end]
    for n in range(1, 5):
        for letters in itertools.product(string.ascii_lowercase, repeat=n):
            yield "\u2581" + "".join(letters)


def pieces(n):
    yield "<unk>", UNKNOWN
    yield "<s>", CONTROL
    yield "</s>", CONTROL
    for byte in range(256):
        yield f"<0x{byte:02X}>", BYTE
    for word in itertools.islice(dict.fromkeys(words()), n - 259):
        yield word, NORMAL


def model(n):
    out = b""
    for rank, (piece, kind) in enumerate(pieces(n)):
        score = float(-rank) if kind == NORMAL else 0.0  # merged in this order
        out += block(1, block(1, piece.encode()) + varint(2 << 3 | 5) + struct.pack("<f", score) +
                     number(3, kind))
    trainer = number(3, 2) + number(4, n) + number(35, 1)  # BPE, pieces, bytes to fall back on
    normalizer = block(1, b"identity") + number(3, 1) + number(4, 0)  # a space before the first word
    return out + block(2, trainer) + block(3, normalizer)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--pieces", type=int, default=32000)
    a = parser.parse_args()
    a.out.write_bytes(model(a.pieces))


if __name__ == "__main__":
    main()
