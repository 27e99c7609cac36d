#!/usr/bin/env python3
"""Writes model files that must be refused, one class of defect each.

    make_bad_models.py

Into bad_models/ beside this file: one small file or folder a class, and
index.json, which maps its name to a part of the sentence that refuses it.
NAME.gguf is opened as a model, a folder as what lies in it: weights
(model.safetensors) or a tokenizer (tokenizer.json, tokenizer.model). Where the
sentence is empty the file is sound: the models from which the others are made.
The output is the same on every run. Also the seeds of gguf_fuzz. One file,
though a long one: most of it is a list, a defect a line or a few.
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
TYPE_F32, TYPE_F16, TYPE_Q4_0, TYPE_Q4_K, TYPE_Q8_1, TYPE_IQ4_NL, TYPE_I8 = 0, 1, 2, 12, 9, 20, 24
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
    "empty": (b"", "is empty"),
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
    "tensors_one_too_many": (gguf([ARCHITECTURE], [tensor("a.weight")], bytes(64), n_tensors=2),
                             "has a name that is not printable"),
    "key_empty": (gguf([pair("", U64, 1)]), "has a name that is not printable"),
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


# ---- whole models, each with one thing changed

TOKENS = ["<unk>", "<s>", "</s>", "c", "a", "b", "ab", "\u2581"]
LLAMA = {
    "general.architecture": (STRING, "llama"),
    "llama.context_length": (U32, 64),
    "llama.embedding_length": (U32, 8),
    "llama.block_count": (U32, 1),
    "llama.feed_forward_length": (U32, 8),
    "llama.attention.head_count": (U32, 2),
    "llama.attention.head_count_kv": (U32, 1),
    "llama.attention.layer_norm_rms_epsilon": (F32, 1e-5),
    "llama.rope.freq_base": (F32, 10000.0),
    "tokenizer.ggml.model": (STRING, "llama"),
    "tokenizer.ggml.tokens": (STRING, TOKENS),
    "tokenizer.ggml.scores": (F32, [0, 0, 0, 0, -1, -2, -3, -4]),
    "tokenizer.ggml.token_type": (I32, [2, 3, 3, 1, 1, 1, 1, 1]),
    "tokenizer.ggml.bos_token_id": (U32, 1),
    "tokenizer.ggml.eos_token_id": (U32, 2),
}
GPT2 = {
    "tokenizer.ggml.model": (STRING, "gpt2"),
    "tokenizer.ggml.pre": (STRING, "gpt-2"),
    "tokenizer.ggml.tokens": (STRING, ["\u0120", "<s>", "</s>", "c", "a", "b", "ab", "abc"]),
    "tokenizer.ggml.token_type": (I32, [1, 3, 3, 1, 1, 1, 1, 1]),
    "tokenizer.ggml.merges": (STRING, ["a b", "ab c"]),
    "tokenizer.ggml.scores": None,
}
TENSORS = {
    "token_embd.weight": ((8, 8), TYPE_F32),
    "output_norm.weight": ((8,), TYPE_F32),
    "blk.0.attn_norm.weight": ((8,), TYPE_F32),
    "blk.0.attn_q.weight": ((8, 8), TYPE_F32),
    "blk.0.attn_k.weight": ((8, 4), TYPE_F32),
    "blk.0.attn_v.weight": ((8, 4), TYPE_F32),
    "blk.0.attn_output.weight": ((8, 8), TYPE_F32),
    "blk.0.ffn_norm.weight": ((8,), TYPE_F32),
    "blk.0.ffn_gate.weight": ((8, 8), TYPE_F32),
    "blk.0.ffn_up.weight": ((8, 8), TYPE_F32),
    "blk.0.ffn_down.weight": ((8, 8), TYPE_F32),
}
BLOCKS = {TYPE_F32: (1, 4), TYPE_F16: (1, 2), TYPE_I8: (1, 1), TYPE_Q8_1: (32, 36),  # elements, bytes
          TYPE_IQ4_NL: (32, 18)}


def model(pairs=None, tensors=None, fill=bytes):
    """The sound model with these pairs and tensors instead; None takes one away."""
    merged = {**LLAMA, **(pairs or {})}
    written = [array(k, *v) if isinstance(v[1], (list, tuple)) else pair(k, *v)
               for k, v in merged.items() if v is not None]
    infos, data = [], b""
    for name, shape in {**TENSORS, **(tensors or {})}.items():
        if shape is None:
            continue
        extents, kind = shape
        elements = 1
        for n in extents:
            elements *= n
        block, size = BLOCKS[kind]
        data += bytes(-len(data) % 32)
        infos.append(tensor(name, extents, kind, len(data)))
        data += fill(elements // block * size)
    return gguf(written, infos, data)


def gpt2(pairs=None):
    return model({**GPT2, **(pairs or {})})


def in_blocks(kind):
    return model({"llama.feed_forward_length": (U32, 32)},
                 {"blk.0.ffn_gate.weight": ((8, 32), TYPE_F16),
                  "blk.0.ffn_up.weight": ((8, 32), TYPE_F16),
                  "blk.0.ffn_down.weight": ((32, 8), kind)})


def with_byte(text):
    return model({"tokenizer.ggml.tokens": (STRING, TOKENS[:-1] + [text]),
                  "tokenizer.ggml.token_type": (I32, [2, 3, 3, 1, 1, 1, 1, 6])})


NAN, INFINITY = float("nan"), float("inf")
TOKEN_KEY, SCORE_KEY = "tokenizer.ggml.tokens", "tokenizer.ggml.scores"
TYPE_KEY, MERGE_KEY = "tokenizer.ggml.token_type", "tokenizer.ggml.merges"
SCORES = LLAMA[SCORE_KEY][1]
MODELS = {
    "sound_llama": (model(), ""),
    "sound_gpt2": (gpt2(), ""),
    "sound_iq4_nl": (in_blocks(TYPE_IQ4_NL), ""),
    "model_architecture_absent": (model({"general.architecture": None}), "general.architecture"),
    "model_architecture_u32": (model({"general.architecture": (U32, 1)}), "general.architecture"),
    "model_architecture_unknown": (model({"general.architecture": (STRING, "nobody")}), "nobody"),
    "model_layers_absent": (model({"llama.block_count": None}), "llama.block_count"),
    "model_layers_0": (model({"llama.block_count": (U32, 0)}), "llama.block_count"),
    "model_layers_negative": (model({"llama.block_count": (I32, -1)}), "llama.block_count"),
    "model_layers_2_64": (model({"llama.block_count": (U64, HUGE)}), "llama.block_count"),
    "model_layers_string": (model({"llama.block_count": (STRING, "1")}), "llama.block_count"),
    "model_layers_float": (model({"llama.block_count": (F32, 1.0)}), "llama.block_count"),
    "model_layers_more_than_tensors": (model({"llama.block_count": (U32, 2)}), "blk.1."),
    "model_width_0": (model({"llama.embedding_length": (U32, 0)}), "llama.embedding_length"),
    "model_width_2_32": (model({"llama.embedding_length": (U64, 2**32)}),
                         "llama.embedding_length"),
    "model_width_disagrees": (model({"llama.embedding_length": (U32, 16)}), "token_embd.weight"),
    "model_heads_0": (model({"llama.attention.head_count": (U32, 0)}), "attention.head_count"),
    "model_heads_2_31": (model({"llama.attention.head_count": (U32, 2**31)}),
                         "attention.head_count"),
    "model_heads_uneven": (model({"llama.attention.head_count": (U32, 3)}), "heads"),
    "model_kv_heads_uneven": (model({"llama.attention.head_count": (U32, 4),
                                     "llama.attention.head_count_kv": (U32, 3)}), "heads"),
    "model_kv_heads_by_layer": (model({"llama.attention.head_count_kv": (U32, [1, 2])}),
                                "head_count_kv"),
    "model_context_0": (model({"llama.context_length": (U32, 0)}), "llama.context_length"),
    "model_epsilon_nan": (model({"llama.attention.layer_norm_rms_epsilon": (F32, NAN)}),
                          "layer_norm_rms_epsilon"),
    "model_rope_base_infinite": (model({"llama.rope.freq_base": (F32, INFINITY)}),
                                 "llama.rope.freq_base"),
    "model_rope_base_0": (model({"llama.rope.freq_base": (F32, 0.0)}), "rope"),
    "model_rope_scaling_unknown": (model({"llama.rope.scaling.type": (STRING, "dynamic")}),
                                   "llama.rope.scaling.type"),
    "model_rope_factor_nan": (model({"llama.rope.scaling.type": (STRING, "linear"),
                                     "llama.rope.scaling.factor": (F32, NAN)}),
                              "llama.rope.scaling.factor"),
    "model_rope_factor_negative": (model({"llama.rope.scaling.type": (STRING, "linear"),
                                          "llama.rope.scaling.factor": (F32, -2.0)}), "factor"),
    "model_rope_context_0": (model({"llama.rope.scaling.type": (STRING, "yarn"),
                                    "llama.rope.scaling.factor": (F32, 2.0),
                                    "llama.rope.scaling.original_context_length": (U32, 0)}),
                             "original"),
    "model_rope_dimensions_odd": (model({"llama.rope.dimension_count": (U32, 3)}), "rope"),
    "model_rope_dimensions_too_many": (model({"llama.rope.dimension_count": (U32, 2**31)}),
                                       "llama.rope.dimension_count"),
    "model_rope_table_misshapen": (model(tensors={"rope_freqs.weight": ((3,), TYPE_F32)}),
                                   "rope_freqs.weight"),
    "model_rope_table_of_zeros": (model(tensors={"rope_freqs.weight": ((2,), TYPE_F32)}), "rope"),
    "model_head_length_2_24": (model({"llama.attention.head_count": (U32, 2**24),
                                      "llama.attention.head_count_kv": (U32, 2**24),
                                      "llama.attention.key_length": (U32, 2**24),
                                      "llama.attention.value_length": (U32, 2**24)}), "heads"),
    "model_value_length_disagrees": (model({"llama.attention.key_length": (U32, 4),
                                            "llama.attention.value_length": (U32, 8)}),
                                     "attention.value_length"),
    "model_experts": (model({"llama.expert_count": (U32, 8)}), "expert"),
    "model_tensor_absent": (model(tensors={"blk.0.attn_q.weight": None}), "blk.0.attn_q.weight"),
    "model_tensor_surplus": (model(tensors={"blk.0.what.weight": ((8,), TYPE_F32)}),
                             "blk.0.what.weight"),
    "model_tensor_misshapen": (model(tensors={"blk.0.attn_q.weight": ((4, 8), TYPE_F32)}),
                               "blk.0.attn_q.weight"),
    "model_tensor_q8_1": (in_blocks(TYPE_Q8_1), "Q8_1"),
    "model_tensor_i8": (model(tensors={"blk.0.attn_q.weight": ((8, 8), TYPE_I8)}), "I8"),
    "model_weights_not_finite": (model(fill=lambda n: b"\xff" * n), "NaN or infinite"),
    "model_vocabulary_disagrees": (model({TOKEN_KEY: (STRING, TOKENS + ["x"]),
                                          SCORE_KEY: (F32, SCORES + [0]),
                                          TYPE_KEY: (I32, [2, 3, 3, 1, 1, 1, 1, 1, 1])}),
                                   "9 tokens"),
    "model_end_out_of_range": (model({"tokenizer.ggml.eos_token_id": (U32, 8)}),
                               "tokenizer.ggml.eos_token_id"),
    "tokenizer_absent": (model({"tokenizer.ggml.model": None}), "tokenizer.ggml.model"),
    "tokenizer_unknown": (model({"tokenizer.ggml.model": (STRING, "plamo2")}), "plamo2"),
    "tokenizer_tokens_absent": (model({TOKEN_KEY: None}), TOKEN_KEY),
    "tokenizer_tokens_empty": (model({TOKEN_KEY: (STRING, [])}), TOKEN_KEY),
    "tokenizer_tokens_numbers": (model({TOKEN_KEY: (I32, [1] * 8)}), TOKEN_KEY),
    "tokenizer_tokens_one_string": (model({TOKEN_KEY: (STRING, "a")}), TOKEN_KEY),
    "tokenizer_token_empty": (model({TOKEN_KEY: (STRING, TOKENS[:-1] + [""])}), "token 7"),
    "tokenizer_token_not_utf8": (model({TOKEN_KEY: (STRING, TOKENS[:-1] + [b"\xff\xfe"])}),
                                 "token 7"),
    "tokenizer_token_twice": (model({TOKEN_KEY: (STRING, TOKENS[:-1] + ["ab"])}), "ab"),
    "tokenizer_byte_not_hexadecimal": (with_byte("<0xZZ>"), "<0xZZ>"),
    "tokenizer_scores_absent": (model({SCORE_KEY: None}), SCORE_KEY),
    "tokenizer_scores_nan": (model({SCORE_KEY: (F32, SCORES[:-1] + [NAN])}), SCORE_KEY),
    "tokenizer_scores_infinite": (model({SCORE_KEY: (F32, SCORES[:-1] + [-INFINITY])}), SCORE_KEY),
    "tokenizer_scores_too_few": (model({SCORE_KEY: (F32, SCORES[:-1])}), SCORE_KEY),
    "tokenizer_scores_integers": (model({SCORE_KEY: (I32, [0] * 8)}), SCORE_KEY),
    "tokenizer_types_absent": (model({TYPE_KEY: None}), TYPE_KEY),
    "tokenizer_types_too_many": (model({TYPE_KEY: (I32, [1] * 9)}), TYPE_KEY),
    "tokenizer_types_floats": (model({TYPE_KEY: (F32, [1] * 8)}), TYPE_KEY),
    "tokenizer_type_7": (model({TYPE_KEY: (I32, [2, 3, 3, 1, 1, 1, 1, 7])}), TYPE_KEY),
    "tokenizer_type_7_of_line_break": (model({TOKEN_KEY: (STRING, TOKENS[:-1] + ["\n"]),
                                              TYPE_KEY: (I32, [2, 3, 3, 1, 1, 1, 1, 7])}),
                                       TYPE_KEY),
    "tokenizer_start_out_of_range": (model({"tokenizer.ggml.bos_token_id": (U32, 2**31)}),
                                     "tokenizer.ggml.bos_token_id"),
    "tokenizer_start_negative": (model({"tokenizer.ggml.bos_token_id": (I32, -1)}),
                                 "tokenizer.ggml.bos_token_id"),
    "tokenizer_add_bos_number": (model({"tokenizer.ggml.add_bos_token": (U32, 1)}),
                                 "tokenizer.ggml.add_bos_token"),
    "tokenizer_template_not_utf8": (model({"tokenizer.chat_template": (STRING, b"{{\xff}}")}),
                                    "tokenizer.chat_template"),
    "tokenizer_charsmap_cut": (model({"tokenizer.ggml.precompiled_charsmap": (U8, [0, 4, 0, 0])}),
                               "normalizer"),
    "tokenizer_pre_unknown": (gpt2({"tokenizer.ggml.pre": (STRING, "nobody")}), "nobody"),
    "tokenizer_merges_absent": (gpt2({MERGE_KEY: None}), MERGE_KEY),
    "tokenizer_merges_numbers": (gpt2({MERGE_KEY: (U32, [1])}), MERGE_KEY),
    "tokenizer_merge_names_no_token": (gpt2({MERGE_KEY: (STRING, ["a b", "b c"])}), "merges[1]"),
    "tokenizer_merge_makes_no_token": (gpt2({MERGE_KEY: (STRING, ["b a"])}), "merges[0]"),
    "tokenizer_merge_of_one": (gpt2({MERGE_KEY: (STRING, ["ab"])}), "merges[0]"),
    "tokenizer_merge_with_line_break": (gpt2({MERGE_KEY: (STRING, ["a\nb"])}), "merges[0]"),
    "tokenizer_merge_empty": (gpt2({MERGE_KEY: (STRING, [""])}), "merges[0]"),
    "tokenizer_gpt2_token_twice": (gpt2({TOKEN_KEY: (STRING, ["\u0120", "<s>", "</s>", "a", "a", "b",
                                                              "ab", "abc"])}), "tokens[4]"),
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


def bpe(**model_fields):
    fields = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "\u0120": 3},
              "merges": ["a b"], **model_fields}
    return json.dumps({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
                       "model": fields}).encode()


TOKENIZERS = {
    "json_sound": (bpe(), ""),
    "json_empty": (b"", "JSON"),
    "json_cut": (bpe()[:-1], "JSON"),
    "json_deep": (b"[" * 100, "deeper"),
    "json_nan": (b'{"model":{"type":"BPE","dropout":NaN}}', "JSON"),
    "json_key_twice": (b'{"model":{},"model":{}}', "twice"),
    "json_key_of_line_break_twice": (b'{"a\\nb":1,"a\\nb":1}', "twice"),
    "json_not_utf8": (b'{"model":"\xff"}', "JSON"),
    "json_model_absent": (b"{}", "model"),
    "json_unigram": (bpe(type="Unigram"), "Unigram"),
    "json_vocabulary_empty": (bpe(vocab={}), "vocab"),
    "json_id_negative": (bpe(vocab={"a": -1}), "vocab"),
    "json_id_of_line_break": (bpe(vocab={"a\nb": -1}), "vocab"),
    "json_id_2_63": (bpe(vocab={"a": 2**63}), "vocab"),
    "json_id_too_large": (bpe(vocab={"a": 2**20}), "vocab"),
    "json_id_twice": (bpe(vocab={"a": 0, "b": 0}), "also that of"),
    "json_ids_far_apart": (bpe(vocab={"a": 2**20 - 1}, merges=[]), "far above"),
    "json_added_id_far": (
        b'{"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},"decoder":{"type":"x"},'
        b'"added_tokens":[{"id":1048575,"content":"x"}],'
        b'"model":{"type":"BPE","vocab":{"a":0},"merges":[]}}', "decoder"),
    "json_merge_names_no_token": (bpe(merges=["a c"]), "merges"),
    "json_merge_of_three": (bpe(merges=["a b ab"]), "merges"),
    "json_merges_no_list": (bpe(merges="a b"), "merges"),
    "json_expression_broken": (
        b'{"pre_tokenizer":{"type":"Split","pattern":{"Regex":"("},"behavior":"Isolated"},'
        b'"model":{"type":"BPE","vocab":{"a":0},"merges":[]}}', "pre_tokenizer"),
}


def piece(text, score=0.0, kind=1):
    message = (b"\x0a" + bytes([len(text)]) + text + b"\x15" + struct.pack("<f", score) + b"\x18"
               + bytes([kind]))
    return b"\x0a" + bytes([len(message)]) + message


def sentencepiece(*pieces, kind=2):
    trainer = bytes([0x18, kind])
    return (piece(b"<unk>", 0.0, 2) + b"".join(pieces) + b"\x12" + bytes([len(trainer)]) + trainer)


SENTENCEPIECES = {
    "model_sound": (sentencepiece(piece(b"a"), piece(b"b")), ""),
    "model_empty": (b"", "tokenizer.model"),
    "model_cut": (sentencepiece(piece(b"a"))[:-1], "damaged"),
    "model_length_2_64": (b"\x0a" + b"\xff" * 9 + b"\x01", "damaged"),
    "model_score_nan": (sentencepiece(piece(b"a", NAN)), "a score that is no number"),
    "model_type_7": (sentencepiece(piece(b"a", 0.0, 7)), "unknown type"),
    "model_text_empty": (sentencepiece(piece(b"")), "has no text"),
    "model_piece_twice": (sentencepiece(piece(b"a"), piece(b"a")), "tokenizer.model"),
    "model_of_words": (sentencepiece(piece(b"a"), kind=3), "word and char"),
}


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    index = {}
    for name, (data, sentence) in {**CONTAINERS, **MODELS}.items():
        assert len(data) <= LARGEST, name
        write(os.path.join(OUT, name + ".gguf"), data)
        index[name + ".gguf"] = sentence
    for kind, leaf, classes in (("weights_", "model.safetensors", WEIGHTS),
                                ("tokenizer_", "tokenizer.json", TOKENIZERS),
                                ("tokenizer_", "tokenizer.model", SENTENCEPIECES)):
        for name, (data, sentence) in classes.items():
            write(os.path.join(OUT, kind + name, leaf), data)
            index[kind + name] = sentence
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
