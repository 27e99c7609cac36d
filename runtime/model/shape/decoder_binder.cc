#include "runtime/model/shape/decoder_binder.h"

#include <cmath>
#include <span>
#include <string>

namespace pc {

const TensorNames kLlamaNames{
    .layer_prefix = "model.layers.",
    .embedding = "model.embed_tokens",
    .positions = "",
    .final_norm = "model.norm",
    .head = "lm_head",
    .attn_norm = "input_layernorm",
    .q = "self_attn.q_proj",
    .k = "self_attn.k_proj",
    .v = "self_attn.v_proj",
    .qkv = "",
    .q_norm = "self_attn.q_norm",
    .k_norm = "self_attn.k_norm",
    .o = "self_attn.o_proj",
    .attn_post_norm = "post_attention_layernorm",
    .q_down = "self_attn.q_a_proj",
    .q_down_norm = "self_attn.q_a_layernorm",
    .q_up = "self_attn.q_b_proj",
    .kv_down = "self_attn.kv_a_proj_with_mqa",
    .latent_norm = "self_attn.kv_a_layernorm",
    .kv_up = "self_attn.kv_b_proj",
    .ffn_norm = "post_attention_layernorm",
    .gate = "mlp.gate_proj",
    .up = "mlp.up_proj",
    .gate_up = "",
    .down = "mlp.down_proj",
    .ffn_post_norm = "post_feedforward_layernorm",
    .router = "mlp.gate",
    .expert_prefix = "mlp.experts.",
    .expert_gate = "gate_proj",
    .expert_up = "up_proj",
    .expert_down = "down_proj",
    .optional_base = "model.",  // which checkpoints of models that embed leave out
};

const TensorNames kGgufNames{
    .layer_prefix = "blk.",
    .embedding = "token_embd",
    .positions = "position_embd",
    .final_norm = "output_norm",
    .head = "output",
    .attn_norm = "attn_norm",
    .q = "attn_q",
    .k = "attn_k",
    .v = "attn_v",
    .qkv = "",
    .q_norm = "attn_q_norm",
    .k_norm = "attn_k_norm",
    .o = "attn_output",
    .attn_post_norm = "post_attention_norm",
    .q_down = "attn_q_a",
    .q_down_norm = "attn_q_a_norm",
    .q_up = "attn_q_b",
    .kv_down = "attn_kv_a_mqa",
    .latent_norm = "attn_kv_a_norm",
    .k_up = "attn_k_b",
    .v_up = "attn_v_b",
    .sinks = "attn_sinks.weight",
    .ple_gate = "inp_gate",
    .ple_out = "proj",
    .ple_norm = "post_norm",
    .output_scale = "layer_output_scale.weight",
    .ple_embedding = "per_layer_token_embd",
    .ple_projection = "per_layer_model_proj",
    .ple_projection_norm = "per_layer_proj_norm",
    .ffn_norm = "ffn_norm",
    .gate = "ffn_gate",
    .up = "ffn_up",
    .gate_up = "",
    .down = "ffn_down",
    .ffn_post_norm = "post_ffw_norm",
    .router = "ffn_gate_inp",
    .choice_bias = "exp_probs_b.bias",
    .expert_gate = "ffn_gate_exps",
    .expert_up = "ffn_up_exps",
    .expert_down = "ffn_down_exps",
    .shared_gate = "ffn_gate_shexp",
    .shared_up = "ffn_up_shexp",
    .shared_down = "ffn_down_shexp",
    .ffn_gate = "ffn_gate_inp_shexp",
};

namespace {

// Everything of one layer.
class LayerBinder {
 public:
  // decoder: where lists of the layer's are kept.
  LayerBinder(const ModelConfig& config, const TensorNames& names, TensorBinder& tensors,
              std::uint32_t index, Decoder* decoder)
      : c_(config),
        names_(names),
        tensors_(tensors),
        index_(index),
        decoder_(decoder),
        prefix_(std::string(names.layer_prefix) + std::to_string(index) + ".") {
    const HeadsConfig heads = config.heads(index);
    layer_.n_heads = heads.n_heads;
    layer_.n_kv_heads = heads.n_kv_heads;
    layer_.head_dim = heads.head_dim;
    layer_.attn_scale = static_cast<float>(
        config.attn_scale.value_or(1 / std::sqrt(static_cast<double>(heads.head_dim))));
    layer_.states = states_of(index);
    layer_.norm_values = config.norm_values;
    layer_.window = config.windows[index];
    layer_.rope = config.layer_ropes[index];
  }

  Result<pc_layer> bind() {
    if (c_.pre_norms)
      PC_CHECK_OK(norm(names_.attn_norm, &layer_.attn_norm, &layer_.attn_norm_bias));
    PC_CHECK_OK(c_.is_recurrent(index_) ? recurrent() : attention());
    if (c_.pre_norms && (!c_.parallel || c_.parallel_norms))
      PC_CHECK_OK(norm(names_.ffn_norm, &layer_.ffn_norm, &layer_.ffn_norm_bias));
    if (c_.has_mixture(index_)) PC_CHECK_OK(mixture());
    if (c_.d_own_ffn(index_) != 0) PC_CHECK_OK(feed_forward(c_.d_own_ffn(index_)));
    if (c_.post_norms) {
      PC_TRY(layer_.attn_post_norm, vector(names_.attn_post_norm, ".weight", c_.d_model));
      PC_TRY(layer_.ffn_post_norm, vector(names_.ffn_post_norm, ".weight", c_.d_model));
    }
    if (c_.d_ple != 0) PC_CHECK_OK(per_layer_embedding());
    if (c_.output_scales) {
      PC_TRY(layer_.output_scale, vector(names_.output_scale, "", 1));
    }
    return layer_;
  }

 private:
  Status attention() {
    const bool latent = c_.latent.dims != 0;
    PC_CHECK_OK(latent ? latent_qkv() : names_.qkv.empty() ? separate_qkv() : fused_qkv());
    PC_CHECK_OK(head_norms());
    if (c_.sinks) {
      PC_TRY(layer_.sinks, vector(names_.sinks, "", layer_.n_heads));
    }
    const std::uint32_t o_cols = latent ? layer_.n_heads * c_.latent.value : q_rows();
    return linear(names_.o, c_.d_model, o_cols, c_.o_bias, &layer_.wo, &layer_.bo);
  }

  Status recurrent() {
    pc_recurrent& r = layer_.recurrent;
    r.kind = c_.recurrent.kind;
    r.n_channels = c_.recurrent.n_channels;
    r.n_taps = c_.recurrent.n_taps;
    PC_TRY(r.in, matrix(names_.recurrent_in, 3 * r.n_channels, c_.d_model));
    PC_TRY(r.out, matrix(names_.recurrent_out, c_.d_model, r.n_channels));
    PC_TRY(r.conv,
           tensors_.taps(prefix_ + std::string(names_.conv) + ".weight", r.n_channels, r.n_taps));
    return ok();
  }

  std::uint32_t q_rows() const { return layer_.n_heads * layer_.head_dim; }
  std::uint32_t kv_rows() const { return layer_.n_kv_heads * layer_.head_dim; }

  // pc_layer::states
  std::uint32_t states_of(std::uint32_t index) const {
    const std::uint32_t owner = c_.states_of.empty() ? index : c_.states_of[index];
    std::uint32_t n = 0;
    for (std::uint32_t i = 0; i < owner; ++i) n += c_.has_states(i);
    return n;
  }

  Result<pc_tensor> vector(std::string_view name, const char* ending, std::uint32_t n) {
    return tensors_.vector(prefix_ + std::string(name) + ending, n);
  }
  Result<pc_tensor> matrix(std::string_view name, std::uint32_t rows, std::uint32_t cols) {
    const std::string full = prefix_ + std::string(name) + ".weight";
    return names_.transposed ? tensors_.transposed(full, rows, cols)
                             : tensors_.matrix(full, rows, cols);
  }

  Status norm(std::string_view name, pc_tensor* weight, pc_tensor* bias) {
    PC_TRY(*weight, vector(name, ".weight", c_.d_model));
    if (!c_.norm_bias) return ok();
    PC_TRY(*bias, vector(name, ".bias", c_.d_model));
    return ok();
  }

  Status linear(std::string_view name, std::uint32_t rows, std::uint32_t cols, bool has_bias,
                pc_tensor* weight, pc_tensor* bias) {
    PC_TRY(*weight, matrix(name, rows, cols));
    if (!has_bias) return ok();
    PC_TRY(*bias, vector(name, ".bias", rows));
    return ok();
  }

  Status separate_qkv() {
    PC_CHECK_OK(linear(names_.q, q_rows(), c_.d_model, c_.q_bias, &layer_.wq, &layer_.bq));
    if (!c_.has_states(index_)) {
      pass_over_states();
      return ok();
    }
    PC_CHECK_OK(linear(names_.k, kv_rows(), c_.d_model, c_.k_bias, &layer_.wk, &layer_.bk));
    if (!c_.keys_as_values.empty() && c_.keys_as_values[index_]) return ok();
    return linear(names_.v, kv_rows(), c_.d_model, c_.v_bias, &layer_.wv, &layer_.bv);
  }

  Status fused_qkv() {
    pc_tensor weight{}, bias{};
    PC_CHECK_OK(
        linear(names_.qkv, q_rows() + 2 * kv_rows(), c_.d_model, c_.q_bias, &weight, &bias));
    if (names_.qkv_by_group) {
      const std::uint32_t group = layer_.n_heads / layer_.n_kv_heads;
      PC_TRY(weight, tensors_.ungrouped(weight, layer_.n_kv_heads, group, layer_.head_dim));
      if (bias.data) {  // a column of as many rows
        bias.rows = bias.cols;
        bias.cols = 1;
        PC_TRY(bias, tensors_.ungrouped(bias, layer_.n_kv_heads, group, layer_.head_dim));
      }
    }
    layer_.wq = rows_of(weight, 0, q_rows());
    layer_.wk = rows_of(weight, q_rows(), kv_rows());
    layer_.wv = rows_of(weight, q_rows() + kv_rows(), kv_rows());
    if (!bias.data) return ok();
    bias.rows = q_rows() + 2 * kv_rows();
    bias.cols = 1;
    layer_.bq = as_vector(rows_of(bias, 0, q_rows()));
    layer_.bk = as_vector(rows_of(bias, q_rows(), kv_rows()));
    layer_.bv = as_vector(rows_of(bias, q_rows() + kv_rows(), kv_rows()));
    return ok();
  }

  Status latent_qkv() {
    const auto& [dims, rotary, nope, value, q_rank, norm_eps] = c_.latent;
    pc_latent& latent = layer_.latent;
    latent.dims = dims;
    latent.norm_eps = static_cast<float>(norm_eps.value_or(c_.norm_eps));
    if (q_rank != 0) {
      PC_TRY(latent.q_down, matrix(names_.q_down, q_rank, c_.d_model));
      PC_TRY(latent.q_norm, vector(names_.q_down_norm, ".weight", q_rank));
    }
    PC_TRY(layer_.wq, matrix(q_rank != 0 ? names_.q_up : names_.q, layer_.n_heads * (nope + rotary),
                             q_rank != 0 ? q_rank : c_.d_model));
    PC_TRY(layer_.wk, matrix(names_.kv_down, dims + rotary, c_.d_model));
    PC_TRY(latent.norm, vector(names_.latent_norm, ".weight", dims));
    auto& up = decoder_->latent.emplace_back(2 * std::size_t{layer_.n_heads});
    const std::span<pc_tensor> k_up = std::span(up).first(layer_.n_heads);
    const std::span<pc_tensor> v_up = std::span(up).subspan(layer_.n_heads);
    latent.k_up = k_up.data();
    latent.v_up = v_up.data();
    return names_.kv_up.empty() ? separate_ups(k_up, v_up) : fused_ups(k_up, v_up);
  }

  // Stacks of the heads' matrices.
  Status separate_ups(std::span<pc_tensor> k_up, std::span<pc_tensor> v_up) {
    const auto& [dims, rotary, nope, value, q_rank, norm_eps] = c_.latent;
    const std::uint32_t n = layer_.n_heads;
    PC_TRY(const pc_tensor k,
           tensors_.stack(prefix_ + std::string(names_.k_up) + ".weight", n, dims, nope));
    PC_TRY(const pc_tensor v,
           tensors_.stack(prefix_ + std::string(names_.v_up) + ".weight", n, value, dims));
    for (std::uint32_t h = 0; h < n; ++h) {
      k_up[h] = rows_of(k, h * dims, dims);
      v_up[h] = rows_of(v, h * value, value);
    }
    return ok();
  }

  // Rows of each head: of its keys, which are turned, and of its values.
  Status fused_ups(std::span<pc_tensor> k_up, std::span<pc_tensor> v_up) {
    const auto& [dims, rotary, nope, value, q_rank, norm_eps] = c_.latent;
    const std::uint32_t n = layer_.n_heads, each = nope + value;
    PC_TRY(const pc_tensor both, matrix(names_.kv_up, n * each, dims));
    for (std::uint32_t h = 0; h < n; ++h) {
      k_up[h] = tensors_.turned(rows_of(both, h * each, nope));
      v_up[h] = rows_of(both, h * each + nope, value);
    }
    return ok();
  }

  Status per_layer_embedding() {
    PC_TRY(layer_.ple_gate, matrix(names_.ple_gate, c_.d_ple, c_.d_model));
    PC_TRY(layer_.ple_out, matrix(names_.ple_out, c_.d_model, c_.d_ple));
    PC_TRY(layer_.ple_norm, vector(names_.ple_norm, ".weight", c_.d_model));
    return ok();
  }

  // Keys and values of a layer that attends to another's are in some files, and mean nothing.
  void pass_over_states() {
    for (const std::string_view name : {names_.k, names_.v, names_.k_norm})
      tensors_.pass_over(prefix_ + std::string(name) + ".");
  }

  Status head_norms() {
    if (c_.head_norm == HeadNorm::kNone) return ok();
    const bool all = c_.head_norm == HeadNorm::kAll;
    layer_.norm_rotated = c_.head_norm == HeadNorm::kEachRotated;
    PC_TRY(layer_.q_norm, vector(names_.q_norm, ".weight", all ? q_rows() : layer_.head_dim));
    if (!c_.has_states(index_)) return ok();
    PC_TRY(layer_.k_norm, vector(names_.k_norm, ".weight", all ? kv_rows() : layer_.head_dim));
    return ok();
  }

  // The names of a network.
  struct FfnNames {
    std::string_view gate, up, gate_up, down;
  };

  // The layer's own.
  Status feed_forward(std::uint32_t width) {
    const bool shared = c_.has_mixture(index_);
    const FfnNames names = shared ? FfnNames{names_.shared_gate, names_.shared_up,
                                             names_.shared_gate_up, names_.shared_down}
                                  : FfnNames{names_.gate, names_.up, names_.gate_up, names_.down};
    return network("", names, width, &layer_.ffn);
  }

  Status network(const std::string& prefix, const FfnNames& names, std::uint32_t width,
                 pc_ffn* ffn) {
    const auto full = [&](std::string_view name) { return prefix + std::string(name); };
    if (!names.gate_up.empty()) {
      PC_TRY(const pc_tensor both, matrix(full(names.gate_up), 2 * width, c_.d_model));
      ffn->gate = rows_of(both, 0, width);
      ffn->up = rows_of(both, width, width);
    } else {
      if (c_.gated) {
        PC_CHECK_OK(
            linear(full(names.gate), width, c_.d_model, c_.ffn_bias, &ffn->gate, &ffn->b_gate));
      }
      PC_CHECK_OK(linear(full(names.up), width, c_.d_model, c_.ffn_bias, &ffn->up, &ffn->b_up));
    }
    return linear(full(names.down), c_.d_model, width, c_.ffn_bias, &ffn->down, &ffn->b_down);
  }

  Status mixture() {
    const MixtureConfig& m = c_.mixture;
    pc_mixture& mixture = layer_.mixture;
    mixture.n_experts = m.n_experts;
    mixture.n_used = m.n_used;
    mixture.routing = m.routing;
    mixture.normalised = m.normalised;
    mixture.scale = static_cast<float>(m.scale);
    mixture.router_scale = static_cast<float>(m.router_scale);
    mixture.n_groups = m.n_groups;
    mixture.n_groups_used = m.n_groups_used;
    mixture.group_best = m.group_best;
    PC_TRY(mixture.router, matrix(names_.router, m.n_experts, c_.d_model));
    if (m.router_bias) {
      PC_TRY(mixture.router_bias, vector(names_.router, ".bias", m.n_experts));
    }
    if (m.choice_bias) {
      PC_TRY(mixture.choice_bias,
             tensors_.one_row(prefix_ + std::string(names_.choice_bias), m.n_experts));
    }
    if (m.shared_gated) {
      PC_TRY(mixture.ffn_gate,
             tensors_.one_row(prefix_ + std::string(names_.ffn_gate) + ".weight", c_.d_model));
    }
    if (m.own_norms) {
      PC_TRY(mixture.router_norm, vector(names_.router_norm, "", c_.d_model));
      PC_TRY(mixture.expert_norm, vector(names_.expert_norm, ".weight", c_.d_model));
      PC_TRY(mixture.made_norm, vector(names_.made_norm, ".weight", c_.d_model));
      PC_TRY(mixture.ffn_made_norm, vector(names_.ffn_made_norm, ".weight", c_.d_model));
    }
    if (m.expert_scales) {
      PC_TRY(mixture.expert_scales, vector(names_.expert_scales, "", m.n_experts));
    }
    auto& experts = decoder_->experts.emplace_back(m.n_experts);
    mixture.experts = experts.data();
    return names_.expert_prefix.empty() ? stacked_experts(&experts) : separate_experts(&experts);
  }

  Status separate_experts(std::vector<pc_ffn>* experts) {
    for (std::uint32_t e = 0; e < experts->size(); ++e) {
      const std::string prefix = std::string(names_.expert_prefix) + std::to_string(e) + ".";
      PC_CHECK_OK(network(
          prefix, {names_.expert_gate, names_.expert_up, names_.expert_gate_up, names_.expert_down},
          c_.mixture.d_expert, &(*experts)[e]));
    }
    return ok();
  }

  Status stacked_experts(std::vector<pc_ffn>* experts) {
    const std::uint32_t width = c_.mixture.d_expert;
    const auto stack = [&](std::string_view name, std::uint32_t rows, std::uint32_t cols) {
      return tensors_.stack(prefix_ + std::string(name) + std::string(names_.stack_ending),
                            c_.mixture.n_experts, rows, cols);
    };
    pc_tensor gate{}, up{};
    const bool fused = !names_.expert_gate_up.empty();
    if (fused) {
      PC_TRY(gate, stack(names_.expert_gate_up, 2 * width, c_.d_model));
    } else {
      PC_TRY(gate, stack(names_.expert_gate, width, c_.d_model));
      PC_TRY(up, stack(names_.expert_up, width, c_.d_model));
    }
    PC_TRY(const pc_tensor down, stack(names_.expert_down, c_.d_model, width));
    for (std::uint32_t e = 0; e < experts->size(); ++e) {
      pc_ffn& expert = (*experts)[e];
      expert.gate = rows_of(gate, e * width * (fused ? 2 : 1), width);
      expert.up =
          fused ? rows_of(gate, e * width * 2 + width, width) : rows_of(up, e * width, width);
      expert.down = rows_of(down, e * c_.d_model, c_.d_model);
    }
    return c_.mixture.expert_bias ? stacked_biases(experts) : ok();
  }

  // [n_experts, rows], a row an expert.
  Status stacked_biases(std::vector<pc_ffn>* experts) {
    const auto biases = [&](std::string_view name, std::uint32_t n) {
      return tensors_.matrix(prefix_ + std::string(name) + ".bias", c_.mixture.n_experts, n);
    };
    PC_TRY(const pc_tensor gate, biases(names_.expert_gate, c_.mixture.d_expert));
    PC_TRY(const pc_tensor up, biases(names_.expert_up, c_.mixture.d_expert));
    PC_TRY(const pc_tensor down, biases(names_.expert_down, c_.d_model));
    for (std::uint32_t e = 0; e < experts->size(); ++e) {
      (*experts)[e].b_gate = rows_of(gate, e, 1);
      (*experts)[e].b_up = rows_of(up, e, 1);
      (*experts)[e].b_down = rows_of(down, e, 1);
    }
    return ok();
  }

  static pc_tensor as_vector(pc_tensor column) {
    return {column.data, column.dtype, 1, column.rows};
  }

  const ModelConfig& c_;
  const TensorNames& names_;
  TensorBinder& tensors_;
  std::uint32_t index_;
  Decoder* decoder_;
  std::string prefix_;
  pc_layer layer_{};
};

}  // namespace

Result<Decoder> bind_decoder(const ModelConfig& config, const TensorNames& names,
                             TensorBinder& tensors) {
  const auto weight = [](std::string_view name) { return std::string(name) + ".weight"; };
  Decoder decoder;
  if (!names.optional_base.empty()) tensors.also_as(names.optional_base, "");
  for (const auto& [prefix, other] : names.other_prefixes) tensors.also_as(prefix, other);
  PC_TRY(decoder.embedding,
         tensors.matrix(weight(names.embedding), config.vocab_size, config.d_model));
  if (config.learned_positions) {
    PC_TRY(decoder.position_embedding,
           tensors.matrix(weight(names.positions), config.context_tokens, config.d_model));
  }
  if (config.d_ple != 0) {
    const std::uint32_t width = config.n_layers * config.d_ple;
    PC_TRY(decoder.ple_embedding,
           tensors.matrix(weight(names.ple_embedding), config.vocab_size, width));
    PC_TRY(decoder.ple_projection,
           tensors.matrix(weight(names.ple_projection), width, config.d_model));
    PC_TRY(decoder.ple_norm, tensors.vector(weight(names.ple_projection_norm), config.d_ple));
  }
  for (std::uint32_t i = 0; i < config.n_layers; ++i) {
    PC_TRY(const pc_layer layer, LayerBinder(config, names, tensors, i, &decoder).bind());
    decoder.layers.push_back(layer);
  }
  for (std::uint32_t i = 0; i < config.n_further_layers; ++i)
    tensors.pass_over(std::string(names.layer_prefix) + std::to_string(config.n_layers + i) + ".");
  for (const std::string_view prefix : names.passed_over) tensors.pass_over(std::string(prefix));
  PC_TRY(decoder.final_norm, tensors.vector(weight(names.final_norm), config.d_model));
  if (config.norm_bias) {
    PC_TRY(decoder.final_norm_bias,
           tensors.vector(std::string(names.final_norm) + ".bias", config.d_model));
  }
  if (config.tied_embeddings) {
    decoder.lm_head = decoder.embedding;
    PC_CHECK_OK(tensors.skip_copy(weight(names.head), weight(names.embedding)));
  } else {
    PC_TRY(decoder.lm_head, tensors.matrix(weight(names.head), config.vocab_size, config.d_model));
  }
  return decoder;
}

}  // namespace pc
