#!/usr/bin/env python3
"""Writes a GGUF file of random weights in Q4_0, to measure speed on; needs no package.

    python bench/make_random_gguf.py OUT.gguf [--layers 32] [--d-model 4096] ...

The default shape is Llama 2 7B's: 32 layers, d_model 4096, 32 query and key/value heads, FFN
11008, 32,000 words: 3.8 GB, with a context of 32768. Every matrix is Q4_0, as llama-quantize --pure
writes them; numbers from -7 to 7 with one scale a matrix, such that activations keep near one.
The vocabulary is make_vocabulary.py's. The same for the same seed and shape. Written under another
name and renamed when it is whole.

make_random_checkpoint.py and make_gguf.py write other types, by way of a checkpoint and of
llama.cpp's quantiser.
"""

import argparse
import pathlib
import random
import struct

import make_vocabulary

U32, F32, BOOL, STRING, ARRAY, I32 = 4, 6, 7, 8, 9, 5  # types of metadata
TENSOR_F32, TENSOR_Q4_0 = 0, 2
ALIGNMENT = 32
BLOCK, BLOCK_BYTES = 32, 18  # weights; an f16 scale, then 16 bytes of two numbers each
CHUNK = 1 << 16              # blocks written at a time
MOSTLY_Q4_0 = 2              # general.file_type

# A code is a number plus 8. -8 alone has no counterpart: it becomes 0, so that the mean is 0.
NO_MINUS_8 = bytes((byte if byte & 15 else byte | 8) | (0 if byte >> 4 else 0x80)
                   for byte in range(256))
# The root of the mean square of such numbers: 0 twice, 1 to 7 of both signs once.
SPREAD = (2 * sum(n * n for n in range(1, 8)) / 16) ** 0.5


def text(value):
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def one(kind, value):
    if kind == STRING:
        return text(value)
    return struct.pack({U32: "<I", I32: "<i", F32: "<f", BOOL: "<?"}[kind], value)


def entry(key, kind, value):
    return text(key) + struct.pack("<I", kind) + one(kind, value)


def list_entry(key, kind, values):
    return text(key) + struct.pack("<IIQ", ARRAY, kind, len(values)) + b"".join(
        one(kind, value) for value in values)


def metadata(a):
    p = "llama."
    yield entry("general.architecture", STRING, "llama")
    yield entry("general.name", STRING, "random weights")
    yield entry("general.file_type", U32, MOSTLY_Q4_0)
    for key, value in (("context_length", a.context), ("embedding_length", a.d_model),
                       ("block_count", a.layers), ("feed_forward_length", a.ffn),
                       ("attention.head_count", a.heads), ("attention.head_count_kv", a.kv_heads),
                       ("attention.key_length", a.head_dim), ("attention.value_length", a.head_dim),
                       ("rope.dimension_count", a.head_dim), ("vocab_size", a.vocab)):
        yield entry(p + key, U32, value)
    yield entry(p + "rope.freq_base", F32, 10000.0)
    yield entry(p + "attention.layer_norm_rms_epsilon", F32, 1e-5)
    pieces = list(make_vocabulary.pieces(a.vocab))
    if len(pieces) != a.vocab:
        raise SystemExit(f"make_random_gguf.py: the vocabulary has {len(pieces)} words, not {a.vocab}")
    normal = make_vocabulary.NORMAL
    yield entry("tokenizer.ggml.model", STRING, "llama")
    yield entry("tokenizer.ggml.pre", STRING, "default")
    yield list_entry("tokenizer.ggml.tokens", STRING, [piece for piece, _ in pieces])
    yield list_entry("tokenizer.ggml.scores", F32,
                     [float(-rank) if kind == normal else 0.0 for rank, (_, kind) in enumerate(pieces)])
    yield list_entry("tokenizer.ggml.token_type", I32, [kind for _, kind in pieces])
    for name, token in (("unknown", 0), ("bos", 1), ("eos", 2)):
        yield entry(f"tokenizer.ggml.{name}_token_id", U32, token)
    yield entry("tokenizer.ggml.add_bos_token", BOOL, True)
    yield entry("tokenizer.ggml.add_space_prefix", BOOL, True)


def tensors(a):
    """(name, rows, columns, standard deviation); a norm has no rows and is ones."""
    q, kv, d = a.heads * a.head_dim, a.kv_heads * a.head_dim, a.d_model
    yield "token_embd", a.vocab, d, 1.0
    for i in range(a.layers):
        for name, rows, columns in (("attn_norm", None, d), ("attn_q", q, d), ("attn_k", kv, d),
                                    ("attn_v", kv, d), ("attn_output", d, q), ("ffn_norm", None, d),
                                    ("ffn_gate", a.ffn, d), ("ffn_up", a.ffn, d), ("ffn_down", d, a.ffn)):
            yield f"blk.{i}.{name}", rows, columns, columns ** -0.5
    yield "output_norm", None, d, None
    yield "output", a.vocab, d, d ** -0.5


def size_of(rows, columns):
    return 4 * columns if rows is None else rows * columns // BLOCK * BLOCK_BYTES


def padding(n_bytes):
    return bytes(-n_bytes % ALIGNMENT)


def header(a):
    fields, infos, at = list(metadata(a)), [], 0
    for name, rows, columns, _ in tensors(a):
        shape = [columns] if rows is None else [columns, rows]  # the fastest first
        infos.append(text(name + ".weight") + struct.pack("<I", len(shape)) +
                     struct.pack(f"<{len(shape)}Q", *shape) +
                     struct.pack("<IQ", TENSOR_F32 if rows is None else TENSOR_Q4_0, at))
        at += size_of(rows, columns)
        at += len(padding(at))
    out = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(fields)) + b"".join(fields + infos)
    return out + padding(len(out))


def blocks(draw, n, deviation):
    """n blocks of Q4_0 in pieces."""
    scale = struct.pack("<e", deviation / SPREAD)
    for at in range(0, n, CHUNK):
        size = min(CHUNK, n - at)
        codes = draw.randbytes(16 * size).translate(NO_MINUS_8)
        out = bytearray(BLOCK_BYTES * size)
        for i, byte in enumerate(scale):
            out[i::BLOCK_BYTES] = bytes([byte]) * size
        for i in range(16):
            out[2 + i::BLOCK_BYTES] = codes[i * size:(i + 1) * size]
        yield out


def write(file, a):
    file.write(header(a))
    draw = random.Random(a.seed)
    for _, rows, columns, deviation in tensors(a):
        if rows is None:
            file.write(struct.pack("<f", 1.0) * columns)
        else:
            for piece in blocks(draw, rows * columns // BLOCK, deviation):
                file.write(piece)
        file.write(padding(size_of(rows, columns)))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    for name, value in (("layers", 32), ("d-model", 4096), ("heads", 32), ("kv-heads", 32),
                        ("ffn", 11008), ("vocab", 32000), ("context", 32768), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    a = parser.parse_args()
    a.head_dim = a.d_model // a.heads
    for width in (a.d_model, a.ffn, a.heads * a.head_dim):
        if width % BLOCK:
            parser.error(f"rows of Q4_0 are multiples of {BLOCK}, not {width}")
    return a


def main():
    a = parse_arguments()
    a.out.parent.mkdir(parents=True, exist_ok=True)
    part = a.out.with_name(a.out.name + ".part")
    with open(part, "wb") as file:
        write(file, a)
    part.rename(a.out)
    print(f"{a.out}: {a.out.stat().st_size / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
