#!/usr/bin/env python3
"""Writes model files that must be refused, one class of defect each.

    make_bad_models.py

Into bad_models/ beside this file: one small file or folder a class, and
index.json, which maps its name to a part of the sentence that refuses it.
NAME.gguf is opened as a model, a folder as what lies in it: weights
(model.safetensors) or a tokenizer (tokenizer.json, tokenizer.model). The output
is the same on every run. Also the seeds of gguf_fuzz.
"""
import json
import os
import shutil
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "bad_models")
SEEDS = os.path.join(HERE, "..", "fuzz", "corpus", "gguf_fuzz")
LARGEST = 4096

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
FORMATS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "B",
           U64: "Q", I64: "q", F64: "d"}
TYPE_F32, TYPE_Q4_0, TYPE_Q4_K, TYPE_I8 = 0, 2, 12, 24
HUGE = 2**64 - 1


def u32(n):
    return struct.pack("<I", n)


def u64(n):
    return struct.pack("<Q", n)


def string(text, length=None):
    data = text if isinstance(text, bytes) else text.encode()
    return u64(len(data) if length is None else length) + data


def plain(kind, value):
    return string(value) if kind == STRING else struct.pack("<" + FORMATS[kind], value)


def pair(key, kind, value):
    return string(key) + u32(kind) + plain(kind, value)


def array(key, kind, values, length=None):
    n = len(values) if length is None else length
    return string(key) + u32(ARRAY) + u32(kind) + u64(n) + b"".join(plain(kind, v) for v in values)


def tensor(name, extents=(4,), kind=TYPE_F32, offset=0, n_dims=None):
    return (string(name) + u32(len(extents) if n_dims is None else n_dims)
            + b"".join(u64(n) for n in extents) + u32(kind) + u64(offset))


def gguf(pairs=(), tensors=(), data=b"", version=3, n_pairs=None, n_tensors=None, alignment=32,
         magic=b"GGUF"):
    head = (magic + u32(version) + u64(len(tensors) if n_tensors is None else n_tensors)
            + u64(len(pairs) if n_pairs is None else n_pairs) + b"".join(pairs) + b"".join(tensors))
    return head + bytes(-len(head) % alignment if tensors else 0) + data


ARCHITECTURE = pair("general.architecture", STRING, "llama")
SOUND = gguf([ARCHITECTURE, pair("llama.block_count", U32, 1),
              array("tokenizer.ggml.tokens", STRING, ["a", "b"])],
             [tensor("a.weight", (4, 2)), tensor("b.weight", (4,), offset=32)], bytes(48))


def one_tensor(**of_tensor):
    return gguf([ARCHITECTURE], [tensor("a.weight", **of_tensor)], bytes(64))


def two_tensors(first, second):
    return gguf([ARCHITECTURE],
                [tensor("a.weight", (16,), offset=first), tensor("b.weight", (16,), offset=second)],
                bytes(128))


def aligned(value, kind=U32):
    return gguf([ARCHITECTURE, pair("general.alignment", kind, value)], [tensor("a.weight")],
                bytes(64))


# What it is called: (bytes, a part of the sentence).
CONTAINERS = {
    "empty": (b"", "not a GGUF file"),
    "magic_wrong": (gguf(magic=b"GGUX"), "not a GGUF file"),
    "magic_cut": (b"GGU", "not a GGUF file"),
    "magic_of_ggml": (gguf(magic=b"tjgg"), "before GGUF"),
    "magic_of_git_lfs": (b"version https://git-lfs.github.com/spec/v1\nsize 1\n", "Git LFS"),
    "version_0": (gguf(version=0), "GGUF version 0"),
    "version_1": (gguf(version=1), "GGUF version 1"),
    "version_4": (gguf(version=4), "GGUF version 4"),
    "version_big_endian": (gguf(version=3 << 24), "big-endian"),
    "cut_in_counts": (SOUND[:20], "truncated"),
    "cut_in_key": (SOUND[:30], "truncated"),
    "cut_in_value": (SOUND[:60], "truncated"),
    "cut_in_array": (SOUND[:len(gguf([ARCHITECTURE, pair("llama.block_count", U32, 1)])) + 50],
                     "truncated"),
    "cut_in_tensors": (SOUND[:SOUND.index(b"b.weight") + 12], "truncated"),
    "cut_in_data": (SOUND[:-1], "truncated"),
    "pairs_2_64": (gguf([ARCHITECTURE], n_pairs=HUGE), "key-value pairs"),
    "pairs_2_63": (gguf([ARCHITECTURE], n_pairs=2**63), "key-value pairs"),
    "pairs_too_many_for_the_file": (gguf([ARCHITECTURE], n_pairs=60000), "key-value pairs"),
    "pairs_one_too_many": (gguf([ARCHITECTURE, ARCHITECTURE.replace(b"arch", b"Arch")], n_pairs=3),
                           "truncated"),
    "tensors_2_64": (gguf([ARCHITECTURE], n_tensors=HUGE), "tensors"),
    "tensors_2_58": (gguf([ARCHITECTURE], n_tensors=2**58), "tensors"),
    "tensors_one_too_many": (gguf([ARCHITECTURE], [tensor("a.weight")], n_tensors=2), "truncated"),
    "key_empty": (gguf([pair("", U8, 1)]), "has a name that is not printable"),
    "key_of_2_40_bytes": (gguf([string("general", 2**40) + u32(U8) + b"1"]), "truncated"),
    "key_of_2_64_bytes": (gguf([string("general", HUGE) + u32(U8) + b"1"]), "truncated"),
    "key_too_long": (gguf([pair("k" * 257, U8, 1)]), "the limit is 256"),
    "key_with_line_break": (gguf([pair("a\nb", U8, 1)]), "has a name that is not printable"),
    "key_not_ascii": (gguf([pair(b"k\xff\xfe", U8, 1)]), "has a name that is not printable"),
    "key_twice": (gguf([ARCHITECTURE, ARCHITECTURE]), "occurs twice"),
    "key_twice_other_type": (gguf([ARCHITECTURE, pair("general.architecture", U8, 1)]),
                             "occurs twice"),
    "value_type_13": (gguf([string("k") + u32(13) + u64(0)]), "value of type 13"),
    "value_type_2_32": (gguf([string("k") + u32(2**32 - 1) + u64(0)]), "value of type 4294967295"),
    "value_boolean_2": (gguf([pair("k", BOOL, 2)]), "neither 0 nor 1"),
    "string_of_2_40_bytes": (gguf([string("k") + u32(STRING) + string("abc", 2**40)]), "truncated"),
    "string_of_2_64_bytes": (gguf([string("k") + u32(STRING) + string("abc", HUGE)]), "truncated"),
    "string_one_too_long": (gguf([string("k") + u32(STRING) + string("abc", 4)]), "truncated"),
    "array_of_arrays": (gguf([string("k") + u32(ARRAY) + u32(ARRAY) + u64(1) + u32(U8) + u64(1)
                              + b"1"]), "array of arrays"),
    "array_of_arrays_deep": (gguf([string("k") + (u32(ARRAY) + u64(1)) * 200]), "k"),
    "array_type_99": (gguf([string("k") + u32(ARRAY) + u32(99) + u64(1) + bytes(8)]),
                      "value of type 99"),
    "array_of_2_64": (gguf([array("k", U8, [1], HUGE)]), "truncated"),
    "array_of_2_61_u64": (gguf([array("k", U64, [1], 2**61)]), "truncated"),
    "array_of_2_62_u32": (gguf([array("k", U32, [1], 2**62)]), "truncated"),
    "array_of_2_30_u8": (gguf([array("k", U8, [1], 2**30)]), "truncated"),
    "array_of_2_60_strings": (gguf([array("k", STRING, ["a"], 2**60)]), "truncated"),
    "array_of_2_64_strings": (gguf([array("k", STRING, ["a"], HUGE)]), "truncated"),
    "array_one_too_many": (gguf([array("k", F32, [1.0], 2)]), "truncated"),
    "array_of_booleans_7": (gguf([array("k", BOOL, [0, 1, 7])]), "neither 0 nor 1"),
    "alignment_0": (aligned(0), "not a power of two"),
    "alignment_24": (aligned(24), "not a power of two"),
    "alignment_2_31": (aligned(2**31), "the limit is 65536"),
    "alignment_u64": (aligned(32, U64), "is not a u32"),
    "alignment_string": (aligned("32", STRING), "is not a u32"),
    "alignment_i32": (aligned(-32, I32), "is not a u32"),
    "tensor_name_empty": (gguf([], [tensor("")], bytes(64)), "has a name that is not printable"),
    "tensor_name_too_long": (gguf([], [tensor("t" * 257)], bytes(64)), "the limit is 256"),
    "tensor_twice": (gguf([], [tensor("a.weight"), tensor("a.weight", offset=32)], bytes(64)),
                     "occurs twice"),
    "tensor_dimensions_5": (one_tensor(extents=(1,) * 5), "5 dimensions"),
    "tensor_dimensions_2_32": (one_tensor(n_dims=2**32 - 1), "4294967295 dimensions"),
    "tensor_dimension_0": (one_tensor(extents=(0,)), "dimension of zero"),
    "tensor_dimension_0_later": (one_tensor(extents=(4, 0, 2)), "dimension of zero"),
    "tensor_dimension_2_64": (one_tensor(extents=(HUGE,)), "2^64"),
    "tensor_dimension_negative": (one_tensor(extents=(2**64 - 4,)), "2^64"),
    "tensor_product_overflows": (one_tensor(extents=(2**32, 2**32)), "2^64"),
    "tensor_product_wraps_to_0": (one_tensor(extents=(2**32, 2**16, 2**16)), "2^64"),
    "tensor_product_wraps_to_16": (one_tensor(extents=(2**62 + 4,)), "2^64"),
    "tensor_product_overflows_in_blocks": (one_tensor(extents=(256, 2**57), kind=TYPE_Q4_K),
                                           "2^64"),
    "tensor_type_4_removed": (one_tensor(extents=(32,), kind=4), "is of type 4"),
    "tensor_type_42": (one_tensor(kind=42), "is of type 42"),
    "tensor_type_2_31": (one_tensor(kind=2**31), "is of type 2147483648"),
    "tensor_row_no_multiple": (one_tensor(extents=(33,), kind=TYPE_Q4_0), "blocks of 32"),
    "tensor_row_below_block": (one_tensor(extents=(128, 2), kind=TYPE_Q4_K), "blocks of 256"),
    "offset_unaligned": (one_tensor(offset=4), "no multiple"),
    "offset_past_end": (one_tensor(offset=64), "of which there are only 64"),
    "offset_end_past_end": (one_tensor(extents=(17,)), "of which there are only 64"),
    "offset_2_40": (one_tensor(offset=2**40), "of which there are only 64"),
    "offset_wraps": (one_tensor(extents=(16,), offset=2**64 - 32), "truncated"),
    "offset_same": (two_tensors(0, 0), "inside another tensor"),
    "offset_overlaps": (two_tensors(0, 32), "inside another tensor"),
    "offset_overlaps_backwards": (two_tensors(64, 32), "inside another tensor"),
    "data_absent": (gguf([], [tensor("a.weight")]), "truncated"),
    "split_alone": (gguf([pair("split.no", U16, 0), pair("split.count", U16, 2),
                          pair("split.tensors.count", I32, 0)]), "part 1 of 2"),
    "split_number": (gguf([pair("split.no", U16, 2), pair("split.count", U16, 2),
                           pair("split.tensors.count", I32, 0)]), "split.no"),
    "split_count_65535": (gguf([pair("split.count", U16, 65535)]), "the limit is 1024"),
    "split_count_string": (gguf([pair("split.count", STRING, "2")]), "split.count"),
    "split_tensors_negative": (gguf([pair("split.no", U16, 0), pair("split.count", U16, 2),
                                     pair("split.tensors.count", I32, -1)]), "negative"),
}


def safetensors(header, n_data=0, length=None):
    text = header if isinstance(header, str) else json.dumps(header, separators=(",", ":"))
    return u64(len(text) if length is None else length) + text.encode() + bytes(n_data)


def weights(n_data=16, **of_tensor):
    return safetensors({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16], **of_tensor}},
                       n_data)


WEIGHTS = {
    "empty": (b"", "too few"),
    "header_of_2_64_bytes": (safetensors("{}", length=HUGE), "the limit is 16777216"),
    "header_cut": (safetensors("{}", length=3), "truncated"),
    "header_not_json": (safetensors("{]"), "JSON"),
    "header_deep": (safetensors("[" * 100), "deeper"),
    "tensor_twice": (safetensors('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
                                 '"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', 1),
                     "twice"),
    "type_unknown": (weights(dtype="Q4_K"), "Q4_K"),
    "shape_negative": (weights(shape=[-1]), "shape"),
    "shape_overflows": (weights(shape=[2**32, 2**32]), "takes another number"),
    "shape_disagrees": (weights(shape=[5]), "takes another number"),
    "offsets_backwards": (weights(data_offsets=[16, 0]), "data_offsets"),
    "offsets_2_64": (weights(data_offsets=[HUGE - 15, HUGE]), "data_offsets"),
    "cut_in_data": (weights(n_data=15), "truncated"),
    "data_left_over": (weights(n_data=17), "belong to none"),
    "data_overlaps": (safetensors({n: {"dtype": "U8", "shape": [8], "data_offsets": [b, b + 8]}
                                   for n, b in (("a", 0), ("b", 4))}, 12), "inside another tensor"),
}


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    index = {}
    for name, (data, sentence) in CONTAINERS.items():
        assert len(data) <= LARGEST, name
        write(os.path.join(OUT, name + ".gguf"), data)
        index[name + ".gguf"] = sentence
    for name, (data, sentence) in WEIGHTS.items():
        write(os.path.join(OUT, "weights_" + name, "model.safetensors"), data)
        index["weights_" + name] = sentence
    write(os.path.join(OUT, "index.json"),
          (json.dumps(index, indent=1, sort_keys=True) + "\n").encode())
    write(os.path.join(SEEDS, "sound.gguf"), SOUND)
    write(os.path.join(SEEDS, "values.gguf"), gguf(
        [pair(f"k{kind}", kind, "text" if kind == STRING else 1) for kind in (*FORMATS, STRING)]
        + [array(f"a{kind}", kind, [1, 0]) for kind in FORMATS]))
    write(os.path.join(SEEDS, "types.gguf"), gguf(
        [pair("general.alignment", U32, 64)],
        [tensor("a", (), TYPE_I8), tensor("b", (64, 2), TYPE_Q4_0, 64),
         tensor("c", (256,), TYPE_Q4_K, 192)], bytes(336), alignment=64))


if __name__ == "__main__":
    main()
