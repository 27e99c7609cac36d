#!/usr/bin/env python3
"""Seeds of gguf_model_fuzz: the smallest model of each kind of binding.

    python tests/golden/make_model_seeds.py

Needs gguf 0.19 and, for llama.gguf, the output of make_bad_models.py.
"""

import pathlib
import shutil

import gguf
import numpy as np

TESTS = pathlib.Path(__file__).resolve().parent.parent
OUT = TESTS / "fuzz" / "corpus" / "gguf_model_fuzz"
D = 8
BLOCK = "blk.0."
NORMS = (BLOCK + "attn_norm", BLOCK + "ffn_norm")
FUSED = (("attn_qkv", 16, D), ("attn_output", D, D), ("ffn_up", 8, D), ("ffn_down", D, 8))


class Seed:
    def __init__(self, name, kv_heads, rms=True, blocks=1, file=None):
        w = self.writer = gguf.GGUFWriter(str(OUT / f"{file or name}.gguf"), name)
        w.add_block_count(blocks)
        w.add_context_length(16)
        w.add_embedding_length(D)
        w.add_feed_forward_length(8)
        w.add_head_count(2)
        w.add_head_count_kv(kv_heads)
        (w.add_layer_norm_rms_eps if rms else w.add_layer_norm_eps)(1e-5)
        self.tensor("token_embd.weight", 4, D)

    def tensor(self, name, *shape):
        self.writer.add_tensor(name, np.ones(shape, np.float32))

    def norms(self, *names, bias=False):
        for name in names:
            self.tensor(name + ".weight", D)
            if bias:
                self.tensor(name + ".bias", D)

    def matrices(self, *shapes, bias=False):
        for name, rows, cols in shapes:
            self.tensor(f"{BLOCK}{name}.weight", rows, cols)
            if bias:
                self.tensor(f"{BLOCK}{name}.bias", rows)

    def write(self):
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()


def gpt2():
    """Fused projections with biases, cut between heads."""
    seed = Seed("gpt2", 1, rms=False)
    seed.tensor("position_embd.weight", 16, D)
    seed.norms("output_norm", *NORMS, bias=True)
    seed.matrices(*FUSED, bias=True)
    seed.write()


def phi3():
    """Two fused matrices, LongRoPE."""
    seed = Seed("phi3", 1)
    seed.writer.add_rope_dimension_count(4)
    seed.writer.add_rope_scaling_orig_ctx_len(8)
    seed.writer.add_rope_scaling_attn_factors(1.25)
    seed.writer.add_sliding_window(4)
    seed.tensor("rope_factors_long.weight", 2)
    seed.tensor("rope_factors_short.weight", 2)
    seed.norms("output_norm", *NORMS)
    seed.matrices(*((name, 2 * rows if name == "ffn_up" else rows, cols)
                    for name, rows, cols in FUSED))
    seed.write()


def gemma3():
    """Norms of heads and behind blocks, two RoPEs, windows."""
    seed = Seed("gemma3", 1)
    seed.writer.add_key_length(4)
    seed.writer.add_value_length(4)
    seed.writer.add_sliding_window(4)
    seed.writer.add_rope_freq_base(1e6)
    seed.norms("output_norm", *NORMS, BLOCK + "post_attention_norm", BLOCK + "post_ffw_norm")
    for name in ("attn_q_norm", "attn_k_norm"):
        seed.tensor(f"{BLOCK}{name}.weight", 4)
    seed.matrices(("attn_q", 8, D), ("attn_k", 4, D), ("attn_v", 4, D), ("attn_output", D, 8),
                  ("ffn_gate", 8, D), ("ffn_up", 8, D), ("ffn_down", D, 8))
    seed.write()


def mpt():
    """ALiBi, no biases."""
    seed = Seed("mpt", 2, rms=False)
    seed.writer.add_max_alibi_bias(8.0)
    seed.writer.add_clamp_kqv(6.0)
    seed.norms("output_norm", *NORMS)
    seed.matrices(("attn_qkv", 24, D), *FUSED[1:])
    seed.write()


def add_experts(seed, n):
    seed.writer.add_expert_count(n)
    seed.writer.add_expert_used_count(2)
    seed.writer.add_expert_feed_forward_length(4)
    seed.tensor(BLOCK + "ffn_gate_inp.weight", n, D)
    for name, rows, cols in (("gate", 4, D), ("up", 4, D), ("down", D, 4)):
        seed.tensor(f"{BLOCK}ffn_{name}_exps.weight", n, rows, cols)


def qwen2moe():
    """A mixture beside a network that counts by a gate."""
    seed = Seed("qwen2moe", 1)
    add_experts(seed, 3)
    seed.writer.add_expert_shared_feed_forward_length(4)
    seed.norms("output_norm", *NORMS)
    seed.tensor(BLOCK + "ffn_gate_inp_shexp.weight", D)
    seed.matrices(("attn_q", 8, D), ("attn_k", 4, D), ("attn_v", 4, D), ("attn_output", D, 8),
                  ("ffn_gate_shexp", 4, D), ("ffn_up_shexp", 4, D), ("ffn_down_shexp", D, 4))
    seed.write()


def gpt_oss():
    """A mixture with biases, sinks, windows."""
    seed = Seed("gpt-oss", 1)
    add_experts(seed, 3)
    seed.writer.add_sliding_window(4)
    for name, n in (("gate", 4), ("up", 4), ("down", D)):
        seed.tensor(f"{BLOCK}ffn_{name}_exps.bias", 3, n)
    seed.tensor(BLOCK + "ffn_gate_inp.bias", 3)
    seed.tensor(BLOCK + "attn_sinks.weight", 2)
    seed.norms("output_norm", BLOCK + "attn_norm", BLOCK + "post_attention_norm")
    seed.matrices(("attn_q", 8, D), ("attn_k", 4, D), ("attn_v", 4, D), ("attn_output", D, 8),
                  bias=True)
    seed.write()


def glm4moe():
    """A mixture chosen by a bias beside a network, and a layer that is passed over."""
    seed = Seed("glm4moe", 1, blocks=2)
    add_experts(seed, 3)
    seed.writer.add_expert_shared_count(1)
    seed.writer.add_nextn_predict_layers(1)
    seed.writer.add_rope_dimension_count(2)
    seed.tensor(BLOCK + "exp_probs_b.bias", 1, 3)
    seed.norms("output_norm", BLOCK + "attn_norm", BLOCK + "post_attention_norm",
               "blk.1.nextn.enorm")
    seed.matrices(("attn_q", 8, D), ("attn_k", 4, D), ("attn_v", 4, D), ("attn_output", D, 8),
                  ("ffn_gate_shexp", 4, D), ("ffn_up_shexp", 4, D), ("ffn_down_shexp", D, 4))
    seed.write()


def gemma4():
    """Heads of two sizes, states that are shared, per-layer embeddings, normed experts."""
    seed = Seed("gemma4", 1, blocks=3)
    w = seed.writer
    w.add_key_length(8)
    w.add_value_length(8)
    w.add_key_length_swa(4)
    w.add_value_length_swa(4)
    w.add_sliding_window(4)
    w.add_sliding_window_pattern([False, True, True])
    w.add_shared_kv_layers(1)
    w.add_embedding_length_per_layer_input(2)
    w.add_expert_count(3)
    w.add_expert_used_count(2)
    w.add_expert_feed_forward_length(4)
    seed.tensor("rope_freqs.weight", 4)
    seed.tensor("per_layer_token_embd.weight", 4, 6)
    seed.tensor("per_layer_model_proj.weight", 6, D)
    seed.tensor("per_layer_proj_norm.weight", 2)
    seed.norms("output_norm")
    for i, head_dim in enumerate((8, 4, 4)):
        block = f"blk.{i}."
        seed.norms(*(block + name for name in (
            "attn_norm", "ffn_norm", "post_attention_norm", "post_ffw_norm", "post_norm",
            "pre_ffw_norm_2", "post_ffw_norm_1", "post_ffw_norm_2")))
        seed.tensor(block + "attn_q_norm.weight", head_dim)
        for name, *shape in (("attn_q", 2 * head_dim, D), ("attn_output", D, 2 * head_dim),
                             ("ffn_gate", 8, D), ("ffn_up", 8, D), ("ffn_down", D, 8),
                             ("inp_gate", 2, D), ("proj", D, 2), ("ffn_gate_inp", 3, D),
                             ("ffn_gate_up_exps", 3, 8, D), ("ffn_down_exps", 3, D, 4)):
            seed.tensor(f"{block}{name}.weight", *shape)
        seed.tensor(block + "layer_output_scale.weight", 1)
        seed.tensor(block + "ffn_gate_inp.scale", D)
        seed.tensor(block + "ffn_down_exps.scale", 3)
        if i < 2:  # the first has no values of its own
            seed.tensor(block + "attn_k_norm.weight", head_dim)
            seed.tensor(block + "attn_k.weight", head_dim, D)
        if i == 1:
            seed.tensor(block + "attn_v.weight", head_dim, D)
    seed.write()


def deepseek2(older=False):
    """Latent attention, queries in two steps; the older form has one matrix that is turned."""
    seed = Seed("deepseek2", 2 if older else 1, file="deepseek2_older" if older else None)
    w = seed.writer
    w.add_kv_lora_rank(6)
    w.add_q_lora_rank(5)
    w.add_rope_dimension_count(2)
    w.add_key_length(5 if older else 8)
    w.add_value_length(4 if older else 6)
    if not older:
        w.add_key_length_mla(5)
        w.add_value_length_mla(4)
    seed.norms("output_norm", *NORMS)
    seed.tensor(BLOCK + "attn_q_a_norm.weight", 5)
    seed.tensor(BLOCK + "attn_kv_a_norm.weight", 6)
    seed.matrices(("attn_q_a", 5, D), ("attn_q_b", 10, 5), ("attn_kv_a_mqa", 8, D),
                  ("attn_output", D, 8), ("ffn_gate", 8, D), ("ffn_up", 8, D), ("ffn_down", D, 8))
    if older:
        seed.tensor(BLOCK + "attn_kv_b.weight", 14, 6)
    else:
        seed.tensor(BLOCK + "attn_k_b.weight", 2, 6, 3)
        seed.tensor(BLOCK + "attn_v_b.weight", 2, 4, 6)
    seed.write()


def deepseek2_older():
    deepseek2(older=True)


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    shutil.copy(TESTS / "golden" / "bad_models" / "sound_llama.gguf", OUT / "llama.gguf")
    for seed in (gpt2, phi3, gemma3, mpt, qwen2moe, gpt_oss, glm4moe, gemma4, deepseek2,
                 deepseek2_older):
        seed()


if __name__ == "__main__":
    main()
