#!/usr/bin/env python3
"""Writes a GGUF file of random weights in Q4_0, to measure speed on; needs no package.

    python bench/make_random_gguf.py OUT.gguf [--layers 32] [--d-model 4096] ...
    python bench/make_random_gguf.py OUT.gguf --like qwen3-30b-a3b [--layers 8]

The default shape is Llama 2 7B's: 32 layers, d_model 4096, 32 query and key/value heads, FFN
11008, 32,000 words: 3.8 GB, with a context of 32768. Every matrix is Q4_0, as llama-quantize --pure
writes them; numbers from -7 to 7 with one scale a matrix, such that activations keep near one.
With --experts (or --like a mixture) each layer has a mixture of experts as Qwen3-MoE has it, with
norms of heads and a router in 32 bits. --like gemma-4-e2b has heads of two sizes, states that layers
share, and per-layer embeddings; --like deepseek-v2-lite latent attention; --like qwen3.5-0.8b and
its kin gated delta rules in three layers of four; --like lfm2-1.2b short convolutions, and --like
granite-4-h-tiny Mamba-2 with mixtures.
The vocabulary is make_vocabulary.py's. The same for the same seed and shape. Written under another
name and renamed when it is whole.

make_random_checkpoint.py and make_gguf.py write other types, by way of a checkpoint and of
llama.cpp's quantiser.
"""

import argparse
import array
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


# Published shapes, but for the vocabulary, which is that of all files here.
SHAPES = {
    "olmoe-7b-a1b": dict(layers=16, d_model=2048, heads=16, kv_heads=16, head_dim=128, ffn=1024,
                         experts=64, used=8, expert_ffn=1024),
    "qwen3-30b-a3b": dict(layers=48, d_model=2048, heads=32, kv_heads=4, head_dim=128, ffn=6144,
                          experts=128, used=8, expert_ffn=768),
    "granite-3b-a800m": dict(layers=32, d_model=1536, heads=24, kv_heads=8, head_dim=64, ffn=512,
                             experts=40, used=8, expert_ffn=512),
    "gemma-4-e2b": dict(layers=35, d_model=1536, heads=8, kv_heads=1, head_dim=256, ffn=6144,
                        gemma4=True),
    "deepseek-v2-lite": dict(layers=27, d_model=2048, heads=16, kv_heads=1, head_dim=576, ffn=10944,
                             experts=64, used=6, expert_ffn=1408, deepseek2=True),
    "qwen3.5-0.8b": dict(layers=24, d_model=1024, heads=8, kv_heads=2, head_dim=256, ffn=3584,
                         delta_heads=16),
    "qwen3.5-2b": dict(layers=24, d_model=2048, heads=8, kv_heads=2, head_dim=256, ffn=6144,
                       delta_heads=16),
    "qwen3.5-4b": dict(layers=32, d_model=2560, heads=16, kv_heads=4, head_dim=256, ffn=9216,
                       delta_heads=32),
    "lfm2-1.2b": dict(layers=16, d_model=2048, heads=32, kv_heads=8, head_dim=64, ffn=8192,
                      lfm2=True),
    "granite-4-h-tiny": dict(layers=40, d_model=1536, heads=12, kv_heads=4, head_dim=128, ffn=1024,
                             experts=64, used=6, expert_ffn=512, granite_h=True),
}


class Gemma4:
    """What its layers differ in: every fifth sees all, with heads of 512; the last 20 attend to the
    states of an earlier one, and have networks of twice the width."""

    FULL_HEAD_DIM, WINDOW, PLE, FULL_EVERY, N_SHARED = 512, 512, 256, 5, 20

    def __init__(self, a):
        self.a = a
        self.full = [(i + 1) % self.FULL_EVERY == 0 for i in range(a.layers)]
        self.n_own = a.layers - self.N_SHARED
        if self.n_own < self.FULL_EVERY:
            raise SystemExit("make_random_gguf.py: --like gemma-4-e2b has 25 layers at least")
        self.ffn = [a.ffn * (1 if i < self.n_own else 2) for i in range(a.layers)]

    def head_dim(self, i):
        return self.FULL_HEAD_DIM if self.full[i] else self.a.head_dim

    def metadata(self):
        p = "gemma4."
        yield list_entry(p + "feed_forward_length", U32, self.ffn)
        yield list_entry(p + "attention.sliding_window_pattern", BOOL, [not f for f in self.full])
        for key, value in (("attention.key_length", self.FULL_HEAD_DIM),
                           ("attention.value_length", self.FULL_HEAD_DIM),
                           ("attention.key_length_swa", self.a.head_dim),
                           ("attention.value_length_swa", self.a.head_dim),
                           ("attention.sliding_window", self.WINDOW),
                           ("attention.shared_kv_layers", self.N_SHARED),
                           ("embedding_length_per_layer_input", self.PLE)):
            yield entry(p + key, U32, value)

    def layer(self, i):
        d, hd, own = self.a.d_model, self.head_dim(i), i < self.n_own
        q, kv = self.a.heads * hd, self.a.kv_heads * hd
        yield from (("attn_q", q, d), ("attn_output", d, q), ("attn_q_norm", None, hd))
        if own:
            yield from (("attn_k", kv, d), ("attn_v", kv, d), ("attn_k_norm", None, hd))
        yield from (("ffn_gate", self.ffn[i], d), ("ffn_up", self.ffn[i], d),
                    ("ffn_down", d, self.ffn[i]), ("inp_gate", self.PLE, d), ("proj", d, self.PLE))
        for name in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm", "post_norm"):
            yield name, None, d

    def tensors(self):
        a, width = self.a, self.a.layers * self.PLE
        yield Tensor("token_embd", a.vocab, a.d_model, a.d_model ** -0.5)
        yield Tensor("per_layer_token_embd", a.vocab, width, self.PLE ** -0.5)
        yield Tensor("per_layer_model_proj", width, a.d_model, 1.0)
        yield Tensor("per_layer_proj_norm", None, self.PLE)
        for i in range(a.layers):
            for name, *rest in self.layer(i):
                yield Tensor(f"blk.{i}.{name}", *rest)
        yield Tensor("output_norm", None, a.d_model)


class Deepseek2:
    """Latent attention; mixtures beside a shared network, behind one dense layer."""

    LATENT, ROTARY, NOPE, VALUE, N_SHARED = 512, 64, 128, 128, 2

    def __init__(self, a):
        self.a = a

    def metadata(self):
        p = "deepseek2."
        for key, value in (("feed_forward_length", self.a.ffn),
                           ("attention.kv_lora_rank", self.LATENT),
                           ("attention.key_length", self.LATENT + self.ROTARY),
                           ("attention.value_length", self.LATENT),
                           ("attention.key_length_mla", self.NOPE + self.ROTARY),
                           ("attention.value_length_mla", self.VALUE),
                           ("rope.dimension_count", self.ROTARY),
                           ("leading_dense_block_count", 1),
                           ("expert_shared_count", self.N_SHARED)):
            yield entry(p + key, U32, value)
        yield entry(p + "expert_weights_scale", F32, 1.0)
        yield entry(p + "expert_weights_norm", BOOL, False)

    def layer(self, i):
        a, d, n = self.a, self.a.d_model, self.a.heads
        yield from (("attn_norm", None, d), ("attn_kv_a_norm", None, self.LATENT),
                    ("ffn_norm", None, d), ("attn_q", n * (self.NOPE + self.ROTARY), d),
                    ("attn_kv_a_mqa", self.LATENT + self.ROTARY, d),
                    ("attn_k_b", self.LATENT, self.NOPE, None, n),
                    ("attn_v_b", self.VALUE, self.LATENT, None, n),
                    ("attn_output", d, n * self.VALUE))
        if i == 0:
            yield from (("ffn_gate", a.ffn, d), ("ffn_up", a.ffn, d), ("ffn_down", d, a.ffn))
            return
        shared = self.N_SHARED * a.expert_ffn
        yield from (("ffn_gate_shexp", shared, d), ("ffn_up_shexp", shared, d),
                    ("ffn_down_shexp", d, shared), *feed_forward(a))


class Qwen35:
    """Gated delta rules, with heads of 128 x 128 and 16 key heads; every fourth layer attends."""

    FULL_EVERY, KEY_HEADS, DIM, TAPS = 4, 16, 128, 4

    def __init__(self, a):
        self.a = a
        self.values = a.delta_heads * self.DIM
        self.channels = 2 * self.KEY_HEADS * self.DIM + self.values

    def metadata(self):
        p = "qwen35."
        rotary = self.a.head_dim // 4
        for key, value in (("feed_forward_length", self.a.ffn),
                           ("attention.key_length", self.a.head_dim),
                           ("attention.value_length", self.a.head_dim),
                           ("rope.dimension_count", rotary), ("ssm.conv_kernel", self.TAPS),
                           ("ssm.state_size", self.DIM), ("ssm.group_count", self.KEY_HEADS),
                           ("ssm.time_step_rank", self.a.delta_heads),
                           ("ssm.inner_size", self.values),
                           ("full_attention_interval", self.FULL_EVERY)):
            yield entry(p + key, U32, value)
        yield list_entry(p + "rope.dimension_sections", I32, [rotary // 2 - 2 * (rotary // 6),
                                                              rotary // 6, rotary // 6, 0])

    def layer(self, i):
        a, d, hd = self.a, self.a.d_model, self.a.head_dim
        yield from (("attn_norm", None, d), ("post_attention_norm", None, d), *feed_forward(a))
        if (i + 1) % self.FULL_EVERY == 0:
            q, kv = a.heads * hd, a.kv_heads * hd
            yield from (("attn_q", 2 * q, d), ("attn_k", kv, d), ("attn_v", kv, d),
                        ("attn_output", d, q), ("attn_q_norm", None, hd), ("attn_k_norm", None, hd))
            return
        n = a.delta_heads
        yield from (("attn_qkv", self.channels, d), ("attn_gate", self.values, d),
                    ("ssm_alpha", n, d), ("ssm_beta", n, d), ("ssm_out", d, self.values),
                    ("ssm_conv1d", self.channels, self.TAPS, None, None, True),
                    ("ssm_a", None, n), ("ssm_dt.bias", None, n), ("ssm_norm", None, self.DIM))


class Lfm2:
    """Gated short convolutions of three tokens; six layers of sixteen attend."""

    ATTENDS, TAPS = (2, 5, 8, 10, 12, 14), 3

    def __init__(self, a):
        self.a = a

    def metadata(self):
        p = "lfm2."
        yield entry(p + "feed_forward_length", U32, self.a.ffn)
        yield entry(p + "shortconv.l_cache", U32, self.TAPS)
        yield list_entry(p + "attention.head_count_kv", U32,
                         [self.a.kv_heads * (i in self.ATTENDS) for i in range(self.a.layers)])

    def layer(self, i):
        a, d = self.a, self.a.d_model
        yield from (("attn_norm", None, d), ("ffn_norm", None, d), *feed_forward(a))
        if i in self.ATTENDS:
            q, kv = a.heads * a.head_dim, a.kv_heads * a.head_dim
            yield from (("attn_q", q, d), ("attn_k", kv, d), ("attn_v", kv, d),
                        ("attn_output", d, q), ("attn_q_norm", None, a.head_dim),
                        ("attn_k_norm", None, a.head_dim))
            return
        yield from (("shortconv.in_proj", 3 * d, d), ("shortconv.out_proj", d, d),
                    ("shortconv.conv", d, self.TAPS, None, None, True))


class GraniteH:
    """Mamba-2 with 48 heads of 64 and states of 128; every tenth layer attends. Mixtures beside a
    shared network."""

    ATTENDS, HEADS, VALUES, STATE, TAPS = (5, 15, 25, 35), 48, 64 * 48, 128, 4

    def __init__(self, a):
        self.a = a
        self.channels = self.VALUES + 2 * self.STATE

    def metadata(self):
        p, a = "granitehybrid.", self.a
        for key, value in (("feed_forward_length", a.expert_ffn),
                           ("expert_shared_feed_forward_length", a.ffn),
                           ("ssm.conv_kernel", self.TAPS), ("ssm.state_size", self.STATE),
                           ("ssm.group_count", 1), ("ssm.time_step_rank", self.HEADS),
                           ("ssm.inner_size", self.VALUES),
                           ("rope.dimension_count", a.head_dim)):
            yield entry(p + key, U32, value)
        yield entry(p + "rope.scaling.finetuned", BOOL, False)
        for key, value in (("attention.scale", a.head_dim ** -0.5), ("embedding_scale", 1.0),
                           ("residual_scale", 0.22), ("logit_scale", 6.0)):
            yield entry(p + key, F32, value)
        yield list_entry(p + "attention.head_count_kv", U32,
                         [a.kv_heads * (i in self.ATTENDS) for i in range(a.layers)])

    def layer(self, i):
        a, d = self.a, self.a.d_model
        yield from (("attn_norm", None, d), ("ffn_norm", None, d), *feed_forward(a),
                    ("ffn_gate_shexp", a.ffn, d), ("ffn_up_shexp", a.ffn, d),
                    ("ffn_down_shexp", d, a.ffn))
        if i in self.ATTENDS:
            q, kv = a.heads * a.head_dim, a.kv_heads * a.head_dim
            yield from (("attn_q", q, d), ("attn_k", kv, d), ("attn_v", kv, d),
                        ("attn_output", d, q))
            return
        yield from (("ssm_in", self.VALUES + self.channels + self.HEADS, d),
                    ("ssm_out", d, self.VALUES),
                    ("ssm_conv1d", self.channels, self.TAPS, None, None, True),
                    ("ssm_conv1d.bias", None, self.channels), ("ssm_dt.bias", None, self.HEADS),
                    ("ssm_a", self.HEADS, 1, None, None, True),
                    ("ssm_d", self.HEADS, 1, None, None, True),
                    ("ssm_norm", 1, self.VALUES, None, None, True))


def own_of(a):
    """What says the model's layers, where they are not the usual ones."""
    kinds = ((a.gemma4, Gemma4), (a.deepseek2, Deepseek2), (a.delta_heads, Qwen35),
             (a.lfm2, Lfm2), (a.granite_h, GraniteH))
    return next((kind(a) for is_one, kind in kinds if is_one), None)


def architecture_of(a):
    return ("lfm2" if a.lfm2 else "granitehybrid" if a.granite_h else
            "qwen35" if a.delta_heads else "gemma4" if a.gemma4 else "deepseek2" if a.deepseek2 else
            "qwen3moe" if a.experts else "llama")


def metadata(a):
    architecture = architecture_of(a)
    p = architecture + "."
    yield entry("general.architecture", STRING, architecture)
    if a.experts:
        for key, value in (("expert_count", a.experts), ("expert_used_count", a.used),
                           ("expert_feed_forward_length", a.expert_ffn)):
            yield entry(p + key, U32, value)
    yield entry("general.name", STRING, "random weights")
    yield entry("general.file_type", U32, MOSTLY_Q4_0)
    for key, value in (("context_length", a.context), ("embedding_length", a.d_model),
                       ("block_count", a.layers), ("attention.head_count", a.heads),
                       ("vocab_size", a.vocab)):
        yield entry(p + key, U32, value)
    own = own_of(a)
    if own:
        yield from own.metadata()
    if not (a.lfm2 or a.granite_h):
        yield entry(p + "attention.head_count_kv", U32, a.kv_heads)
    if not own:
        for key, value in (("feed_forward_length", a.ffn), ("attention.key_length", a.head_dim),
                           ("attention.value_length", a.head_dim),
                           ("rope.dimension_count", a.head_dim)):
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


class Tensor:
    """n matrices [rows, columns] of numbers of one standard deviation, in Q4_0, or in 32 bits
    where `wide`; without rows, a norm of ones, or rates of decay."""

    def __init__(self, name, rows, columns, deviation=None, n=None, wide=False):
        self.name, self.rows, self.columns, self.n = name, rows, columns, n
        self.deviation = columns ** -0.5 if deviation is None else deviation
        self.wide = wide or rows is None
        self.fill = -0.05 if name.endswith("ssm_a") else 1.0  # of norms and biases

    def full_name(self):
        bare = self.name.endswith(("ssm_a", "ssm_d", ".bias"))
        return self.name if bare else self.name + ".weight"

    def shape(self):
        """The fastest first."""
        return [self.columns, *([self.rows] if self.rows else []), *([self.n] if self.n else [])]

    def elements(self):
        return self.columns * (self.rows or 1) * (self.n or 1)

    def size(self):
        return 4 * self.elements() if self.wide else self.elements() // BLOCK * BLOCK_BYTES


def feed_forward(a):
    if not a.experts:
        return [("ffn_gate", a.ffn, a.d_model), ("ffn_up", a.ffn, a.d_model),
                ("ffn_down", a.d_model, a.ffn)]
    return [("ffn_gate_exps", a.expert_ffn, a.d_model, None, a.experts),
            ("ffn_up_exps", a.expert_ffn, a.d_model, None, a.experts),
            ("ffn_down_exps", a.d_model, a.expert_ffn, None, a.experts),
            ("ffn_gate_inp", a.experts, a.d_model, None, None, True)]


def tensors(a):
    if a.gemma4:
        yield from Gemma4(a).tensors()
        return
    q, kv, d = a.heads * a.head_dim, a.kv_heads * a.head_dim, a.d_model
    norms = [("attn_q_norm", None, a.head_dim), ("attn_k_norm", None, a.head_dim)]
    yield Tensor("token_embd", a.vocab, d, 1.0)
    for i in range(a.layers):
        usual = [("attn_norm", None, d), ("attn_q", q, d), ("attn_k", kv, d), ("attn_v", kv, d),
                 ("attn_output", d, q), ("ffn_norm", None, d), *(norms if a.experts else []),
                 *feed_forward(a)]
        own = own_of(a)
        for name, *rest in own.layer(i) if own else usual:
            yield Tensor(f"blk.{i}.{name}", *rest)
    yield Tensor("token_embd_norm" if a.lfm2 else "output_norm", None, d)
    if not (a.delta_heads or a.lfm2 or a.granite_h):  # whose embedding is the head
        yield Tensor("output", a.vocab, d)


def padding(n_bytes):
    return bytes(-n_bytes % ALIGNMENT)


def header(a):
    fields, infos, at = list(metadata(a)), [], 0
    for t in tensors(a):
        shape = t.shape()
        infos.append(text(t.full_name()) + struct.pack("<I", len(shape)) +
                     struct.pack(f"<{len(shape)}Q", *shape) +
                     struct.pack("<IQ", TENSOR_F32 if t.wide else TENSOR_Q4_0, at))
        at += t.size()
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
    for t in tensors(a):
        if t.rows is None:
            file.write(struct.pack("<f", t.fill) * t.columns)
        elif t.columns == 1 or t.rows == 1:  # rates of decay, skips, norms
            array.array("f", [t.fill] * t.elements()).tofile(file)
        elif t.wide:
            array.array("f", (draw.gauss(0, t.deviation) for _ in range(t.elements()))).tofile(file)
        else:
            for piece in blocks(draw, t.elements() // BLOCK, t.deviation):
                file.write(piece)
        file.write(padding(t.size()))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    for name, value in (("layers", 32), ("d-model", 4096), ("heads", 32), ("kv-heads", 32),
                        ("ffn", 11008), ("vocab", 32000), ("context", 32768), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--head-dim", type=int, help="d_model / heads where absent")
    parser.add_argument("--experts", type=int, default=0, help="of a layer; 0: no mixture")
    parser.add_argument("--used", type=int, default=8, help="experts that a token goes to")
    parser.add_argument("--expert-ffn", type=int, default=768, help="width of an expert")
    parser.add_argument("--like", choices=SHAPES, help="the shape; other options change it")
    known, _ = parser.parse_known_args()
    parser.set_defaults(**{"gemma4": False, "deepseek2": False, "delta_heads": 0, "lfm2": False,
                           "granite_h": False, **SHAPES.get(known.like, {})})
    a = parser.parse_args()
    a.head_dim = a.head_dim or a.d_model // a.heads
    for width in (a.d_model, a.ffn, a.expert_ffn, a.heads * a.head_dim):
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
