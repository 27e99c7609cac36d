"""Layers that carry a state, as llama.cpp's converter writes them: keys and tensors."""

import re


def has_delta_rule(c):
    return c.model_type in ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text")


def add_delta_keys(writer, c):
    writer.add_ssm_conv_kernel(c.linear_conv_kernel_dim)
    writer.add_ssm_state_size(c.linear_key_head_dim)
    writer.add_ssm_group_count(c.linear_num_key_heads)
    writer.add_ssm_time_step_rank(c.linear_num_value_heads)
    writer.add_ssm_inner_size(c.linear_value_head_dim * c.linear_num_value_heads)
    writer.add_array(f"{writer.arch}.attention.recurrent_layers",  # for which the package has no call
                     [t == "linear_attention" for t in c.layer_types])
    writer.add_full_attention_interval(4)
    if c.model_type != "qwen3_next":
        writer.add_rope_dimension_sections([1, 1, 0, 0])  # of two frequencies
    writer.add_rope_dimension_count(int(c.head_dim * c.rope_parameters["partial_rotary_factor"]))


def by_turns(t, c, dim, head_dim):
    """Heads of values of each key head -> the first of all key heads, the second of all, ..."""
    n_keys = c.linear_num_key_heads
    per_key = c.linear_num_value_heads // n_keys
    return t.unflatten(dim, (n_keys, per_key, head_dim)).transpose(dim, dim + 1).flatten(
        dim, dim + 2)


def qwen35_order(part, t, c):
    d = c.linear_value_head_dim
    n_keys = 2 * c.linear_num_key_heads * c.linear_key_head_dim
    if part in ("in_proj_qkv.weight", "conv1d.weight"):
        rest = t[:n_keys]
        return [rest, by_turns(t[n_keys:], c, 0, d)]
    if part == "in_proj_z.weight":
        return [by_turns(t, c, 0, d)]
    if part in ("in_proj_a.weight", "in_proj_b.weight", "A_log", "dt_bias"):
        return [by_turns(t, c, 0, 1)]
    return [by_turns(t, c, 1, d)] if part == "out_proj.weight" else [t]


def has_mamba(c):
    return c.model_type in ("granitemoehybrid", "falcon_h1", "nemotron_h")


def inner_size(c):
    if c.model_type == "nemotron_h":
        return c.mamba_num_heads * c.mamba_head_dim
    return c.mamba_d_ssm if c.model_type == "falcon_h1" else c.mamba_expand * c.hidden_size


def add_mamba_keys(writer, c):
    sizes = ((c.conv_kernel, c.ssm_state_size, c.n_groups, c.mamba_num_heads)
             if c.model_type == "nemotron_h" else
             (c.mamba_d_conv, c.mamba_d_state, c.mamba_n_groups, c.mamba_n_heads))
    writer.add_ssm_conv_kernel(sizes[0])
    writer.add_ssm_state_size(sizes[1])
    writer.add_ssm_group_count(sizes[2])
    writer.add_ssm_time_step_rank(sizes[3])
    writer.add_ssm_inner_size(inner_size(c))
    if c.model_type == "granitemoehybrid":
        writer.add_rope_scaling_finetuned(False)


def falcon_h1_scaled(name, t, c, torch):
    """Its factors go into the weights that make what they are of."""
    values, keys = inner_size(c), c.mamba_n_groups * c.mamba_d_state
    parts = torch.repeat_interleave(torch.tensor(c.ssm_multipliers),
                                    torch.tensor([values, values, keys, keys, c.mamba_n_heads]))
    factors = {"embed_tokens": c.embedding_multiplier, "lm_head": c.lm_head_multiplier,
               "q_proj": c.attention_in_multiplier, "v_proj": c.attention_in_multiplier,
               "k_proj": c.attention_in_multiplier * c.key_multiplier,
               "self_attn.o_proj": c.attention_out_multiplier,
               "mamba.out_proj": c.ssm_out_multiplier, "gate_proj": c.mlp_multipliers[0],
               "down_proj": c.mlp_multipliers[1], "in_proj": c.ssm_in_multiplier * parts[:, None]}
    return next((t * factor for part, factor in factors.items() if part in name), t)


def add_nemotron_shape(writer, c):
    """What each layer is, is said by what it has."""
    kinds, width = c.layers_block_type, c.intermediate_size
    if "moe" in kinds:
        width = c.moe_intermediate_size
        writer.add_expert_feed_forward_length(width)
        writer.add_expert_shared_feed_forward_length(c.moe_shared_expert_intermediate_size)
        writer.add_expert_count(c.n_routed_experts)
        writer.add_expert_used_count(c.num_experts_per_tok)
        writer.add_expert_shared_count(c.n_shared_experts)
        writer.add_expert_weights_norm(c.norm_topk_prob)
        writer.add_expert_weights_scale(c.routed_scaling_factor)
        writer.add_expert_group_count(c.n_group)
    writer.add_feed_forward_length([width if kind in ("mlp", "moe") else 0 for kind in kinds])
    writer.add_head_count(c.num_attention_heads)
    writer.add_head_count_kv([c.num_key_value_heads if kind == "full_attention" else 0
                              for kind in kinds])
    writer.add_key_length(c.head_dim)
    writer.add_value_length(c.head_dim)
    writer.add_layer_norm_eps(c.layer_norm_epsilon)
    writer.add_layer_norm_rms_eps(c.layer_norm_epsilon)


MAMBA_NAMES = {"in_proj.weight": "ssm_in.weight", "conv1d.weight": "ssm_conv1d.weight",
               "conv1d.bias": "ssm_conv1d.bias", "dt_bias": "ssm_dt.bias", "A_log": "ssm_a",
               "D": "ssm_d", "norm.weight": "ssm_norm.weight", "out_proj.weight": "ssm_out.weight"}


def mamba_tensors(name, t, c, torch):
    """{} where the tensor is no part of a Mamba-2 layer."""
    found = re.search(r"layers\.(\d+)\.(?:mamba|mixer)\.(.*)", name)
    if not found or found[2] not in MAMBA_NAMES:
        return {}
    layer, part = found[1], found[2]
    if part == "conv1d.weight":
        t = t.squeeze(1)
    if part == "A_log":
        t = -torch.exp(t.float())
    if part in ("A_log", "D"):
        t = t.reshape(-1, 1)
    if part == "norm.weight":
        t = t.reshape(c.n_groups if c.model_type == "nemotron_h" else c.mamba_n_groups, -1)
    return {f"blk.{layer}.{MAMBA_NAMES[part]}": (
        t if part.endswith("proj.weight") else t.float()).contiguous()}


NAMES = {"in_proj_qkv.weight": "attn_qkv.weight", "in_proj_z.weight": "attn_gate.weight",
         "in_proj_a.weight": "ssm_alpha.weight", "in_proj_b.weight": "ssm_beta.weight",
         "in_proj_ba.weight": "ssm_ba.weight", "conv1d.weight": "ssm_conv1d.weight",
         "dt_bias": "ssm_dt.bias", "A_log": "ssm_a", "norm.weight": "ssm_norm.weight",
         "out_proj.weight": "ssm_out.weight"}


def delta_tensors(name, t, c, torch):
    """{} where the tensor is no part of a gated delta rule's."""
    found = re.search(r"layers\.(\d+)\.linear_attn\.(.*)", name)
    if not found:
        return {}
    layer, part = found[1], found[2]
    if part == "conv1d.weight":
        t = t.squeeze(1)
    if part == "A_log":
        t = -torch.exp(t.float())
    if c.model_type != "qwen3_next":
        t = torch.cat(qwen35_order(part, t, c))
    if part == "in_proj_qkvz.weight":  # of each key head q, k, v and gates
        n, values = c.linear_num_key_heads, c.linear_value_head_dim * c.linear_num_value_heads
        sizes = [c.linear_key_head_dim] * 2 + [values // n] * 2
        q, k, v, z = t.unflatten(0, (n, -1)).split(sizes, dim=1)
        qkv = torch.cat([x.flatten(0, 1) for x in (q, k, v)])
        return {f"blk.{layer}.attn_qkv.weight": qkv.contiguous(),
                f"blk.{layer}.attn_gate.weight": z.flatten(0, 1).contiguous()}
    small = t.dim() == 1 or "conv1d" in part
    return {f"blk.{layer}.{NAMES[part]}": (t.float() if small else t).contiguous()}
