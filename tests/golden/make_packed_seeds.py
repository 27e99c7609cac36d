#!/usr/bin/env python3
"""Seeds of packed_weights_fuzz: changes to a sound file, field by field.

    python3 tests/golden/make_packed_seeds.py

Standard library only. The first byte of a seed is the target's mode, the rest a
file (mode 0) or changes to a sound one: offset (u16, big-endian), new byte.
docs/PACKED_FORMAT.md names the offsets.
"""

import pathlib
import struct

OUT = pathlib.Path(__file__).resolve().parents[1] / "fuzz" / "corpus" / "packed_weights_fuzz"
BYTES, CHANGED, RESEALED = 0, 1, 2

N_MATRICES, N_CHUNKS, PAYLOAD_BYTES, FILE_BYTES, SEAL = 24, 32, 40, 48, 160
ROWS, COLS, TYPE = 192, 196, 200  # of the first matrix
PAYLOAD = 4096
MAGIC = b"\x89PCW\r\n\x1a\n"
ENDIAN = struct.pack("<I", 0x01020304)


def changes(mode, *pairs):
    return bytes([mode]) + b"".join(struct.pack(">HB", at, value) for at, value in pairs)


SEEDS = {
    "sound": changes(RESEALED),
    "magic": bytes([BYTES]) + MAGIC + ENDIAN,
    "flip_seal": changes(CHANGED, (SEAL, 0x55)),
    "flip_payload": changes(CHANGED, (PAYLOAD, 0x55)),
    "counts": changes(RESEALED, (N_MATRICES, 2), (N_CHUNKS, 2)),
    "sizes": changes(RESEALED, (FILE_BYTES, 0xFF), (PAYLOAD_BYTES, 0xFF)),
    "rows": changes(RESEALED, (ROWS, 16)),
    "cols": changes(RESEALED, (COLS, 32), (COLS + 1, 1)),
    "type": changes(RESEALED, (TYPE, 5)),
    "limits": changes(RESEALED, (ROWS + 3, 0xFF), (COLS + 3, 0xFF)),
}


def main():
    for name, seed in SEEDS.items():
        (OUT / name).write_bytes(seed)


if __name__ == "__main__":
    main()
