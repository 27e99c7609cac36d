// Falcon-H1 (arXiv 2507.22448): attention and Mamba-2 side by side in every layer, both of the same
// input, with factors of what each of their parts makes.
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "runtime/model/families/family.h"
#include "runtime/model/hybrids/hybrid.h"
#include "runtime/model/hybrids/mamba2.h"

namespace pc {
namespace {

constexpr std::uint32_t kValues = 1024;  // of a layer's heads, where the file is silent
constexpr std::array<std::string_view, 1> kHonoured{"embedding_multiplier"};

void set_layers(RecurrentConfig r, ModelConfig* out) {
  r.layers.assign(out->n_layers, true);
  r.beside_attention = true;
  out->recurrent = std::move(r);
}

// n factors; ones where the file is silent.
Result<std::vector<double>> read_factors(JsonView config, std::string_view key, std::size_t n) {
  std::vector<double> factors(n, 1);
  const auto list = config.find(key);
  if (!list) return factors;
  if (!list->is_array() || list->size() != n)
    return list->error(Code::kCorrupt, "is not a list of " + std::to_string(n) + " factors");
  for (std::size_t i = 0; i < n; ++i) {
    PC_TRY(factors[i], list->at(i).number());
    if (!std::isfinite(static_cast<float>(factors[i])))
      return list->at(i).error(Code::kCorrupt, "is not a factor");
  }
  return factors;
}

// Queries, keys and values count by the factor of their input, keys by another.
Status read_attention_factors(JsonView config, bool has_bias, ModelConfig* out) {
  PC_TRY(const double in, config.number_or("attention_in_multiplier", 1));
  PC_TRY(const double made, config.number_or("attention_out_multiplier", 1));
  PC_TRY(const double key, config.number_or("key_multiplier", 1));
  if (has_bias && in != 1)
    return config.error(Code::kUnsupported,
                        "attention_in_multiplier beside attention_bias is not computed");
  out->attn_scale = in * in * key / std::sqrt(static_cast<double>(out->head_dim));
  out->attn_out_scale = in * made;
  return ok();
}

Status read_recurrent_factors(JsonView config, ModelConfig* out) {
  PC_TRY(const double in, config.number_or("ssm_in_multiplier", 1));
  PC_TRY(out->recurrent_out_scale, config.number_or("ssm_out_multiplier", 1));
  PC_TRY(const auto parts, read_factors(config, "ssm_multipliers", 5));
  RecurrentConfig& r = out->recurrent;
  float* const scales[] = {&r.gate_scale, &r.x_scale, &r.k_scale, &r.q_scale, &r.decay_scale};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    *scales[i] = static_cast<float>(in * parts[i]);
    if (!std::isfinite(*scales[i]))
      return config.error(Code::kCorrupt, "ssm_in_multiplier is not a factor");
  }
  return ok();
}

Status read_other_factors(JsonView config, ModelConfig* out) {
  PC_TRY(out->embedding_scale, config.number_or("embedding_multiplier", 1));
  PC_TRY(out->logit_scale, config.number_or("lm_head_multiplier", 1));
  PC_TRY(const auto parts, read_factors(config, "mlp_multipliers", 2));
  out->ffn_gate_scale = parts[0];
  out->ffn_out_scale = parts[1];
  return ok();
}

// Numbers of all heads of a layer.
Result<std::uint32_t> read_values(JsonView config, std::uint32_t d_model) {
  PC_TRY(const bool expands, says_null(config, "mamba_d_ssm"));
  if (!expands) return read_count(config, "mamba_d_ssm", kValues, 1 << 24);
  PC_TRY(const std::uint32_t expand, read_count(config, "mamba_expand", 2, 256));
  return expand * d_model;
}

Status check_heads(JsonView config, const RecurrentConfig& r) {
  const auto dims = config.find("mamba_d_head");
  if (!dims || !dims->is_number()) return ok();  // "auto"
  PC_TRY(const std::int64_t n, dims->integer());
  if (n == r.d_v) return ok();
  return dims->error(Code::kCorrupt, "is not what mamba_n_heads have of the layer each");
}

Status check_plain(JsonView config) {
  PC_TRY(const bool bias, config.boolean_or("projectors_bias", false));
  if (bias)
    return config.error(Code::kUnsupported,
                        "projectors_bias gives projections biases, which are not computed");
  return check_step_limits(config);
}

// Its norm, of what was gated; most of these models have none.
Status read_norm(JsonView config, RecurrentConfig* r) {
  PC_TRY(r->normed, config.boolean_or("mamba_rms_norm", false));
  PC_TRY(const bool before_gate, config.boolean_or("mamba_norm_before_gate", true));
  if (!r->normed || !before_gate) return ok();
  return config.error(Code::kUnsupported,
                      "mamba_norm_before_gate is true: norms are computed behind the gate alone");
}

Status configure(JsonView config, ModelConfig* out) {
  PC_CHECK_OK(check_silu(config, *out));
  PC_CHECK_OK(check_plain(config));
  PC_TRY(const bool bias, config.boolean_or("attention_bias", false));
  out->set_qkv_bias(bias);
  out->o_bias = bias;
  PC_TRY(out->ffn_bias, config.boolean_or("mlp_bias", false));
  PC_TRY(const std::uint32_t n_values, read_values(config, out->d_model));
  PC_TRY(RecurrentConfig r, read_mamba2(config, {}, n_values));
  PC_CHECK_OK(check_heads(config, r));
  PC_CHECK_OK(read_norm(config, &r));
  set_layers(std::move(r), out);
  PC_CHECK_OK(read_attention_factors(config, bias, out));
  PC_CHECK_OK(read_recurrent_factors(config, out));
  return read_other_factors(config, out);
}

TensorNames names(const ModelConfig&) {
  TensorNames names = kLlamaNames;
  names.final_norm = "model.final_layernorm";
  names.ffn_norm = "pre_ff_layernorm";
  names.gate = "feed_forward.gate_proj";
  names.up = "feed_forward.up_proj";
  names.down = "feed_forward.down_proj";
  name_mamba2(&names);
  return names;
}

// Its files have the factors in their weights.
Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  PC_TRY(RecurrentConfig r, read_gguf_mamba2(keys, out->n_layers));
  r.normed = keys.has_tensor("blk.0.ssm_norm.weight");
  set_layers(std::move(r), out);
  return ok();
}

TensorNames names_in_gguf(const ModelConfig& config) {
  TensorNames names = gguf_names(config);
  name_gguf_mamba2(&names);
  names.ffn_norm_ending = "";
  return names;
}

}  // namespace

extern const Family kFalconH1{.name = "falcon-h1",
                              .architecture = "FalconH1ForCausalLM",
                              .fields = {.default_norm_eps = 1e-5, .honoured = kHonoured},
                              .configure = configure,
                              .names = names,
                              .gguf_architecture = "falcon-h1",
                              .configure_gguf = configure_gguf,
                              .gguf_names = names_in_gguf};

}  // namespace pc
