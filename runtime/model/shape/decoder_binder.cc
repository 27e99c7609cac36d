#include "runtime/model/shape/decoder_binder.h"

#include <cmath>
#include <span>
#include <string>

#include "runtime/model/shape/layer_tensors.h"
#include "runtime/model/shape/mixture_binder.h"
#include "runtime/model/shape/recurrent_binder.h"

namespace pc {

namespace {

// Everything of one layer.
class LayerBinder {
 public:
  // decoder: where lists of the layer's are kept.
  LayerBinder(const ModelConfig& config, const TensorNames& names, TensorBinder& tensors,
              std::uint32_t index, Decoder* decoder)
      : c_(config),
        names_(names),
        tensors_(names, tensors, index),
        index_(index),
        decoder_(decoder) {
    const HeadsConfig heads = config.heads(index);
    layer_.n_heads = heads.n_heads;
    layer_.n_kv_heads = heads.n_kv_heads;
    layer_.head_dim = heads.head_dim;
    layer_.attn_scale = static_cast<float>(
        config.attn_scale.value_or(1 / std::sqrt(static_cast<double>(heads.head_dim))));
    layer_.states = states_of(index);
    layer_.q_gated = config.q_gated && config.attends(index);
    layer_.norm_values = config.norm_values;
    layer_.window = config.windows[index];
    layer_.rope = config.layer_ropes[index];
  }

  Result<pc_layer> bind() {
    const bool recurs = c_.is_recurrent(index_), attends = c_.attends(index_);
    if (c_.pre_norms && (recurs || attends))
      PC_CHECK_OK(norm(names_.attn_norm, ".weight", &layer_.attn_norm, &layer_.attn_norm_bias));
    if (recurs) PC_CHECK_OK(bind_recurrent(c_, tensors_, &layer_.recurrent));
    if (attends) PC_CHECK_OK(attention());
    const bool has_network = c_.has_mixture(index_) || c_.d_own_ffn(index_) != 0;
    if (c_.pre_norms && has_network && (!c_.parallel || c_.parallel_norms))
      PC_CHECK_OK(
          norm(names_.ffn_norm, names_.ffn_norm_ending, &layer_.ffn_norm, &layer_.ffn_norm_bias));
    if (c_.has_mixture(index_))
      PC_CHECK_OK(bind_mixture(c_, tensors_, &decoder_->experts, &layer_.mixture));
    if (c_.d_own_ffn(index_) != 0) PC_CHECK_OK(feed_forward(c_.d_own_ffn(index_)));
    if (c_.post_norms) {
      PC_TRY(layer_.attn_post_norm, tensors_.vector(names_.attn_post_norm, ".weight", c_.d_model));
      PC_TRY(layer_.ffn_post_norm, tensors_.vector(names_.ffn_post_norm, ".weight", c_.d_model));
    }
    if (c_.d_ple != 0) PC_CHECK_OK(per_layer_embedding());
    if (c_.output_scales) {
      PC_TRY(layer_.output_scale, tensors_.vector(names_.output_scale, "", 1));
    }
    return layer_;
  }

 private:
  Status attention() {
    const bool latent = c_.latent.dims != 0;
    PC_CHECK_OK(latent ? latent_qkv() : names_.qkv.empty() ? separate_qkv() : fused_qkv());
    PC_CHECK_OK(head_norms());
    if (c_.sinks) {
      PC_TRY(layer_.sinks, tensors_.vector(names_.sinks, "", layer_.n_heads));
    }
    const std::uint32_t o_cols = latent ? layer_.n_heads * c_.latent.value : q_rows();
    return tensors_.linear(names_.o, c_.d_model, o_cols, c_.o_bias, &layer_.wo, &layer_.bo);
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

  Status norm(std::string_view name, std::string_view ending, pc_tensor* weight, pc_tensor* bias) {
    PC_TRY(*weight, tensors_.vector(name, ending, c_.d_model));
    if (!c_.norm_bias) return ok();
    PC_TRY(*bias, tensors_.vector(name, ".bias", c_.d_model));
    return ok();
  }

  Status separate_qkv() {
    PC_CHECK_OK(tensors_.linear(names_.q, (c_.q_gated ? 2 : 1) * q_rows(), c_.d_model, c_.q_bias,
                                &layer_.wq, &layer_.bq));
    if (!c_.has_states(index_)) {
      pass_over_states();
      return ok();
    }
    PC_CHECK_OK(
        tensors_.linear(names_.k, kv_rows(), c_.d_model, c_.k_bias, &layer_.wk, &layer_.bk));
    if (!c_.keys_as_values.empty() && c_.keys_as_values[index_]) return ok();
    return tensors_.linear(names_.v, kv_rows(), c_.d_model, c_.v_bias, &layer_.wv, &layer_.bv);
  }

  Status fused_qkv() {
    pc_tensor weight{}, bias{};
    PC_CHECK_OK(tensors_.linear(names_.qkv, q_rows() + 2 * kv_rows(), c_.d_model, c_.q_bias,
                                &weight, &bias));
    if (names_.qkv_by_group) {
      const std::uint32_t group = layer_.n_heads / layer_.n_kv_heads;
      PC_TRY(weight,
             tensors_.binder().ungrouped(weight, layer_.n_kv_heads, group, layer_.head_dim));
      if (bias.data) {  // a column of as many rows
        bias.rows = bias.cols;
        bias.cols = 1;
        PC_TRY(bias, tensors_.binder().ungrouped(bias, layer_.n_kv_heads, group, layer_.head_dim));
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
      PC_TRY(latent.q_down, tensors_.matrix(names_.q_down, q_rank, c_.d_model));
      PC_TRY(latent.q_norm, tensors_.vector(names_.q_down_norm, ".weight", q_rank));
    }
    PC_TRY(layer_.wq,
           tensors_.matrix(q_rank != 0 ? names_.q_up : names_.q, layer_.n_heads * (nope + rotary),
                           q_rank != 0 ? q_rank : c_.d_model));
    PC_TRY(layer_.wk, tensors_.matrix(names_.kv_down, dims + rotary, c_.d_model));
    PC_TRY(latent.norm, tensors_.vector(names_.latent_norm, ".weight", dims));
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
           tensors_.binder().stack(tensors_.full_name(names_.k_up, ".weight"), n, dims, nope));
    PC_TRY(const pc_tensor v,
           tensors_.binder().stack(tensors_.full_name(names_.v_up, ".weight"), n, value, dims));
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
    PC_TRY(const pc_tensor both, tensors_.matrix(names_.kv_up, n * each, dims));
    for (std::uint32_t h = 0; h < n; ++h) {
      k_up[h] = tensors_.binder().turned(rows_of(both, h * each, nope));
      v_up[h] = rows_of(both, h * each + nope, value);
    }
    return ok();
  }

  Status per_layer_embedding() {
    PC_TRY(layer_.ple_gate, tensors_.matrix(names_.ple_gate, c_.d_ple, c_.d_model));
    PC_TRY(layer_.ple_out, tensors_.matrix(names_.ple_out, c_.d_model, c_.d_ple));
    PC_TRY(layer_.ple_norm, tensors_.vector(names_.ple_norm, ".weight", c_.d_model));
    return ok();
  }

  // Keys and values of a layer that attends to another's are in some files, and mean nothing.
  void pass_over_states() {
    for (const std::string_view name : {names_.k, names_.v, names_.k_norm})
      tensors_.binder().pass_over(tensors_.full_name(name, "."));
  }

  Status head_norms() {
    if (c_.head_norm == HeadNorm::kNone) return ok();
    const bool all = c_.head_norm == HeadNorm::kAll;
    layer_.norm_rotated = c_.head_norm == HeadNorm::kEachRotated;
    PC_TRY(layer_.q_norm,
           tensors_.vector(names_.q_norm, ".weight", all ? q_rows() : layer_.head_dim));
    if (!c_.has_states(index_)) return ok();
    PC_TRY(layer_.k_norm,
           tensors_.vector(names_.k_norm, ".weight", all ? kv_rows() : layer_.head_dim));
    return ok();
  }

  // The layer's own.
  Status feed_forward(std::uint32_t width) {
    const bool shared = c_.has_mixture(index_);
    const LayerTensors::FfnNames names =
        shared ? LayerTensors::FfnNames{names_.shared_gate, names_.shared_up, names_.shared_gate_up,
                                        names_.shared_down}
               : LayerTensors::FfnNames{names_.gate, names_.up, names_.gate_up, names_.down};
    return tensors_.network(c_, "", names, width, &layer_.ffn);
  }

  static pc_tensor as_vector(pc_tensor column) {
    return {column.data, column.dtype, 1, column.rows};
  }

  const ModelConfig& c_;
  const TensorNames& names_;
  LayerTensors tensors_;
  std::uint32_t index_;
  Decoder* decoder_;
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
