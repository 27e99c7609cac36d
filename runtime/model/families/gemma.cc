// Gemma 2: capped scores and logits, every second layer with a window, norms
// before and behind both halves of a block. And what Gemma 3 and 4 have of it.
#include "runtime/model/families/gemma.h"

#include <array>
#include <cmath>

namespace pc {
namespace {

constexpr std::array<std::string_view, 2> kHonoured{"attn_logit_softcapping",
                                                    "final_logit_softcapping"};
constexpr std::uint32_t kDefaultWindow = 4096;
constexpr std::uint32_t kMaxPattern = 4096;  // layers that a model may have

void slide(std::uint32_t window, std::uint32_t full_every, ModelConfig* out) {
  for (std::uint32_t i = 0; i < out->n_layers; ++i)
    out->windows[i] = (i + 1) % full_every == 0 ? 0 : window;
}

// 0, which is none, where the file says null.
Result<double> read_cap(JsonView config, std::string_view key, double absent) {
  PC_TRY(const bool none, says_null(config, key));
  if (none) return 0.0;
  return config.number_or(key, absent);
}

}  // namespace

const std::span<const std::string_view> kGemmaHonoured = kHonoured;

void set_gemma(ModelConfig* out) {
  out->post_norms = true;
  out->activation = PC_ACTIVATION_GELU_TANH;
  out->embedding_scale = std::sqrt(static_cast<double>(out->d_model));
}

Status configure_gemma(JsonView config, std::uint32_t full_every, double attn_softcap,
                       double logit_softcap, ModelConfig* out) {
  set_gemma(out);
  out->norm_offset = 1;
  PC_TRY(const bool bias, config.boolean_or("attention_bias", false));
  out->set_qkv_bias(bias);
  out->o_bias = bias;
  PC_TRY(const double scalar, config.number_or("query_pre_attn_scalar", 256));
  if (!(scalar > 0)) return config.error(Code::kCorrupt, "query_pre_attn_scalar is not positive");
  out->attn_scale = 1 / std::sqrt(scalar);
  PC_TRY(out->attn_softcap, read_cap(config, "attn_logit_softcapping", attn_softcap));
  PC_TRY(out->logit_softcap, read_cap(config, "final_logit_softcapping", logit_softcap));
  PC_TRY(const std::uint32_t window, read_window(config, kDefaultWindow));
  PC_TRY(const std::int64_t pattern, config.integer_or("sliding_window_pattern", full_every));
  if (pattern < 1 || pattern > kMaxPattern) {
    return config.error(Code::kCorrupt, "sliding_window_pattern is not between 1 and " +
                                            std::to_string(kMaxPattern));
  }
  PC_TRY(const auto sliding, read_sliding_layers(config, out->n_layers));
  slide(window, static_cast<std::uint32_t>(pattern), out);
  for (std::uint32_t i = 0; sliding && i < out->n_layers; ++i)
    out->windows[i] = (*sliding)[i] ? window : 0;
  return ok();
}

Status configure_gemma_gguf(const GgufKeys& keys, std::uint32_t full_every,
                            std::uint32_t layers_of_largest, const GemmaDefaults& absent,
                            ModelConfig* out) {
  set_gemma(out);
  PC_TRY(out->attn_softcap, keys.number_or("attn_logit_softcapping", absent.attn_softcap));
  PC_TRY(out->logit_softcap, keys.number_or("final_logit_softcapping", absent.logit_softcap));
  if (out->n_layers == layers_of_largest) {
    out->attn_scale = 1 / std::sqrt(static_cast<double>(out->d_model) / out->n_heads);
  }
  PC_TRY(const std::uint32_t window, read_gguf_window(keys, absent.window));
  PC_TRY(const std::uint32_t pattern,
         keys.extent_or("attention.sliding_window_pattern", kMaxPattern, full_every));
  slide(window, pattern, out);
  return ok();
}

TensorNames gemma_names(const ModelConfig&) {
  TensorNames names = kLlamaNames;
  names.ffn_norm = "pre_feedforward_layernorm";
  return names;
}

namespace {

constexpr std::uint32_t kFullEvery = 2;
constexpr std::uint32_t kLayersOf27B = 46;

// Converters of the first days did not write them.
constexpr GemmaDefaults kAbsent{.attn_softcap = 50, .logit_softcap = 30, .window = 4096};

Status configure_gemma2(JsonView config, ModelConfig* out) {
  return configure_gemma(config, kFullEvery, kAbsent.attn_softcap, kAbsent.logit_softcap, out);
}

Status configure_gemma2_gguf(const GgufKeys& keys, ModelConfig* out) {
  return configure_gemma_gguf(keys, kFullEvery, kLayersOf27B, kAbsent, out);
}

}  // namespace

extern const Family kGemma2{.name = "gemma2",
                            .architecture = "Gemma2ForCausalLM",
                            .fields = {.activation = "hidden_activation",
                                       .default_head_dim = 256,
                                       .default_activation = PC_ACTIVATION_GELU_TANH,
                                       .default_tied = true,
                                       .honoured = kGemmaHonoured},
                            .configure = configure_gemma2,
                            .names = gemma_names,
                            .gguf_architecture = "gemma2",
                            .configure_gguf = configure_gemma2_gguf,
                            .gguf_names = gguf_names};

}  // namespace pc
