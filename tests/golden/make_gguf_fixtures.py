#!/usr/bin/env python3
"""The tiny checkpoints of make_model_fixtures.py as GGUF files, and quantised ones.

    python tests/golden/make_gguf_fixtures.py [--models DIR] [--out tests/golden/gguf]
                                              [--only NAME...]

Needs torch 2.15, transformers 5.23, gguf 0.19 and, for the K-quants,
llama-cpp-python 0.3.36 (its ggml quantises them); deterministic for one version
of each. Names of keys and tensors, and how weights are rearranged, are those of
llama.cpp's own converter; check_gguf_fixtures.py lets llama.cpp judge. <out>/ holds

  index.json   [{"file", "expected"}]: a model (of a split one the first file), and
               the folder, relative to <out>, of the expected.json and expected.bin
               that its logits must equal (make_model_fixtures.py describes them)
  *.gguf       f32, f16 or bf16 as the checkpoint of that name; llama_v2 has
               version 2, llama_split two files
  llama_q*.gguf, llama_q*/   weights of one type (vectors are f32); the logits
               were computed in f32 from the dequantised weights. Rows of K-quants
               are multiples of 256; attn_output of those files, whose rows are
               shorter, is Q8_0
"""

import argparse
import ctypes
import json
import math
import pathlib
import re
import shutil

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Type
from gguf import MODEL_ARCH as ARCH
from gguf import TokenType
from safetensors.torch import load_file
from transformers import (AutoConfig, AutoModelForCausalLM, GptOssConfig, LlamaConfig,
                          Qwen3VLMoeConfig)
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.utils import logging

from gguf_hybrids import (add_delta_keys, add_mamba_keys, add_nemotron_shape, delta_tensors,
                          falcon_h1_scaled, has_delta_rule, has_mamba, mamba_tensors)
from make_model_fixtures import (N_TOKENS, SEEING, model_class, randomize, write_expected,
                                 write_json)
from model_list import GPT_OSS, QWEN3_VL_MOE, SHAPE, VOCAB

# architectures: (GGUF's, pre-tokenizer; None: a sentencepiece vocabulary)
FAMILIES = {
    "LlamaForCausalLM": (ARCH.LLAMA, None),
    "MistralForCausalLM": (ARCH.LLAMA, None),
    "Qwen2ForCausalLM": (ARCH.QWEN2, "qwen2"),
    "Qwen3ForCausalLM": (ARCH.QWEN3, "qwen2"),
    "FalconForCausalLM": (ARCH.FALCON, "falcon"),
    "MptForCausalLM": (ARCH.MPT, "mpt"),
    "GPT2LMHeadModel": (ARCH.GPT2, "gpt-2"),
    "SmolLM3ForCausalLM": (ARCH.SMOLLM3, "smaug-bpe"),
    "Gemma2ForCausalLM": (ARCH.GEMMA2, None),
    "Gemma3ForCausalLM": (ARCH.GEMMA3, None),
    "Gemma4ForCausalLM": (ARCH.GEMMA4, "gemma4"),
    "Phi3ForCausalLM": (ARCH.PHI3, None),
    "Olmo2ForCausalLM": (ARCH.OLMO2, "dbrx"),
    "Olmo3ForCausalLM": (ARCH.OLMO2, "dbrx"),
    "Exaone4ForCausalLM": (ARCH.EXAONE4, "exaone4"),
    "GlmForCausalLM": (ARCH.CHATGLM, "chatglm-bpe"),
    "Glm4ForCausalLM": (ARCH.GLM4, "glm4"),
    "Glm4MoeForCausalLM": (ARCH.GLM4_MOE, "glm4"),
    "Ernie4_5ForCausalLM": (ARCH.ERNIE4_5, None),
    "Ernie4_5_MoeForCausalLM": (ARCH.ERNIE4_5_MOE, None),
    "Qwen2VLForConditionalGeneration": (ARCH.QWEN2VL, "qwen2"),
    "Qwen2_5_VLForConditionalGeneration": (ARCH.QWEN2VL, "qwen2"),
    "Qwen3VLForConditionalGeneration": (ARCH.QWEN3VL, "qwen2"),
    "DeepseekV2ForCausalLM": (ARCH.DEEPSEEK2, "deepseek-llm"),
    "DeepseekV3ForCausalLM": (ARCH.DEEPSEEK2, "deepseek-v3"),
    "Glm4MoeLiteForCausalLM": (ARCH.DEEPSEEK2, "glm4"),
    "Lfm2ForCausalLM": (ARCH.LFM2, "lfm2"),
    "Lfm2MoeForCausalLM": (ARCH.LFM2MOE, "lfm2"),
    "NemotronHForCausalLM": (ARCH.NEMOTRON_H, "tekken"),
    "FalconH1ForCausalLM": (ARCH.FALCON_H1, "falcon-h1"),
    "GraniteMoeHybridForCausalLM": (ARCH.GRANITE_HYBRID, "refact"),
    "Qwen3NextForCausalLM": (ARCH.QWEN3NEXT, "qwen2"),
    "Qwen3_5ForCausalLM": (ARCH.QWEN35, "qwen35"),
    "Qwen3_5MoeForCausalLM": (ARCH.QWEN35MOE, "qwen35"),
    "HunYuanDenseV1ForCausalLM": (ARCH.HUNYUAN_DENSE, "hunyuan-dense"),
    "Ministral3ForCausalLM": (ARCH.MISTRAL3, "tekken"),
    "Mistral3ForConditionalGeneration": (ARCH.MISTRAL3, "tekken"),
    "GraniteForCausalLM": (ARCH.GRANITE, "refact"),
    "Qwen3MoeForCausalLM": (ARCH.QWEN3MOE, "qwen2"),
    "Qwen2MoeForCausalLM": (ARCH.QWEN2MOE, "qwen2"),
    "OlmoeForCausalLM": (ARCH.OLMOE, "olmo"),
    "MixtralForCausalLM": (ARCH.LLAMA, None),
    "GptOssForCausalLM": (ARCH.GPT_OSS, "gpt-4o"),
    "GraniteMoeForCausalLM": (ARCH.GRANITE_MOE, "refact"),
    "GraniteMoeSharedForCausalLM": (ARCH.GRANITE_MOE, "refact"),
}
GLMS = (ARCH.CHATGLM, ARCH.GLM4, ARCH.GLM4_MOE)
GRANITES = (ARCH.GRANITE, ARCH.GRANITE_MOE, ARCH.GRANITE_HYBRID)
INTERLEAVED_ROPE = (ARCH.LLAMA, ARCH.MISTRAL3, ARCH.SMOLLM3, *GRANITES)

# Left out is what the format cannot say: windows of Mistral and Qwen2, Gemma's
# query_pre_attn_scalar, lists of layers, dense ones among mixtures.
NAMES = ["llama", "llama_bias", "llama_rope_llama3_tied_bf16", "llama_rope_linear",
         "llama_rope_yarn", "llama_sharded_f16", "codellama", "mistral", "qwen2", "qwen3",
         "smollm2_v4", "falcon_7b", "falcon_40b", "mpt", "mpt_6heads", "gpt2", "smollm3",
         "gemma2_v4", "gemma3", "gemma3_linear_v4", "phi3", "phi3_longrope", "phi4mini_v4",
         "olmo2", "granite", "qwen3_moe", "qwen2_moe", "olmoe", "mixtral", "granitemoe",
         "granitemoeshared", "olmo3", "exaone4", "exaone4_window", "glm", "glm4",
         "glm4_moe", "glm4_moe_groups", "ernie4_5", "ernie4_5_bias", "ernie4_5_moe",
         "qwen2_vl_v4", "qwen2_5_vl", "qwen3_vl", "ministral3", "mistral3", "hunyuan", "gemma4", "gemma4_keys_v4",
         "gemma4_moe", "deepseek2", "deepseek2_groups", "deepseek3",
         "glm4_moe_lite", "lfm2", "qwen3_next", "qwen3_5", "qwen3_5_moe",
         "granite_hybrid", "granite_hybrid_moe_v4", "falcon_h1", "falcon_h1_norm_v4",
         "nemotron_h", "nemotron_h_moe", "lfm2_moe"]

OLDER = "_older"  # as converters wrote latent attention before mid-2025

SIMPLE = [Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0]
K_QUANTS = [Type.Q2_K, Type.Q3_K, Type.Q4_K, Type.Q5_K, Type.Q6_K]


# Of answers that are several messages.
CHANNELS = ["<|channel|>", "<|end|>", "<|return|>", "<|call|>"]


def add_vocabulary(writer, pre):
    """As little as a tokenizer can be: three special tokens, letters, and a merge."""
    letters = [chr(c) for c in range(ord("A"), ord("Z") + 1)] + [chr(c) for c in range(97, 123)]
    marked = pre in (None, "gemma4")  # spaces are written as a sign, bytes as tokens of their own
    if marked:
        tokens = ["<unk>", "<s>", "</s>", "<0x0A>", "▁", *letters]
        kinds = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL, TokenType.BYTE]
    else:
        tokens = ["<unk>", "<s>", "</s>", "Ċ", "Ġ", *letters]
        kinds = [TokenType.CONTROL] * 3
    tokens += ["ab", "abc"][:VOCAB - len(tokens)]
    if pre == "gpt-4o":
        tokens += CHANNELS
    tokens += [f"<unused{i}>" for i in range(VOCAB - len(tokens))]
    kinds += [TokenType.UNUSED if t.startswith("<unused") else
              TokenType.CONTROL if t in CHANNELS else TokenType.NORMAL
              for t in tokens[len(kinds):]]
    writer.add_tokenizer_model(dict({None: "llama"}, gemma4="gemma4").get(pre, "gpt2"))
    if pre != "gemma4":
        writer.add_tokenizer_pre("default" if pre is None else pre)
    writer.add_token_list(tokens)
    if marked:
        writer.add_token_scores([-float(i) for i in range(VOCAB)])
    writer.add_token_types([int(k) for k in kinds])
    if pre is not None:
        writer.add_token_merges(["a b", "ab c"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)


def further_layers(c):
    """Behind the model's own, of GLM 4.5."""
    return getattr(c, "num_mtp_layers", 0) if c.model_type == "glm4_moe" else 0


def add_latent_shape(writer, c, latent):
    """Heads, as attention sees them since mid-2025, or before that (not latent) as they are made."""
    writer.add_layer_norm_rms_eps(c.rms_norm_eps)
    writer.add_kv_lora_rank(c.kv_lora_rank)
    if c.q_lora_rank:
        writer.add_q_lora_rank(c.q_lora_rank)
    writer.add_rope_dimension_count(c.qk_rope_head_dim)
    own = c.qk_nope_head_dim + c.qk_rope_head_dim, c.v_head_dim
    writer.add_head_count_kv(1 if latent else c.num_attention_heads)
    writer.add_key_length(c.kv_lora_rank + c.qk_rope_head_dim if latent else own[0])
    writer.add_value_length(c.kv_lora_rank if latent else own[1])
    if latent:
        writer.add_key_length_mla(own[0])
        writer.add_value_length_mla(own[1])


def add_shape(writer, arch, c, latent):
    """Sizes. A configuration without num_key_value_heads has a name of its own for them."""
    ffn = getattr(c, "intermediate_size", None) or getattr(c, "ffn_hidden_size", None)
    writer.add_block_count(c.num_hidden_layers + further_layers(c))
    writer.add_context_length(c.max_seq_len if arch == ARCH.MPT else c.max_position_embeddings)
    writer.add_embedding_length(c.hidden_size)
    if arch == ARCH.GEMMA4:
        return add_gemma4_shape(writer, c)
    if arch in (ARCH.LFM2, ARCH.LFM2MOE):
        return add_lfm2_shape(writer, c)
    if c.model_type == "nemotron_h":
        return add_nemotron_shape(writer, c)
    writer.add_feed_forward_length(ffn or 4 * c.hidden_size)
    writer.add_head_count(c.num_attention_heads)
    if arch == ARCH.DEEPSEEK2:
        return add_latent_shape(writer, c, latent)
    if arch == ARCH.FALCON:
        writer.add_head_count_kv(c.num_kv_heads if c.new_decoder_architecture else 1)
    elif arch == ARCH.GRANITE_HYBRID:  # layers without heads for keys and values are Mamba's
        writer.add_head_count_kv([c.num_key_value_heads if kind == "full_attention" else 0
                                  for kind in c.layer_types])
    elif hasattr(c, "num_key_value_heads"):
        writer.add_head_count_kv(c.num_key_value_heads)
    if arch not in (ARCH.FALCON, *GRANITES) and getattr(c, "head_dim", None):
        writer.add_key_length(c.head_dim)
        writer.add_value_length(c.head_dim)
    if hasattr(c, "rms_norm_eps"):
        writer.add_layer_norm_rms_eps(c.rms_norm_eps)
    else:
        writer.add_layer_norm_eps(c.layer_norm_epsilon)


def add_lfm2_shape(writer, c):
    """Layers without heads for keys and values are convolutions; the width is as adjusted."""
    if c.model_type == "lfm2_moe":
        writer.add_feed_forward_length(c.intermediate_size)
        writer.add_leading_dense_block_count(c.num_dense_layers)
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    else:
        width, unit = 2 * c.intermediate_size // 3, c.block_multiple_of
        writer.add_feed_forward_length((width + unit - 1) // unit * unit)
    writer.add_head_count(c.num_attention_heads)
    writer.add_head_count_kv([0 if kind == "conv" else c.num_key_value_heads
                              for kind in c.layer_types])
    writer.add_layer_norm_rms_eps(c.norm_eps)
    writer.add_shortconv_l_cache(c.conv_L_cache)


def add_gemma4_shape(writer, c):
    """Heads and networks that differ from layer to layer."""
    c.allow_global_per_layer_attribute_access = True
    sliding = [t == "sliding_attention" for t in c.layer_types]
    heads = [c.per_layer_config[i] for i in range(c.num_hidden_layers)]
    full = heads[sliding.index(False)]
    n_own = c.num_hidden_layers - c.num_kv_shared_layers
    if c.use_double_wide_mlp:
        writer.add_feed_forward_length([c.intermediate_size * (1 if i < n_own else 2)
                                        for i in range(c.num_hidden_layers)])
    else:
        writer.add_feed_forward_length(c.intermediate_size)
    writer.add_head_count(c.num_attention_heads)
    if full.num_key_value_heads != c.num_key_value_heads:
        writer.add_head_count_kv([h.num_key_value_heads for h in heads])
    else:
        writer.add_head_count_kv(c.num_key_value_heads)
    writer.add_key_length(full.head_dim)
    writer.add_value_length(full.head_dim)
    writer.add_key_length_swa(c.head_dim)
    writer.add_value_length_swa(c.head_dim)
    writer.add_layer_norm_rms_eps(c.rms_norm_eps)
    writer.add_sliding_window(c.sliding_window)
    writer.add_sliding_window_pattern(sliding)
    writer.add_shared_kv_layers(c.num_kv_shared_layers)
    writer.add_embedding_length_per_layer_input(c.hidden_size_per_layer_input or 0)
    writer.add_final_logit_softcapping(c.final_logit_softcapping)
    writer.add_rope_dimension_count(full.head_dim)
    writer.add_rope_dimension_count_swa(c.head_dim)


def add_rope(writer, arch, c):
    rope = getattr(c, "rope_parameters", None)
    # Neither Falcon's converter nor Gemma 2's writes a base; llama.cpp's is 10000.
    if not rope or arch in (ARCH.FALCON, ARCH.GEMMA2):
        return
    if arch in (ARCH.GEMMA3, ARCH.GEMMA4):
        writer.add_rope_freq_base_swa(rope["sliding_attention"]["rope_theta"])
    if "mrope_section" in rope:
        writer.add_rope_dimension_sections((rope["mrope_section"] + [0])[:4])
    rope = rope.get("full_attention", rope)  # OLMo 3's sliding layers take the same base, unscaled
    theta = rope["rope_theta"]
    if "alpha" in rope:
        theta *= rope["alpha"] ** (c.head_dim / (c.head_dim - 2))
    writer.add_rope_freq_base(theta)
    if arch == ARCH.GEMMA4:
        return
    head_dim = getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads
    if arch in GLMS:
        writer.add_rope_dimension_count(int(head_dim * rope["partial_rotary_factor"]))
    elif arch == ARCH.PHI3:
        writer.add_rope_dimension_count(int(head_dim * rope.get("partial_rotary_factor", 1.0)))
        writer.add_rope_scaling_orig_ctx_len(c.original_max_position_embeddings)
    elif arch in INTERLEAVED_ROPE:
        writer.add_rope_dimension_count(head_dim)
    if rope["rope_type"] in ("linear", "yarn"):
        kinds = {"linear": gguf.RopeScalingType.LINEAR, "yarn": gguf.RopeScalingType.YARN}
        writer.add_rope_scaling_type(kinds[rope["rope_type"]])
        writer.add_rope_scaling_factor(rope["factor"])
    if rope["rope_type"] == "yarn":
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        if arch == ARCH.DEEPSEEK2:
            writer.add_rope_scaling_yarn_log_mul(0.1 * rope["mscale_all_dim"])
        if "attention_factor" in rope:
            writer.add_rope_scaling_yarn_attn_factor(rope["attention_factor"])
    if rope["rope_type"] == "longrope":
        stretch = c.max_position_embeddings / c.original_max_position_embeddings
        writer.add_rope_scaling_attn_factors(
            math.sqrt(1 + math.log(stretch) / math.log(c.original_max_position_embeddings)))


def add_special(writer, arch, c):
    """What only one family has."""
    if arch == ARCH.FALCON:
        writer.add_tensor_data_layout("jploski")
    elif arch == ARCH.MPT:
        writer.add_max_alibi_bias(float(c.attn_config.alibi_bias_max))
        if c.attn_config.clip_qkv:
            writer.add_clamp_kqv(c.attn_config.clip_qkv)
    elif arch == ARCH.GEMMA2:
        writer.add_attn_logit_softcapping(c.attn_logit_softcapping)
        writer.add_final_logit_softcapping(c.final_logit_softcapping)
        writer.add_sliding_window(c.sliding_window)
    elif arch in (ARCH.GEMMA3, ARCH.GPT_OSS):
        writer.add_sliding_window(c.sliding_window)
    elif c.model_type in ("olmo3", "exaone4") and c.sliding_window:
        writer.add_sliding_window(c.sliding_window)
        writer.add_sliding_window_pattern([t == "sliding_attention" for t in c.layer_types])
    elif arch == ARCH.PHI3:
        writer.add_sliding_window(c.sliding_window or 0)
    elif arch in GRANITES:
        writer.add_attention_scale(c.attention_multiplier)
        writer.add_embedding_scale(c.embedding_multiplier)
        writer.add_residual_scale(c.residual_multiplier)
        writer.add_logit_scale(c.logits_scaling)
    if c.model_type == "ministral3":
        writer.add_rope_scaling_yarn_log_mul(c.rope_parameters["mscale_all_dim"])
        writer.add_attn_temperature_scale(c.rope_parameters["llama_4_scaling_beta"])
    if arch in (ARCH.LLAMA, ARCH.MISTRAL3, ARCH.SMOLLM3, ARCH.EXAONE4, *GRANITES):
        writer.add_vocab_size(c.vocab_size)
    if has_delta_rule(c):
        add_delta_keys(writer, c)
    if has_mamba(c):
        add_mamba_keys(writer, c)
    add_mixture(writer, c)


def add_mixture(writer, c):
    n_experts = getattr(c, "num_experts", None) or getattr(c, "num_local_experts", None)
    if c.model_type == "nemotron_h":
        return
    if c.model_type in ("glm4_moe", "glm4_moe_lite", "deepseek_v2", "deepseek_v3"):
        sigmoid = c.model_type != "deepseek_v2"
        n_experts = c.n_routed_experts
        writer.add_expert_shared_count(c.n_shared_experts)
        writer.add_leading_dense_block_count(c.first_k_dense_replace)
        if c.model_type != "glm4_moe_lite":  # whose files do not say it
            writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID if sigmoid else
                                          gguf.ExpertGatingFuncType.SOFTMAX)
        writer.add_expert_weights_scale(c.routed_scaling_factor)
        writer.add_expert_weights_norm(c.norm_topk_prob)
        if (c.n_group or 1) > 1:
            writer.add_expert_group_count(c.n_group)
            writer.add_expert_group_used_count(c.topk_group)
        if further_layers(c):
            writer.add_nextn_predict_layers(further_layers(c))
    if c.model_type == "ernie4_5_moe":
        writer.add_expert_shared_count(c.moe_num_shared_experts)
        writer.add_expert_shared_feed_forward_length(c.intermediate_size // c.num_key_value_heads)
        writer.add_leading_dense_block_count(c.moe_layer_start_index)
        writer.add_interleave_moe_layer_step(c.moe_layer_interval)
    if not n_experts:
        return
    writer.add_expert_count(n_experts)
    writer.add_expert_used_count(getattr(c, "top_k_experts", None) or c.num_experts_per_tok)
    if c.model_type == "gpt_oss":
        writer.add_expert_feed_forward_length(c.intermediate_size)
    if getattr(c, "moe_intermediate_size", None):
        writer.add_expert_feed_forward_length(c.moe_intermediate_size)
    shared = (getattr(c, "shared_expert_intermediate_size", None)
              or getattr(c, "shared_intermediate_size", None))
    if shared:
        writer.add_expert_shared_feed_forward_length(shared)


def interleave(t, n_heads):
    """Rows of a head from halves, (x[i], x[i + n/2]), to pairs, (x[2i], x[2i + 1])."""
    return t.unflatten(0, (n_heads, 2, -1)).transpose(1, 2).reshape(t.shape)


def halve(t, n_heads):
    """The reverse of interleave."""
    return t.unflatten(0, (n_heads, -1, 2)).transpose(1, 2).reshape(t.shape)


def ungroup_qkv(t, c):
    """Falcon: rows (queries of a group, its key, its value) a group -> all q, all k, all v."""
    n_kv = c.num_kv_heads if c.new_decoder_architecture else 1
    groups = t.unflatten(0, (n_kv, -1, c.head_dim))
    return torch.cat([part.flatten(0, 2) for part in groups.split(
        [groups.shape[1] - 2, 1, 1], dim=1)])


def rearranged(name, t, arch, c):
    """A tensor as GGUF holds it."""
    if arch in INTERLEAVED_ROPE and "q_proj" in name:
        return interleave(t, c.num_attention_heads)
    if arch in INTERLEAVED_ROPE and "k_proj" in name:
        return interleave(t, c.num_key_value_heads)
    if (arch in (ARCH.GEMMA2, ARCH.GEMMA3) or has_delta_rule(c)) and name.endswith("norm.weight"):
        return t + 1  # so that norms need no offset
    if arch == ARCH.FALCON and "query_key_value" in name:
        return ungroup_qkv(t, c)
    if arch == ARCH.GPT2 and re.search(r"\.(c_attn|c_proj|c_fc)\.weight$", name):
        return t.T  # these are stored [in, out]
    return t


def stacked(tensors):
    """Matrices of experts as one tensor each; Granite's halves of a gate apart."""
    result, experts = {}, {}
    for name, t in tensors.items():
        one = re.fullmatch(r"(.*\.experts)\.(\d+)\.(\w+)\.weight", name)
        if one:
            experts.setdefault(f"{one[1]}.{one[3]}.weight", {})[int(one[2])] = t
        else:
            result[name] = t
    for name, each in experts.items():
        result[name] = torch.stack([each[i] for i in range(len(each))])
    return result


def granite_halves(name, t, layer):
    """The converter's own names: its table has none for the fused tensors."""
    if "block_sparse_moe.input_linear" in name:
        gate, up = t.chunk(2, dim=1)
        return {f"blk.{layer}.ffn_gate_exps.weight": gate, f"blk.{layer}.ffn_up_exps.weight": up}
    if "shared_mlp.input_linear" in name:
        gate, up = t.chunk(2)
        return {f"blk.{layer}.ffn_gate_shexp.weight": gate, f"blk.{layer}.ffn_up_shexp.weight": up}
    return {}


def rope_tensors(arch, c):
    """What no number says: divisors of the frequencies, one a frequency."""
    rope = getattr(c, "rope_parameters", None) or {}
    if arch == ARCH.GEMMA4:  # of layers that see all: pairs that do not turn
        full = c.per_layer_config[c.layer_types.index("full_attention")].head_dim
        turning = int(full * rope["full_attention"]["partial_rotary_factor"] / 2)
        return {"rope_freqs.weight": torch.tensor([1.0] * turning +
                                                  [1e30] * (full // 2 - turning))}
    if rope.get("rope_type") == "llama3":
        scaled, _ = ROPE_INIT_FUNCTIONS["llama3"](c)
        plain, _ = LlamaRotaryEmbedding.compute_default_rope_parameters(c)
        return {"rope_freqs.weight": plain / scaled}
    if rope.get("rope_type") == "longrope":
        return {"rope_factors_long.weight": torch.tensor(rope["long_factor"]),
                "rope_factors_short.weight": torch.tensor(rope["short_factor"])}
    return {}


def latent_halves(name, t, c):
    """What is made of a latent: keys' matrices turned, so that queries meet it, and values'."""
    layer = re.findall(r"layers\.(\d+)\.", name)[0]
    heads = t.unflatten(0, (c.num_attention_heads, -1))
    keys, values = heads.split([c.qk_nope_head_dim, c.v_head_dim], dim=1)
    return {f"blk.{layer}.attn_k_b.weight": keys.transpose(1, 2).contiguous(),
            f"blk.{layer}.attn_v_b.weight": values.contiguous()}


def gguf_tensors(tensors, arch, c, latent=True):
    names = gguf.get_tensor_name_map(arch, c.num_hidden_layers + further_layers(c))
    result = {}
    for name, t in stacked(tensors).items():
        if name.startswith("model.mtp_") or any(part in name for part in SEEING):
            continue  # ERNIE's guesses at later tokens, and what sees
        if arch == ARCH.DEEPSEEK2 and f"layers.{c.num_hidden_layers}." in name:
            continue  # and DeepSeek's guesses
        name = re.sub(r"^(model\.language_model|language_model\.model)\.", "model.", name)
        name = name.removeprefix("language_model.")
        name = name.replace("e_score_correction_bias", "e_score_correction.bias")
        name = name.replace(".expert_bias", ".expert_bias.bias")
        name = re.sub(r"^model\.(layers\.\d+\.feed_forward\.experts\.)", r"\1", name)
        name = re.sub(r"^backbone(.*)\.mixer\.experts\.", r"model\1.mlp.experts.", name)
        if arch in (ARCH.GRANITE_MOE, ARCH.GRANITE_HYBRID) and c.num_local_experts:
            halves = granite_halves(name, t, (re.findall(r"layers\.(\d+)\.", name) or [0])[0])
            result.update({own: half.contiguous() for own, half in halves.items()})
            if halves:
                continue
        if arch == ARCH.GRANITE_HYBRID and c.num_local_experts == 0 and "shared_mlp" in name:
            layer, parts = re.findall(r"layers\.(\d+)\.", name)[0], ("ffn_down",)
            if "input_linear" in name:
                parts = ("ffn_gate", "ffn_up")
            result.update({f"blk.{layer}.{part}.weight": half.contiguous()
                           for part, half in zip(parts, t.chunk(len(parts)))})
            continue
        if arch == ARCH.FALCON_H1:
            t = falcon_h1_scaled(name, t, c, torch)
        if mamba := mamba_tensors(name, t, c, torch):
            result.update(mamba)
            continue
        if delta := delta_tensors(name, t, c, torch):
            result.update(delta)
            continue
        if latent and "kv_b_proj" in name:
            result.update(latent_halves(name, t, c))
            continue
        if arch == ARCH.GPT2:
            if re.search(r"\.attn\.bias$", name):
                continue  # the mask
            name = "transformer." + name.removeprefix("transformer.")
        if "conv.conv" in name:
            t = t.squeeze(1)
        t = rearranged(name, t, arch, c).contiguous()
        if arch == ARCH.GEMMA4 and name.endswith(("router.scale", "per_expert_scale")):
            layer = re.findall(r"layers\.(\d+)\.", name)[0]
            whose = "ffn_gate_inp" if name.endswith("router.scale") else "ffn_down_exps"
            result[f"blk.{layer}.{whose}.scale"] = t.float()
            continue
        if name.endswith("layer_scalar") or re.search(r"\.experts\.(gate_up|down)_proj$", name):
            name += ".weight"
        own = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if own.endswith("ffn_gate_inp_shexp.weight"):
            t = t.squeeze(0)
        # Routers are kept in 32 bits, as vectors are.
        result[own] = t if t.dim() > 1 and "ffn_gate_inp" not in own else t.float()
    result.update(rope_tensors(arch, c))
    return result


FILE_TYPES = {torch.float32: gguf.LlamaFileType.ALL_F32,
              torch.float16: gguf.LlamaFileType.MOSTLY_F16,
              torch.bfloat16: gguf.LlamaFileType.MOSTLY_BF16}


def add_tensor(writer, name, t):
    if t.dtype == torch.bfloat16:
        bits = t.view(torch.uint16).numpy()
        writer.add_tensor(name, bits.view(np.uint8), raw_dtype=Type.BF16)
    else:
        writer.add_tensor(name, t.numpy())


def new_writer(path, arch, pre, config, file_type, latent=True, **options):
    writer = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[arch], **options)
    writer.add_type(gguf.GGUFType.MODEL)
    add_shape(writer, arch, config, latent)
    add_rope(writer, arch, config)
    add_special(writer, arch, config)
    writer.add_file_type(file_type)
    add_vocabulary(writer, pre)
    return writer


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def convert(folder, path, latent=True, **options):
    config = AutoConfig.from_pretrained(folder)
    arch, pre = FAMILIES[config.architectures[0]]
    config = config.get_text_config()
    if arch == ARCH.NEMOTRON_H and "moe" in config.layers_block_type:
        arch = ARCH.NEMOTRON_H_MOE
    tensors = {}
    for file in sorted(folder.glob("*.safetensors")):
        tensors.update(load_file(file))
    dtype = next(t.dtype for name, t in tensors.items() if "embed" in name or "wte" in name)
    writer = new_writer(path, arch, pre, config, FILE_TYPES[dtype], latent, **options)
    for name, t in gguf_tensors(tensors, arch, config, latent).items():
        add_tensor(writer, name, t)
    finish(writer)


def quantize(t, kind):
    """Rows of blocks, as bytes."""
    if kind not in K_QUANTS:
        return gguf.quants.quantize(t.numpy(), kind)
    import llama_cpp
    folder = pathlib.Path(llama_cpp.__file__).parent / "lib"
    call = ctypes.CDLL(str(folder / "libggml-base.so")).ggml_quantize_chunk
    call.restype = ctypes.c_size_t
    call.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64,
                     ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
    n_rows, n_cols = t.shape
    block, size = gguf.GGML_QUANT_SIZES[kind]
    rows = np.empty((n_rows, n_cols // block * size), np.uint8)
    source = np.ascontiguousarray(t.numpy())
    written = call(int(kind), source.ctypes.data, rows.ctypes.data, 0, n_rows, n_cols, None)
    assert written == rows.nbytes
    return rows


def quantized_llama(out, kind, seed):
    """A file of one type, and the logits of what it holds."""
    if kind in K_QUANTS:
        shape = dict(SHAPE, hidden_size=256, head_dim=32, intermediate_size=256,
                     num_hidden_layers=1, tie_word_embeddings=True)
    else:
        shape = dict(SHAPE, intermediate_size=64)
    config = LlamaConfig(**shape)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    randomize(model, seed)
    with torch.no_grad():  # logits of order one whatever the width
        model.get_output_embeddings().weight.mul_((32 / config.hidden_size) ** 0.5)
    name = f"llama_{kind.name.lower()}"
    file_type = {Type.Q2_K: "MOSTLY_Q2_K", Type.Q3_K: "MOSTLY_Q3_K_S", Type.Q4_K: "MOSTLY_Q4_K_S",
                 Type.Q5_K: "MOSTLY_Q5_K_S"}.get(kind, f"MOSTLY_{kind.name}")
    writer = new_writer(out / f"{name}.gguf", ARCH.LLAMA, None, config,
                        gguf.LlamaFileType[file_type])
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    names = gguf.get_tensor_name_map(ARCH.LLAMA, config.num_hidden_layers)
    with torch.no_grad():
        for own, p in model.named_parameters():
            stored = rearranged(own, p.detach(), ARCH.LLAMA, config).contiguous()
            other = names.get_name(own, try_suffixes=(".weight",))
            if p.dim() == 1:
                writer.add_tensor(other, stored.numpy())
                continue
            mine = kind if stored.shape[1] % gguf.GGML_QUANT_SIZES[kind][0] == 0 else Type.Q8_0
            rows = quantize(stored, mine)
            writer.add_tensor(other, rows, raw_dtype=mine)
            read = torch.from_numpy(gguf.quants.dequantize(rows, mine))
            heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
            turned = [n for part, n in heads.items() if part in own]
            p.copy_(halve(read, turned[0]) if turned else read)
    finish(writer)
    (out / name).mkdir()
    write_expected(out / name, model, [("prompt", list(range(N_TOKENS // 2)), None)], seed)
    return name


def gpt_oss_tensors(name, t):
    """As llama.cpp's converter names them: the table of the package leaves these out."""
    layer = (re.findall(r"layers\.(\d+)\.", name) or [""])[0]
    own = f"blk.{layer}."
    if name.endswith("experts.gate_up_proj"):  # [experts, in, gate and up in turn]
        t = t.transpose(1, 2)
        return {own + "ffn_gate_exps.weight": t[:, 0::2], own + "ffn_up_exps.weight": t[:, 1::2]}
    if name.endswith("experts.gate_up_proj_bias"):
        return {own + "ffn_gate_exps.bias": t[:, 0::2], own + "ffn_up_exps.bias": t[:, 1::2]}
    if name.endswith("experts.down_proj"):
        return {own + "ffn_down_exps.weight": t.transpose(1, 2)}
    if name.endswith("experts.down_proj_bias"):
        return {own + "ffn_down_exps.bias": t}
    if name.endswith("sinks"):
        return {own + "attn_sinks.weight": t}
    if "post_attention_layernorm" in name:
        return {own + "post_attention_norm.weight": t}
    if "mlp.router" in name:
        return {own + "ffn_gate_inp" + name[name.rindex("."):]: t}
    names = gguf.get_tensor_name_map(ARCH.GPT_OSS, 4)
    return {names.get_name(name, try_suffixes=(".weight", ".bias")): t}


def gpt_oss(out, seed):
    """gpt-oss, whose folders hold experts otherwise: a file alone, and its logits."""
    config = GptOssConfig(**GPT_OSS)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    randomize(model, seed)
    writer = new_writer(out / "gpt_oss.gguf", ARCH.GPT_OSS, "gpt-4o", config,
                        gguf.LlamaFileType.ALL_F32)
    for name, p in model.named_parameters():
        for own, t in gpt_oss_tensors(name, p.detach()).items():
            writer.add_tensor(own, t.contiguous().numpy())
    finish(writer)
    (out / "gpt_oss").mkdir(exist_ok=True)
    write_expected(out / "gpt_oss", model, [("prompt", list(range(N_TOKENS)), None)], seed)


def qwen3_vl_moe(out, seed):
    """The text of Qwen3-VL's mixtures, whose folders hold experts turned: a file alone."""
    config = Qwen3VLMoeConfig(**QWEN3_VL_MOE)
    model = model_class(config).from_config(config, dtype=torch.float32).eval()
    randomize(model, seed)
    tensors = {}
    for name, p in model.named_parameters():
        if name.endswith("experts.gate_up_proj"):
            base, halves = name.removesuffix("gate_up_proj"), p.detach().chunk(2, dim=1)
            tensors.update({f"{base}{part}_proj.weight": half
                            for part, half in zip(("gate", "up"), halves)})
        else:
            tensors[name + ".weight" * name.endswith("experts.down_proj")] = p.detach()
    text = config.get_text_config()
    writer = new_writer(out / "qwen3_vl_moe.gguf", ARCH.QWEN3VLMOE, "qwen2", text,
                        gguf.LlamaFileType.ALL_F32)
    for name, t in gguf_tensors(tensors, ARCH.QWEN3VLMOE, text).items():
        add_tensor(writer, name, t)
    finish(writer)
    (out / "qwen3_vl_moe").mkdir(exist_ok=True)
    write_expected(out / "qwen3_vl_moe", model, [("prompt", list(range(N_TOKENS)), None)], seed)


# Of architectures whose folders are not read.
ALONE = {"gpt_oss": (gpt_oss, 300), "qwen3_vl_moe": (qwen3_vl_moe, 301)}


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=pathlib.Path, default=here / "models")
    parser.add_argument("--out", type=pathlib.Path, default=here / "gguf")
    parser.add_argument("--only", nargs="+", help="these names alone, added to the index")
    args = parser.parse_args()
    torch.set_num_threads(1)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    if args.only:
        index = json.loads((args.out / "index.json").read_text())
        for name in args.only:
            index = [row for row in index if row["file"] != f"{name}.gguf"]
            if name in ALONE:
                make, seed = ALONE[name]
                make(args.out, seed)
                index.append({"file": f"{name}.gguf", "expected": name})
                continue
            model = name.removesuffix(OLDER)
            convert(args.models / model, args.out / f"{name}.gguf", latent=model == name)
            index.append({"file": f"{name}.gguf", "expected": f"../models/{model}"})
        write_json(args.out / "index.json", index)
        return
    shutil.rmtree(args.out, ignore_errors=True)
    args.out.mkdir(parents=True)
    index = []
    for name in [*NAMES, "deepseek2" + OLDER, "deepseek2_groups" + OLDER]:
        model = name.removesuffix(OLDER)
        convert(args.models / model, args.out / f"{name}.gguf", latent=model == name)
        index.append({"file": f"{name}.gguf", "expected": f"../models/{model}"})

    convert(args.models / "llama", args.out / "llama_split.gguf", split_max_tensors=11)
    index.append({"file": "llama_split-00001-of-00002.gguf", "expected": "../models/llama"})
    image = bytearray((args.out / "llama.gguf").read_bytes())
    image[4:8] = (2).to_bytes(4, "little")  # nothing else differs
    (args.out / "llama_v2.gguf").write_bytes(image)
    index.append({"file": "llama_v2.gguf", "expected": "../models/llama"})

    for seed, kind in enumerate(SIMPLE + K_QUANTS):
        name = quantized_llama(args.out, kind, 200 + seed)
        index.append({"file": f"{name}.gguf", "expected": name})
    for name, (make, seed) in ALONE.items():
        make(args.out, seed)
        index.append({"file": f"{name}.gguf", "expected": name})
    write_json(args.out / "index.json", index)


if __name__ == "__main__":
    main()
