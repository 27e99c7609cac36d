// gpt-oss: biases everywhere, a sink a head, windows in every other layer, and mixtures whose
// experts have a clamped gate. Folders hold experts turned, or in MXFP4 (as published), gates and
// ups by turns.
#include <array>

#include "runtime/model/families/family.h"

namespace pc {
namespace {

constexpr std::uint32_t kWindow = 128, kFullEvery = 2;
constexpr double kGain = 1.702, kLimit = 7;  // PC_ACTIVATION_CLAMPED_SWIGLU
constexpr std::array<std::string_view, 3> kHonoured{"num_local_experts", "num_experts",
                                                    "quantization_config"};

void set_common(ModelConfig* out) {
  out->sinks = true;
  out->activation = PC_ACTIVATION_CLAMPED_SWIGLU;
  out->mixture.normalised = true;
  out->mixture.router_bias = out->mixture.expert_bias = true;
}

Status check_number(JsonView config, std::string_view key, double only) {
  PC_TRY(const double number, config.number_or(key, only));
  if (number == only) return ok();
  return config.error(Code::kUnsupported, std::string(key) + " is " + std::to_string(number) +
                                              "; only " + std::to_string(only) + " is computed");
}

// Experts in MXFP4 are found by their tensors' names; nothing else is quantised in such a folder.
Status check_quantization(JsonView config) {
  const auto said = config.find("quantization_config");
  if (!said) return ok();
  PC_TRY(const std::string method, said->string_or("quant_method", ""));
  if (method == "mxfp4") return ok();
  return said->error(Code::kUnsupported,
                     "quant_method \"" + method + "\" is not supported; mxfp4 is");
}

Status configure(JsonView config, ModelConfig* out) {
  PC_CHECK_OK(check_quantization(config));
  PC_CHECK_OK(check_number(config, "swiglu_alpha", kGain));
  PC_CHECK_OK(check_number(config, "swiglu_limit", kLimit));
  PC_TRY(const bool bias, config.boolean_or("attention_bias", true));
  out->set_qkv_bias(bias);
  out->o_bias = bias;
  PC_TRY(const std::uint32_t window, read_window(config, kWindow));
  PC_TRY(const auto listed, read_sliding_layers(config, out->n_layers));
  const std::vector<bool> sliding = listed ? *listed : sliding_but_every(out->n_layers, kFullEvery);
  for (std::uint32_t i = 0; i < out->n_layers; ++i) out->windows[i] = sliding[i] ? window : 0;
  PC_TRY(out->mixture,
         read_mixture_config(config, {.d_expert = "intermediate_size"}, out->n_layers));
  set_common(out);
  return ok();
}

TensorNames names(const ModelConfig&) {
  TensorNames names = kLlamaNames;
  names.sinks = "self_attn.sinks";
  names.router = "mlp.router";
  names.expert_prefix = "";
  names.expert_gate_up = "mlp.experts.gate_up_proj";
  names.expert_down = "mlp.experts.down_proj";
  names.stack_ending = "";
  names.bias_ending = "_bias";
  names.stacks = Stacks::kTurned;
  names.gate_up_rows = RowOrder::kPaired;
  return names;
}

Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  PC_TRY(const std::uint32_t window, read_gguf_window(keys, kWindow));
  for (std::uint32_t i = 0; i < out->n_layers; i += kFullEvery) out->windows[i] = window;
  // The reference interpolates between frequencies without rounding them to whole dimensions.
  out->ropes[0].truncate = false;
  PC_TRY(out->mixture, read_gguf_mixture(keys, {.normalised = true}, out->n_layers, out->d_ffn));
  set_common(out);
  return ok();
}

// The norm before the feed-forward half has the name of another one.
TensorNames names_gguf(const ModelConfig&) {
  TensorNames names = kGgufNames;
  names.ffn_norm = "post_attention_norm";
  return names;
}

}  // namespace

extern const Family kGptOss{.name = "gpt-oss",
                            .architecture = "GptOssForCausalLM",
                            .fields = {.default_norm_eps = 1e-5,
                                       .default_theta = 150000,
                                       .default_head_dim = 64,
                                       .honoured = kHonoured},
                            .configure = configure,
                            .names = names,
                            .gguf_architecture = "gpt-oss",
                            .configure_gguf = configure_gguf,
                            .gguf_names = names_gguf};

}  // namespace pc
