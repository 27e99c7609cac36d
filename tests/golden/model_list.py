"""The tiny checkpoints of make_model_fixtures.py: what each exercises, and how
transformers 4 wrote its config.json (folder names that end in `_v4`)."""

import torch
from transformers import (
    DeepseekV2Config, DeepseekV3Config, Ernie4_5Config, Ernie4_5_MoeConfig,
    Exaone4Config, FalconConfig, FalconH1Config, GPT2Config, Gemma2Config, Gemma3Config,
    Gemma3TextConfig, Gemma4Config, Gemma4TextConfig, Glm4Config,
    Glm4MoeConfig, Glm4MoeLiteConfig, GlmConfig, GptOssConfig, GraniteConfig,
    GraniteMoeConfig, GraniteMoeHybridConfig, GraniteMoeSharedConfig,
    HunYuanDenseV1Config, Lfm2Config, Lfm2MoeConfig, LlamaConfig, MiniCPM3Config,
    Ministral3Config, Mistral3Config, MistralConfig, MixtralConfig, MptConfig,
    NemotronHConfig,
    Olmo2Config, Olmo3Config, OlmoeConfig, Phi3Config, Qwen2Config,
    Qwen2MoeConfig, Qwen2VLConfig, Qwen2_5_VLConfig, Qwen3Config,
    Qwen3MoeConfig, Qwen3NextConfig, Qwen3VLConfig, Qwen3VLMoeConfig,
    Qwen3_5Config, Qwen3_5MoeTextConfig, Qwen3_5TextConfig, SmolLM3Config)

VOCAB = 64
SHAPE = dict(
    vocab_size=VOCAB, hidden_size=32, intermediate_size=24, num_hidden_layers=2,
    num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=1024,
    bos_token_id=1, eos_token_id=2, attn_implementation="eager",
)
# For families that came later: smaller, and without the default padding token, which is out of range.
SMALL = dict(SHAPE, hidden_size=24, intermediate_size=16, num_attention_heads=3, pad_token_id=None)
LLAMA3 = dict(rope_type="llama3", rope_theta=10000.0, factor=16.0, low_freq_factor=1.0,
              high_freq_factor=4.0, original_max_position_embeddings=64)
YARN = dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, original_max_position_embeddings=256)
LINEAR = dict(rope_type="linear", rope_theta=10000.0, factor=4.0)
SMOLLM = dict(SHAPE, hidden_size=48, num_attention_heads=3, intermediate_size=40,
              tie_word_embeddings=True, rms_norm_eps=1e-5,
              rope_parameters=dict(rope_type="default", rope_theta=100000.0))
FALCON = dict(vocab_size=VOCAB, num_hidden_layers=2, bos_token_id=1, eos_token_id=2,
              alibi=False, bias=False, attn_implementation="eager")
MPT = dict(vocab_size=VOCAB, max_seq_len=128, bos_token_id=1, eos_token_id=2,
           attn_implementation="eager")
GPT2 = dict(vocab_size=VOCAB, n_embd=16, n_head=2, n_positions=48, bos_token_id=1, eos_token_id=2,
            attn_implementation="eager")
# Soft-caps of the size of what they cap.
GEMMA2 = dict(SMALL, num_attention_heads=2, head_dim=16, sliding_window=8, attn_logit_softcapping=3.0,
              final_logit_softcapping=4.0)
# Five layers with a window and one without, as the default is.
GEMMA3 = dict(SMALL, hidden_size=16, intermediate_size=12, num_hidden_layers=6,
              num_attention_heads=2, head_dim=8, query_pre_attn_scalar=8, sliding_window=8)
GEMMA3_LOCAL = dict(rope_type="default", rope_theta=10000.0)
GEMMA3_GLOBAL = dict(rope_type="linear", rope_theta=1000000.0, factor=8.0)
SLIDING_AND_FULL = ["sliding_attention", "full_attention"]
GEMMA4 = dict(SMALL, hidden_size=16, intermediate_size=12, num_attention_heads=2, head_dim=8,
              global_head_dim=16, sliding_window=8, final_logit_softcapping=4.0,
              vocab_size_per_layer_input=VOCAB, num_kv_shared_layers=0)
GRANITE = dict(SMALL, embedding_multiplier=6.0, attention_multiplier=0.35, residual_multiplier=0.4,
               logits_scaling=2.5, tie_word_embeddings=True)
OLMO3 = dict(SMALL, num_hidden_layers=4, sliding_window=8, max_position_embeddings=512,
             rope_parameters=dict(
                 sliding_attention=dict(rope_type="default", rope_theta=500000.0),
                 full_attention=dict(rope_type="yarn", rope_theta=500000.0, factor=8.0,
                                     attention_factor=1.2079441541679836, beta_fast=32.0,
                                     beta_slow=1.0, original_max_position_embeddings=64)))
EXAONE4 = dict(SMALL, num_attention_heads=2, intermediate_size=12, rms_norm_eps=1e-5)
GLM = dict(SMALL, num_attention_heads=2, intermediate_size=12, partial_rotary_factor=0.5)
GLM_MOE = dict(GLM, head_dim=8, num_hidden_layers=3, n_routed_experts=6, n_shared_experts=2,
               num_experts_per_tok=2, moe_intermediate_size=8, first_k_dense_replace=1)
# Latent attention: parts of heads that are all of other sizes.
DEEPSEEK = dict(SMALL, num_attention_heads=2, num_key_value_heads=2, num_hidden_layers=3,
                n_routed_experts=6, num_experts_per_tok=2, moe_intermediate_size=8,
                first_k_dense_replace=1, kv_lora_rank=16, qk_nope_head_dim=10, qk_rope_head_dim=8,
                v_head_dim=12)
DEEPSEEK_YARN = dict(YARN, mscale=0.707, mscale_all_dim=0.707)
ERNIE = dict(SMALL, num_attention_heads=2, num_key_value_heads=1, intermediate_size=16)
VL_TEXT = dict(SMALL, num_attention_heads=3, num_key_value_heads=1)
# Two of six experts a token.
EXPERTS = dict(SMALL, hidden_size=24, num_attention_heads=2, intermediate_size=12,
               num_experts_per_tok=2)


def longrope(n_factors, **others):
    """Factors of n_factors frequencies; trained at 64 positions, stretched to 256."""
    short = [round(1.0 + 0.15 * i / n_factors, 4) for i in range(n_factors)]
    long = [round(1.1 + 6.0 * (i / (n_factors - 1)) ** 2, 4) for i in range(n_factors)]
    return dict(SMALL, hidden_size=32, num_attention_heads=2, intermediate_size=12,
                max_position_embeddings=256, original_max_position_embeddings=64,
                tie_word_embeddings=True,
                rope_parameters=dict(rope_type="longrope", rope_theta=10000.0, short_factor=short,
                                     long_factor=long, **others))


def v4_plain(config):
    rope = dict(config.pop("rope_parameters"))
    config["rope_theta"] = rope.pop("rope_theta")
    config["rope_scaling"] = None if rope["rope_type"] == "default" else rope
    return config


def v4_smollm(config):
    """Also what a checkpoint of the SmolLM2 family says to no effect."""
    return dict(v4_plain(config), is_llama_config=True, rope_interleaved=False, pretraining_tp=1,
                **{"transformers.js_config": {"kv_cache_dtype": {"fp16": "float16"}}})


def v4_gemma2(config):
    """Which layers have a window went without saying."""
    config.pop("layer_types")
    return dict(v4_plain(config), hidden_act="gelu_pytorch_tanh", cache_implementation="hybrid")


def v4_gemma3(config):
    rope = config.pop("rope_parameters")
    scaling = dict(rope["full_attention"])
    del config["layer_types"], config["_sliding_window_pattern"]
    return dict(config, sliding_window_pattern=6, rope_theta=scaling.pop("rope_theta"),
                rope_local_base_freq=rope["sliding_attention"]["rope_theta"],
                rope_scaling=None if scaling["rope_type"] == "default" else scaling)


def v4_gemma4(config):
    """As the released files: two fields for the heads of layers that see all."""
    own = next(iter(config.pop("per_layer_config").values()))
    config["global_head_dim"] = own["head_dim"]
    config["num_global_key_value_heads"] = own.get("num_key_value_heads")
    return config


def v4_olmo3(config):
    """Which layers have a window went without saying, and what was scaled are the others."""
    rope = dict(config.pop("rope_parameters")["full_attention"])
    config.pop("layer_types")
    return dict(config, rope_theta=rope.pop("rope_theta"), rope_scaling=rope)


def v4_hunyuan(config):
    """As the released files: with what only their mixtures mean, and numbers of YaRN to no effect."""
    rope = v4_plain(config).pop("rope_scaling")
    rope["type"] = rope.pop("rope_type")
    return dict(config, rope_theta=10000.0, use_qk_norm=True, use_cla=False, num_experts=1,
                rope_scaling=dict(rope, beta_fast=32, beta_slow=1, mscale=1.0, mscale_all_dim=0.0))


def v4_lfm2(config):
    """As the released files: the layers that attend by their numbers, and older names."""
    types = config.pop("layer_types")
    config["full_attn_idxs"] = [i for i, t in enumerate(types) if t == "full_attention"]
    config["block_ff_dim"] = config.pop("intermediate_size")
    return v4_plain(config)


def v4_granite_hybrid(config):
    """As the released files: kinds of layers by other names, and no limits of steps."""
    names = {"linear_attention": "mamba", "full_attention": "attention"}
    config["layer_types"] = [names[t] for t in config["layer_types"]]
    config["position_embedding_type"] = "nope"
    del config["time_step_limit"]
    return v4_plain(config)


def v4_falcon_h1(config):
    """As the released files, which say nothing of kinds of layers or limits of steps."""
    config = v4_plain(config)
    return {k: v for k, v in config.items() if k not in (
        "layer_types", "layers_block_type", "time_step_limit")} | dict(mamba_use_mlp=True)


def v4_nemotron_h(config):
    """As the released files: a letter a layer, and their number."""
    letters = {"linear_attention": "M", "full_attention": "*", "mlp": "-", "moe": "E"}
    kinds = config.pop("layers_block_type")
    config["hybrid_override_pattern"] = "".join(letters[kind] for kind in kinds)
    config["num_hidden_layers"] = len(kinds)
    config["time_step_limit"] = [0.0, float("inf")]
    mixtures = ("moe_", "n_routed", "n_shared", "num_experts", "mtp_", "norm_topk", "routed_")
    return {k: v for k, v in config.items() if not k.startswith(mixtures)}


def v4_deepseek(config):
    """As the released files, which say things that are of no use without training."""
    rope = v4_plain(config).pop("rope_scaling")
    rope["type"] = rope.pop("rope_type")
    del config["head_dim"], config["topk_group"], config["n_group"]
    return dict(config, rope_theta=10000.0, rope_scaling=dict(rope, beta_fast=32, beta_slow=1),
                aux_loss_alpha=0.001, ep_size=1, moe_layer_freq=1, n_group=1, topk_group=1,
                norm_topk_prob=False, scoring_func="softmax", seq_aux=True)


def v4_flat(config):
    """Qwen2-VL's text stood beside its vision."""
    text = config.pop("text_config")
    rope = text.pop("rope_parameters")
    return dict(config, **{k: v for k, v in text.items() if k not in ("model_type", "dtype")},
                rope_theta=rope["rope_theta"],
                rope_scaling=dict(type="mrope", mrope_section=rope["mrope_section"]))


def v4_phi3(config):
    rope = config.pop("rope_parameters")
    return dict(config, rope_theta=rope["rope_theta"],
                partial_rotary_factor=rope["partial_rotary_factor"],
                rope_scaling=dict(type="longrope", short_factor=rope["short_factor"],
                                  long_factor=rope["long_factor"]))


# name: (config class, fields, stored type, options). The order gives the seeds: append.
#   v4: how the old config.json says the same    drop: fields that config.json leaves out
#   jump, longrope: more expected sets, see make_model_fixtures.py
#   extra: shapes of tensors that a checkpoint has beside those of the model
#   rope_type: a name of the first checkpoints, which transformers 5 no longer reads
GPT_OSS = dict(
    vocab_size=VOCAB, hidden_size=32, intermediate_size=64, num_hidden_layers=3,
    num_attention_heads=4, num_key_value_heads=2, head_dim=16, num_local_experts=5,
    num_experts_per_tok=2, sliding_window=8, max_position_embeddings=1024, bos_token_id=1,
    eos_token_id=2, pad_token_id=None, attn_implementation="eager",
    rope_parameters=dict(rope_type="yarn", rope_theta=150000.0, factor=8.0, beta_fast=32.0,
                         beta_slow=1.0, truncate=False, original_max_position_embeddings=128))
QWEN3_VL_MOE = dict(
    text_config=dict(EXPERTS, head_dim=8, num_experts=6, moe_intermediate_size=8,
                     norm_topk_prob=True, rope_parameters=dict(
                         rope_type="default", rope_theta=10000.0, mrope_interleaved=True,
                         mrope_section=[2, 1, 1])),
    vision_config=dict(depth=1, hidden_size=8, num_heads=2, intermediate_size=8,
                       out_hidden_size=24, in_channels=1, patch_size=2,
                       num_position_embeddings=4, deepstack_visual_indexes=[0]))

DELTA = dict(SMALL, num_attention_heads=2, num_key_value_heads=1, head_dim=16,
             linear_conv_kernel_dim=4, linear_num_key_heads=2, linear_num_value_heads=4,
             linear_key_head_dim=12, linear_value_head_dim=12, tie_word_embeddings=False,
             rope_parameters=dict(rope_type="default", rope_theta=10000.0,
                                  partial_rotary_factor=0.25))
DELTA_EXPERTS = dict(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=8,
                     shared_expert_intermediate_size=12)

GRANITE_H = dict(GRANITE, num_hidden_layers=3, shared_intermediate_size=12, mamba_n_heads=8,
                 mamba_n_groups=1, mamba_d_state=12, mamba_d_conv=4, mamba_expand=2,
                 layer_types=["linear_attention", "full_attention", "linear_attention"])

FALCON_H1 = dict(SMALL, num_attention_heads=2, num_key_value_heads=1, head_dim=8, mamba_n_heads=8,
                 mamba_n_groups=1, mamba_d_state=12, mamba_d_conv=4, mamba_expand=2,
                 rope_parameters=dict(rope_type="default", rope_theta=100000.0))
FALCON_H1_FACTORS = dict(
    embedding_multiplier=2.5, lm_head_multiplier=0.4, attention_in_multiplier=0.8,
    attention_out_multiplier=1.4, key_multiplier=0.6, ssm_in_multiplier=1.25, ssm_out_multiplier=0.7,
    ssm_multipliers=[0.9, 0.6, 1.3, 0.8, 1.1], mlp_multipliers=[0.7, 1.5])

NEMOTRON_H = {k: v for k, v in dict(
    SMALL, num_attention_heads=2, num_key_value_heads=1, head_dim=16, mamba_num_heads=8,
    mamba_head_dim=8, n_groups=2, ssm_state_size=12, conv_kernel=4, expand=2,
    intermediate_size=20).items() if k != "num_hidden_layers"}
NEMOTRON_H_MOE = dict(n_routed_experts=6, num_experts_per_tok=2, moe_intermediate_size=8,
                      moe_shared_expert_intermediate_size=12, routed_scaling_factor=2.5)

MODELS = {
    "llama": (LlamaConfig, dict(SHAPE), torch.float32, {}),
    "llama_bias": (LlamaConfig, dict(SHAPE, attention_bias=True, mlp_bias=True), torch.float32, {}),
    "llama_rope_llama3_tied_bf16": (
        LlamaConfig, dict(SHAPE, tie_word_embeddings=True, rope_parameters=LLAMA3), torch.bfloat16,
        dict(jump=True, generation=dict(bos_token_id=1, eos_token_id=[2, 7]))),
    "llama_rope_llama3_tied_bf16_v4": (
        LlamaConfig, dict(SHAPE, tie_word_embeddings=True, rope_parameters=LLAMA3), torch.bfloat16,
        dict(jump=True, v4=v4_plain)),
    "llama_rope_linear": (LlamaConfig, dict(SHAPE, rope_parameters=LINEAR), torch.float32,
                          dict(jump=True)),
    "llama_rope_yarn": (LlamaConfig, dict(SHAPE, rope_parameters=YARN), torch.float32,
                        dict(jump=True)),
    "llama_sharded_f16": (LlamaConfig, dict(SHAPE), torch.float16, dict(shards=2)),
    "mistral_window8": (MistralConfig, dict(SHAPE, sliding_window=8), torch.float32, {}),
    "qwen2": (Qwen2Config, dict(SHAPE, tie_word_embeddings=True,
                                rope_parameters=dict(rope_type="default", rope_theta=1000000.0)),
              torch.float32, {}),
    "qwen2_window": (Qwen2Config, dict(SHAPE, tie_word_embeddings=True, use_sliding_window=True,
                                       sliding_window=6, max_window_layers=1), torch.bfloat16, {}),
    "qwen3": (Qwen3Config, dict(SHAPE, intermediate_size=16, head_dim=16, num_attention_heads=4,
                                num_key_value_heads=2, tie_word_embeddings=True), torch.float32, {}),
    "smollm2_v4": (LlamaConfig, SMOLLM, torch.bfloat16, dict(v4=v4_smollm)),

    # The old layout: one K/V head (num_kv_heads says otherwise, to no effect), one norm a block.
    "falcon_7b": (FalconConfig, dict(FALCON, hidden_size=16, num_attention_heads=2,
                                     multi_query=True, parallel_attn=True), torch.float32, {}),
    # The new layout: K/V heads interleaved with the queries of their group, two norms a block.
    "falcon_40b": (FalconConfig, dict(FALCON, hidden_size=32, num_attention_heads=4,
                                      ffn_hidden_size=24, new_decoder_architecture=True,
                                      num_kv_heads=2), torch.float32, {}),
    "mpt": (MptConfig, dict(MPT, d_model=16, n_heads=4, n_layers=2), torch.float32, {}),
    # Slopes of a number of heads that is no power of two; q, k and v cut.
    "mpt_6heads": (MptConfig, dict(MPT, d_model=24, n_heads=6, n_layers=1,
                                   attn_config=dict(clip_qkv=1.0)), torch.float32, {}),
    # Named as openai-community/gpt2 names its tensors, mask buffer included.
    "gpt2": (GPT2Config, dict(GPT2, n_layer=2), torch.float32, dict(bare_gpt2=True)),
    "gpt2_prefixed": (GPT2Config, dict(GPT2, n_layer=1), torch.float32, {}),
    "smollm3": (SmolLM3Config, dict(SMALL, hidden_size=16, num_attention_heads=2,
                                    intermediate_size=12, num_hidden_layers=4,
                                    rope_parameters=dict(rope_type="default", rope_theta=50000.0)),
                torch.float32, dict(drop=("no_rope_layers", "layer_types"))),
    "smollm3_listed": (SmolLM3Config, dict(SMALL, no_rope_layers=[0, 1]), torch.float32,
                       dict(jump=True)),
    "gemma2": (Gemma2Config, dict(GEMMA2, query_pre_attn_scalar=24), torch.float32, {}),
    "gemma2_v4": (Gemma2Config, dict(GEMMA2, query_pre_attn_scalar=16), torch.float32,
                  dict(v4=v4_gemma2, own_seed=True)),
    "gemma3": (Gemma3TextConfig, dict(GEMMA3, rope_parameters=dict(
        sliding_attention=GEMMA3_LOCAL,
        full_attention=dict(rope_type="default", rope_theta=1000000.0))), torch.float32, {}),
    "gemma3_linear_v4": (Gemma3TextConfig, dict(GEMMA3, rope_parameters=dict(
        sliding_attention=GEMMA3_LOCAL, full_attention=GEMMA3_GLOBAL)), torch.float32,
        dict(v4=v4_gemma3)),
    "gemma3_listed": (Gemma3TextConfig, dict(
        GEMMA3, hidden_size=24, num_hidden_layers=2, query_pre_attn_scalar=12,
        layer_types=["full_attention", "sliding_attention"], final_logit_softcapping=4.0,
        rope_parameters=dict(sliding_attention=GEMMA3_LOCAL, full_attention=GEMMA3_GLOBAL)),
        torch.float32, dict(jump=True)),
    "phi3": (Phi3Config, dict(SMALL, sliding_window=8), torch.float32, {}),
    "phi3_longrope": (Phi3Config, longrope(8), torch.float32, dict(longrope=True)),
    "phi3_longrope_v4": (Phi3Config, longrope(8), torch.float32,
                         dict(longrope=True, v4=v4_phi3, rope_type="su")),
    "phi4mini_v4": (Phi3Config, longrope(6, partial_rotary_factor=0.75), torch.float32,
                    dict(longrope=True, v4=v4_phi3)),
    "olmo2": (Olmo2Config, dict(SMALL, num_key_value_heads=3, rope_parameters=dict(
        rope_type="default", rope_theta=500000.0)), torch.float32, {}),
    "granite": (GraniteConfig, dict(GRANITE), torch.float32, {}),
    "codellama": (LlamaConfig, dict(SMALL, num_key_value_heads=3,
                                    rope_parameters=dict(rope_type="default",
                                                         rope_theta=1000000.0)),
                  torch.float32, dict(jump=True)),
    "mistral": (MistralConfig, dict(SMALL, sliding_window=None), torch.float32, {}),

    # Mixtures of experts. A dense layer among them; a shared network that counts by a gate.
    "qwen3_moe": (Qwen3MoeConfig, dict(EXPERTS, head_dim=16, num_experts=6, moe_intermediate_size=8,
                                       norm_topk_prob=True), torch.float32, {}),
    "qwen3_moe_mixed": (Qwen3MoeConfig, dict(EXPERTS, head_dim=8, num_hidden_layers=3,
                                             num_experts=5, moe_intermediate_size=8,
                                             mlp_only_layers=[1]), torch.float32, {}),
    "qwen2_moe": (Qwen2MoeConfig, dict(EXPERTS, num_experts=6, moe_intermediate_size=8,
                                       shared_expert_intermediate_size=20), torch.float32, {}),
    "olmoe": (OlmoeConfig, dict(EXPERTS, num_experts=6), torch.float32, {}),
    "mixtral": (MixtralConfig, dict(EXPERTS, num_local_experts=6), torch.bfloat16, {}),
    "granitemoe": (GraniteMoeConfig, dict(GRANITE, intermediate_size=8, num_local_experts=6,
                                          num_experts_per_tok=3), torch.float32, {}),
    "granitemoeshared": (GraniteMoeSharedConfig, dict(
        GRANITE, intermediate_size=8, num_local_experts=6, num_experts_per_tok=3,
        shared_intermediate_size=12), torch.float32, {}),

    "olmo3": (Olmo3Config, dict(OLMO3), torch.float32, dict(jump=True)),
    "olmo3_v4": (Olmo3Config, dict(OLMO3), torch.float32, dict(v4=v4_olmo3)),
    # As the 1.2B, which attends to everything, and as the 32B.
    "exaone4": (Exaone4Config, dict(EXAONE4, sliding_window=None,
                                    layer_types=["full_attention"] * 2, tie_word_embeddings=True,
                                    rope_parameters=LLAMA3), torch.float32, {}),
    "exaone4_window": (Exaone4Config, dict(EXAONE4, num_hidden_layers=4, sliding_window=8,
                                           rope_parameters=dict(rope_type="default",
                                                                rope_theta=10000.0)),
                       torch.float32, {}),

    "glm": (GlmConfig, dict(GLM, head_dim=12), torch.float32, {}),
    "glm4": (Glm4Config, dict(GLM, head_dim=8), torch.float32, dict(jump=True)),
    # GLM 4.5: norms of heads in the large one alone; a layer behind the last, which is not computed.
    "glm4_moe": (Glm4MoeConfig, dict(GLM_MOE, use_qk_norm=True, norm_topk_prob=True,
                                     routed_scaling_factor=2.5), torch.float32,
                 dict(extra={"model.layers.3.eh_proj.weight": (24, 48),
                             "model.layers.3.enorm.weight": (24,)})),
    "glm4_moe_groups": (Glm4MoeConfig, dict(GLM_MOE, attention_bias=True, norm_topk_prob=False,
                                            num_mtp_layers=0, n_group=3, topk_group=2),
                        torch.float32, {}),
    "ernie4_5": (Ernie4_5Config, dict(ERNIE, head_dim=16), torch.float32, {}),
    "ernie4_5_bias": (Ernie4_5Config, dict(ERNIE, head_dim=16, use_bias=True,
                                           tie_word_embeddings=False), torch.float32, {}),
    "ernie4_5_moe": (Ernie4_5_MoeConfig, dict(
        ERNIE, num_hidden_layers=3, moe_intermediate_size=8, moe_k=2, moe_num_experts=6,
        moe_num_shared_experts=2, moe_layer_start_index=1), torch.float32,
        dict(extra={"model.mtp_linear_proj.0.weight": (24, 48)})),

    # The text of models that see: nested in config.json, and as the first releases wrote it.
    "qwen2_vl_v4": (Qwen2VLConfig, dict(text_config=dict(VL_TEXT, rope_parameters=dict(
        rope_type="default", rope_theta=10000.0, mrope_section=[2, 1, 1])), vision_config=dict(
            depth=1, embed_dim=8, num_heads=2, hidden_size=24, mlp_ratio=1, in_channels=1,
            patch_size=2)), torch.float32, dict(v4=v4_flat)),
    "qwen2_5_vl": (Qwen2_5_VLConfig, dict(text_config=dict(VL_TEXT, rope_parameters=dict(
        rope_type="default", rope_theta=10000.0, mrope_section=[2, 1, 1])), vision_config=dict(
            depth=1, hidden_size=8, num_heads=2, intermediate_size=8, out_hidden_size=24,
            in_channels=1, patch_size=2, fullatt_block_indexes=[0])), torch.float32, {}),
    "qwen3_vl": (Qwen3VLConfig, dict(
        tie_word_embeddings=True, text_config=dict(VL_TEXT, head_dim=8, rope_parameters=dict(
            rope_type="default", rope_theta=10000.0, mrope_interleaved=True,
            mrope_section=[2, 1, 1])), vision_config=dict(
                depth=1, hidden_size=8, num_heads=2, intermediate_size=8, out_hidden_size=24,
                in_channels=1, patch_size=2, num_position_embeddings=4,
                deepstack_visual_indexes=[0])), torch.float32, dict(jump=True)),
    "gemma3_media": (Gemma3Config, dict(
        text_config=dict(GEMMA3, rope_parameters=dict(
            sliding_attention=GEMMA3_LOCAL,
            full_attention=dict(rope_type="default", rope_theta=1000000.0))),
        vision_config=dict(num_hidden_layers=1, hidden_size=8, intermediate_size=8,
                           num_attention_heads=2, image_size=4, patch_size=2, num_channels=1),
        mm_tokens_per_image=4, attn_implementation="eager"), torch.float32, {}),
    "ministral3": (Ministral3Config, dict(SMALL, head_dim=8, rope_parameters=dict(
        rope_type="yarn", rope_theta=10000.0, factor=16.0, beta_fast=32.0, beta_slow=1.0,
        mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.1,
        original_max_position_embeddings=64)), torch.float32, dict(jump=True)),
    "mistral3": (Mistral3Config, dict(
        tie_word_embeddings=False, text_config=dict(
            SMALL, model_type="mistral", head_dim=8, sliding_window=None),
        vision_config=dict(model_type="pixtral", num_hidden_layers=1, hidden_size=8,
                           intermediate_size=8, num_attention_heads=2, head_dim=4, image_size=4,
                           patch_size=2, num_channels=1), spatial_merge_size=1), torch.float32, {}),

    "hunyuan": (HunYuanDenseV1Config, dict(SMALL, head_dim=8, rope_parameters=dict(
        rope_type="dynamic", rope_theta=10000.0, alpha=50.0, factor=1.0)), torch.float32,
                dict(jump=True)),
    "hunyuan_v4": (HunYuanDenseV1Config, dict(SMALL, head_dim=8, rope_parameters=dict(
        rope_type="dynamic", rope_theta=10000.0, alpha=50.0, factor=1.0)), torch.float32,
                   dict(v4=v4_hunyuan)),

    # Gemma 4: as E2B (shared states, per-layer embeddings, wide networks), as the 31B (keys as
    # values, other K/V heads in full layers), and as the 26B-A4B (experts beside a network).
    "gemma4": (Gemma4TextConfig, dict(GEMMA4, num_hidden_layers=6, num_kv_shared_layers=3,
                                      layer_types=SLIDING_AND_FULL * 3,
                                      hidden_size_per_layer_input=4, use_double_wide_mlp=True),
               torch.float32, {}),
    "gemma4_keys_v4": (Gemma4TextConfig, dict(
        GEMMA4, num_hidden_layers=4, layer_types=SLIDING_AND_FULL * 2, attention_k_eq_v=True,
        num_key_value_heads=2,
        num_global_key_value_heads=1, hidden_size_per_layer_input=0), torch.float32,
        dict(v4=v4_gemma4)),
    "gemma4_moe": (Gemma4TextConfig, dict(
        GEMMA4, layer_types=SLIDING_AND_FULL, attention_k_eq_v=True, num_key_value_heads=2,
        num_global_key_value_heads=1, hidden_size_per_layer_input=0, enable_moe_block=True,
        num_experts=6, top_k_experts=2, moe_intermediate_size=8), torch.float32, {}),
    "gemma4_media": (Gemma4Config, dict(
        text_config=dict(GEMMA4, layer_types=SLIDING_AND_FULL, hidden_size_per_layer_input=4,
                         pad_token_id=0),
        vision_config=dict(num_hidden_layers=1, hidden_size=8, intermediate_size=8,
                           num_attention_heads=2, num_key_value_heads=2, head_dim=4, patch_size=2,
                           position_embedding_size=16), audio_config=None,
        attn_implementation="eager"), torch.float32, {}),

    # DeepSeek: as V2-Lite, V2 and V3; with a layer behind the last, which is not computed.
    "deepseek2": (DeepseekV2Config, dict(DEEPSEEK, q_lora_rank=None, rope_parameters=DEEPSEEK_YARN),
                  torch.float32, dict(jump=True)),
    "deepseek2_v4": (DeepseekV2Config, dict(DEEPSEEK, q_lora_rank=None,
                                            rope_parameters=DEEPSEEK_YARN),
                     torch.float32, dict(v4=v4_deepseek)),
    "deepseek2_groups": (DeepseekV2Config, dict(
        DEEPSEEK, q_lora_rank=14, n_group=3, topk_group=2, topk_method="group_limited_greedy",
        routed_scaling_factor=4.0, rope_parameters=dict(rope_type="default", rope_theta=10000.0)),
                         torch.bfloat16, {}),
    "deepseek3": (DeepseekV3Config, dict(
        DEEPSEEK, q_lora_rank=14, n_shared_experts=1, n_group=3, topk_group=2,
        rope_parameters=dict(YARN, mscale=1.0, mscale_all_dim=1.0)), torch.float32,
                  dict(extra={"model.layers.3.eh_proj.weight": (24, 48),
                              "model.layers.3.enorm.weight": (24,)})),
    "glm4_moe_lite": (Glm4MoeLiteConfig, dict(
        DEEPSEEK, q_lora_rank=14, rope_parameters=dict(rope_type="default", rope_theta=1000000.0)),
                      torch.float32, {}),
    "minicpm3": (MiniCPM3Config, dict(
        SMALL, num_attention_heads=2, num_key_value_heads=2, intermediate_size=16, q_lora_rank=14,
        kv_lora_rank=16,
        qk_nope_head_dim=10, qk_rope_head_dim=8, dim_model_base=12, max_position_embeddings=256,
        rope_parameters=dict(rope_type="longrope", rope_theta=10000.0, factor=4.0,
                             original_max_position_embeddings=64,
                             short_factor=[1.0, 1.04, 1.08, 1.11],
                             long_factor=[1.1, 1.8, 3.8, 7.1])),
                 torch.float32, dict(longrope=True)),

    # LFM2: as transformers 5 writes it, and as its first files were.
    "lfm2": (Lfm2Config, dict(SMALL, num_attention_heads=2, num_hidden_layers=4, intermediate_size=40,
                              block_multiple_of=8, conv_L_cache=3, norm_eps=1e-5,
                              layer_types=["conv", "full_attention", "conv", "conv"]),
             torch.float32, {}),
    "lfm2_v4": (Lfm2Config, dict(SMALL, num_attention_heads=2, num_hidden_layers=4,
                                 intermediate_size=40, block_multiple_of=8, conv_L_cache=3,
                                 norm_eps=1e-5,
                                 layer_types=["conv", "full_attention", "conv", "conv"]),
                torch.float32, dict(v4=v4_lfm2)),

    # gpt-oss: experts turned, and in MXFP4, as published. Qwen3-VL's mixture as published, turned,
    # and as transformers 5 writes it.
    "gpt_oss_turned": (GptOssConfig, GPT_OSS, torch.bfloat16, {}),
    "gpt_oss_mxfp4": (GptOssConfig, GPT_OSS, torch.float32, dict(mxfp4=True)),
    "qwen3_vl_moe_turned": (Qwen3VLMoeConfig, QWEN3_VL_MOE, torch.float32,
                            dict(turned=True)),
    "qwen3_vl_moe_plain": (Qwen3VLMoeConfig, QWEN3_VL_MOE, torch.float32, dict(jump=True)),

    # Gated delta rules beside attention: with two heads of values for one of keys; of several media;
    # mixtures, whose experts transformers stacks.
    "qwen3_5": (Qwen3_5TextConfig, dict(DELTA, num_hidden_layers=4), torch.float32, {}),
    "qwen3_5_media": (Qwen3_5Config, dict(
        text_config=dict(DELTA, num_hidden_layers=2, linear_value_head_dim=10, layer_types=["full_attention", "linear_attention"]),
        vision_config=dict(depth=1, hidden_size=8, num_heads=2, intermediate_size=8,
                           out_hidden_size=24, in_channels=1, patch_size=2,
                           num_position_embeddings=4)), torch.float32, {}),
    "qwen3_5_moe": (Qwen3_5MoeTextConfig, dict(DELTA, **DELTA_EXPERTS, num_hidden_layers=4),
                    torch.float32, {}),
    "qwen3_next": (Qwen3NextConfig, dict(DELTA, **DELTA_EXPERTS, num_hidden_layers=4),
                   torch.float32, {}),

    # Granite 4 H: Mamba-2 beside attention without positions, with a network alone and with mixtures.
    "granite_hybrid": (GraniteMoeHybridConfig, dict(GRANITE_H, intermediate_size=12, num_local_experts=0),
                       torch.float32, {}),
    "granite_hybrid_moe_v4": (GraniteMoeHybridConfig, dict(
        GRANITE_H, intermediate_size=8, num_local_experts=6, num_experts_per_tok=3, mamba_n_groups=2),
                              torch.float32, dict(v4=v4_granite_hybrid)),

    # Falcon-H1: attention beside Mamba-2 in every layer, with factors of all parts; and with a norm.
    "falcon_h1": (FalconH1Config, dict(FALCON_H1, mamba_d_ssm=40, **FALCON_H1_FACTORS), torch.float32,
                  {}),
    "falcon_h1_norm_v4": (FalconH1Config, dict(
        FALCON_H1, mamba_d_ssm=48, mamba_n_groups=2, mamba_rms_norm=True,
        mamba_norm_before_gate=False, mlp_bias=True, key_multiplier=0.7, mlp_multipliers=[0.6, 1.2], lm_head_multiplier=0.5), torch.float32,
                          dict(v4=v4_falcon_h1)),

    # Nemotron-H: halves of blocks, as transformers writes them and as they were released; steps
    # that are cut; and mixtures, chosen out of groups.
    "nemotron_h": (NemotronHConfig, dict(NEMOTRON_H, time_step_min=1e-9, layers_block_type=[
        "linear_attention", "mlp", "full_attention", "linear_attention", "mlp"]), torch.float32, {}),
    "nemotron_h_v4": (NemotronHConfig, dict(
        NEMOTRON_H, time_step_min=1e-9, layers_block_type=[
            "linear_attention", "mlp", "full_attention", "linear_attention", "mlp"]), torch.float32,
                      dict(v4=v4_nemotron_h)),
    "nemotron_h_steps": (NemotronHConfig, dict(
        NEMOTRON_H, time_step_min=0.5, mlp_bias=True, use_conv_bias=False, layers_block_type=[
            "linear_attention", "mlp", "linear_attention", "full_attention"]), torch.float32, {}),
    "nemotron_h_moe": (NemotronHConfig, dict(
        NEMOTRON_H, **NEMOTRON_H_MOE, time_step_min=1e-9, layers_block_type=[
            "linear_attention", "moe", "full_attention", "moe", "linear_attention"]), torch.float32,
                       {}),
    "nemotron_h_groups": (NemotronHConfig, dict(
        NEMOTRON_H, **NEMOTRON_H_MOE, n_group=2, topk_group=1, norm_topk_prob=False,
        layers_block_type=["full_attention", "linear_attention", "moe"]), torch.bfloat16, {}),

    # LFM2's mixtures, behind a layer with a network alone.
    "lfm2_moe": (Lfm2MoeConfig, dict(
        SMALL, num_attention_heads=2, num_hidden_layers=4, conv_L_cache=3, norm_eps=1e-5,
        moe_intermediate_size=8, num_experts=6, num_experts_per_tok=2, num_dense_layers=1,
        layer_types=["conv", "full_attention", "conv", "conv"]), torch.float32, {}),
    "lfm2_moe_plain": (Lfm2MoeConfig, dict(
        SMALL, num_attention_heads=2, num_hidden_layers=2, conv_L_cache=3, norm_eps=1e-5,
        moe_intermediate_size=8, num_experts=6, num_experts_per_tok=3, num_dense_layers=0,
        use_expert_bias=False, norm_topk_prob=False, routed_scaling_factor=1.5,
        layer_types=["full_attention", "conv"]), torch.float32, {}),
}


def seed_of(name):
    """The two dialects of one checkpoint share their weights."""
    def shares(n):
        return (n.endswith("_v4") and n.removesuffix("_v4") in MODELS
                and not MODELS[n][3].get("own_seed"))
    own = [n for n in MODELS if not shares(n)]
    return 20 + own.index(name.removesuffix("_v4") if shares(name) else name)
