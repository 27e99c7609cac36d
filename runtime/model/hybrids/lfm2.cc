// LFM2 (Liquid AI): gated short convolutions in most layers, attention in the others, with norms of
// each head's query and key; networks, or mixtures that are chosen by sigmoids and a bias.
#include "runtime/model/families/family.h"
#include "runtime/model/hybrids/hybrid.h"

namespace pc {
namespace {

constexpr std::uint32_t kDefaultTaps = 3;
constexpr std::uint32_t kDenseLayers = 2;  // before mixtures, where the file is silent
constexpr MixtureFields kMixture{.n_dense = "num_dense_layers", .scale = "routed_scaling_factor"};
constexpr std::uint32_t kMostMultiple = 1u << 16;
constexpr std::array<std::string_view, 1> kHonoured{"full_attn_idxs"};
constexpr std::array<std::string_view, 2> kMoeHonoured{"num_experts", "num_local_experts"};

void convolve(std::vector<bool> layers, std::uint32_t n_taps, ModelConfig* out) {
  out->recurrent = {.kind = PC_RECURRENCE_CONVOLUTION,
                    .n_channels = out->d_model,
                    .n_taps = n_taps,
                    .layers = std::move(layers)};
  out->head_norm = HeadNorm::kEach;
}

// "layer_types", or the numbers of the layers that attend; all do where neither is said.
Result<std::vector<bool>> read_convolutions(JsonView config, std::uint32_t n_layers) {
  std::vector<bool> layers(n_layers, false);
  if (const auto types = config.find("layer_types"))
    return read_layer_kinds(*types, {"conv", "full_attention"}, n_layers);
  const auto attending = config.find("full_attn_idxs");
  if (!attending) return layers;
  if (!attending->is_array()) return attending->error(Code::kCorrupt, "is not a list of layers");
  layers.assign(n_layers, true);
  for (std::size_t i = 0; i < attending->size(); ++i) {
    PC_TRY(const std::int64_t layer, attending->at(i).integer_in(0, n_layers - 1));
    layers[static_cast<std::size_t>(layer)] = false;
  }
  return layers;
}

// The width that the file says is two thirds of what it says, rounded up to a multiple, unless it
// says that it is meant as it stands.
Status adjust_width(JsonView config, ModelConfig* out) {
  PC_TRY(const std::int64_t older, config.integer_or("block_ff_dim", out->d_ffn));
  if (older < 1 || older > (1 << 24))
    return config.error(Code::kUnsupported, "block_ff_dim is " + std::to_string(older));
  out->d_ffn = static_cast<std::uint32_t>(older);
  PC_TRY(const bool adjusts, config.boolean_or("block_auto_adjust_ff_dim", true));
  if (!adjusts) return ok();
  auto width = static_cast<std::uint32_t>(2 * std::uint64_t{out->d_ffn} / 3);
  PC_TRY(const bool is_plain, says_null(config, "block_ffn_dim_multiplier"));
  if (is_plain) {
    out->d_ffn = width;
    return ok();
  }
  PC_TRY(const double factor, config.number_or("block_ffn_dim_multiplier", 1));
  if (!(factor > 0 && factor <= 16))
    return config.error(Code::kUnsupported, "block_ffn_dim_multiplier is out of range");
  width = static_cast<std::uint32_t>(factor * width);
  PC_TRY(const std::int64_t multiple, config.integer_or("block_multiple_of", 256));
  if (multiple < 1 || multiple > kMostMultiple)
    return config.error(Code::kUnsupported, "block_multiple_of is " + std::to_string(multiple));
  const auto unit = static_cast<std::uint32_t>(multiple);
  out->d_ffn = (width + unit - 1) / unit * unit;
  return ok();
}

// What both kinds have alike.
Status configure_layers(JsonView config, ModelConfig* out) {
  PC_TRY(const bool bias, config.boolean_or("conv_bias", false));
  if (bias)
    return config.error(Code::kUnsupported,
                        "conv_bias gives convolutions biases, which are not computed");
  PC_TRY(out->tied_embeddings, config.boolean_or("tie_embedding", out->tied_embeddings));
  PC_TRY(const std::int64_t n_taps, config.integer_or("conv_L_cache", kDefaultTaps));
  if (n_taps < 2 || n_taps > 64)
    return config.error(Code::kUnsupported, "conv_L_cache is " + std::to_string(n_taps));
  PC_TRY(auto layers, read_convolutions(config, out->n_layers));
  convolve(std::move(layers), static_cast<std::uint32_t>(n_taps), out);
  return ok();
}

Status configure(JsonView config, ModelConfig* out) {
  PC_CHECK_OK(adjust_width(config, out));
  return configure_layers(config, out);
}

Status configure_moe(JsonView config, ModelConfig* out) {
  PC_CHECK_OK(configure_layers(config, out));
  PC_TRY(out->mixture, read_mixture_config(config, kMixture, out->n_layers));
  for (std::uint32_t i = 0; !config.find(kMixture.n_dense) && i < out->n_layers; ++i)
    out->mixture.layers[i] = i >= kDenseLayers;
  PC_TRY(out->mixture.normalised, config.boolean_or("norm_topk_prob", true));
  PC_TRY(out->mixture.choice_bias, config.boolean_or("use_expert_bias", true));
  out->mixture.routing = PC_ROUTING_SIGMOID;
  return ok();
}

TensorNames names(const ModelConfig&) {
  TensorNames names = kLlamaNames;
  names.final_norm = "model.embedding_norm";
  names.attn_norm = "operator_norm";
  names.ffn_norm = "ffn_norm";
  names.q_norm = "self_attn.q_layernorm";
  names.k_norm = "self_attn.k_layernorm";
  names.o = "self_attn.out_proj";
  names.recurrent_in = "conv.in_proj";
  names.conv = "conv.conv";
  names.recurrent_out = "conv.out_proj";
  names.gate = "feed_forward.w1";
  names.up = "feed_forward.w3";
  names.down = "feed_forward.w2";
  names.router = "feed_forward.gate";
  names.choice_bias = "feed_forward.expert_bias";
  names.expert_prefix = "feed_forward.experts.";
  names.expert_gate = "w1";
  names.expert_up = "w3";
  names.expert_down = "w2";
  return names;
}

// Layers without heads for keys and values are convolutions.
Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  PC_TRY(const std::uint32_t n_taps, keys.extent("shortconv.l_cache", 64));
  std::vector<bool> layers = std::move(out->recurrent.layers);
  if (layers.empty()) layers.assign(out->n_layers, false);
  convolve(std::move(layers), n_taps, out);
  PC_TRY(const std::uint32_t window, read_gguf_window(keys, 0));
  for (std::uint32_t i = 0; i < out->n_layers; ++i)
    if (!out->is_recurrent(i)) out->windows[i] = window;
  return ok();
}

Status configure_moe_gguf(const GgufKeys& keys, ModelConfig* out) {
  PC_CHECK_OK(configure_gguf(keys, out));
  PC_TRY(out->mixture, read_gguf_mixture(keys, {.routing = PC_ROUTING_SIGMOID, .normalised = true},
                                         out->n_layers, out->d_ffn));
  out->mixture.choice_bias = true;
  return ok();
}

TensorNames names_in_gguf(const ModelConfig&) {
  TensorNames names = kGgufNames;
  names.final_norm = "token_embd_norm";
  names.recurrent_in = "shortconv.in_proj";
  names.conv = "shortconv.conv";
  names.recurrent_out = "shortconv.out_proj";
  return names;
}

}  // namespace

extern const Family kLfm2{.name = "lfm2",
                          .architecture = "Lfm2ForCausalLM",
                          .other_architecture = "LFM2ForCausalLM",
                          .fields = {.d_ffn_optional = true,
                                     .norm_eps = "norm_eps",
                                     .default_norm_eps = 1e-5,
                                     .default_theta = 1000000,
                                     .default_tied = true,
                                     .honoured = kHonoured},
                          .configure = configure,
                          .names = names,
                          .gguf_architecture = "lfm2",
                          .configure_gguf = configure_gguf,
                          .gguf_names = names_in_gguf};

extern const Family kLfm2Moe{.name = "lfm2moe",
                             .architecture = "Lfm2MoeForCausalLM",
                             .fields = {.norm_eps = "norm_eps",
                                        .default_norm_eps = 1e-5,
                                        .default_theta = 1000000,
                                        .default_tied = true,
                                        .honoured = kMoeHonoured},
                             .configure = configure_moe,
                             .names = names,
                             .gguf_architecture = "lfm2moe",
                             .configure_gguf = configure_moe_gguf,
                             .gguf_names = names_in_gguf};

}  // namespace pc
