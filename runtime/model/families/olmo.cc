// OLMo 2: Llama with norms behind the halves of a block instead of before them,
// and over all heads' queries and keys at once. OLMo 3: the same with windows in three of four
// layers, and YaRN in the others alone. OLMoE: norms before the halves, and a mixture of experts in
// every layer.
#include <array>
#include <utility>

#include "runtime/model/families/family.h"

namespace pc {
namespace {

// What OLMo 3's reference assumes where config.json is silent.
constexpr std::uint32_t kDefaultWindow = 4096, kFullEvery = 4;
constexpr double kDefaultTheta = 500000;

constexpr std::array<std::string_view, 3> kMoeHonoured{"num_experts", "num_local_experts",
                                                       "clip_qkv"};
constexpr MixtureFields kMoeFields{.d_expert = "intermediate_size", .normalised = "norm_topk_prob"};

void set_common(ModelConfig* out) {
  out->pre_norms = false;
  out->post_norms = true;
  out->head_norm = HeadNorm::kAll;
}

Status configure(JsonView config, ModelConfig* out) {
  set_common(out);
  PC_TRY(const bool bias, config.boolean_or("attention_bias", false));
  out->set_qkv_bias(bias);
  out->o_bias = bias;
  return ok();
}

void slide(const std::vector<bool>& layers, std::uint32_t window, ModelConfig* out) {
  for (std::uint32_t i = 0; i < out->n_layers; ++i) out->windows[i] = layers[i] ? window : 0;
}

Status configure_olmo3(JsonView config, ModelConfig* out) {
  PC_CHECK_OK(configure(config, out));
  PC_TRY(const std::uint32_t window, read_window(config, kDefaultWindow));
  if (window == 0) return config.error(Code::kUnsupported, "sliding_window is null");
  PC_TRY(const auto listed, read_sliding_layers(config, out->n_layers));
  const std::uint32_t context = out->context_tokens;
  PC_TRY(RopeConfig full, read_rope_config(config, context, kDefaultTheta, "full_attention"));
  RopeConfig sliding;
  if (config.find("rope_parameters")) {
    PC_TRY(sliding, read_rope_config(config, context, kDefaultTheta, "sliding_attention"));
  } else {  // rope_scaling is that of full layers
    PC_TRY(sliding.theta, config.number_or("rope_theta", kDefaultTheta));
  }
  slide(listed.value_or(sliding_but_every(out->n_layers, kFullEvery)), window, out);
  choose_ropes(std::move(full), std::move(sliding), out);
  return ok();
}

Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  set_common(out);
  PC_TRY(const std::uint32_t window, read_gguf_window(keys));
  if (window == 0) return ok();
  PC_TRY(const auto layers, read_gguf_sliding_layers(keys, out->n_layers, kFullEvery));
  RopeConfig sliding;
  PC_TRY(sliding.theta, keys.number_or("rope.freq_base_swa", out->ropes[0].theta));
  slide(layers, window, out);
  choose_ropes(out->ropes[0], std::move(sliding), out);
  return ok();
}

Status configure_moe(JsonView config, ModelConfig* out) {
  out->head_norm = HeadNorm::kAll;
  PC_TRY(const bool bias, config.boolean_or("attention_bias", false));
  out->set_qkv_bias(bias);
  out->o_bias = bias;
  if (config.find("clip_qkv")) {
    return config.error(Code::kUnsupported,
                        "clip_qkv cuts queries and keys behind their norms, which is not computed");
  }
  PC_TRY(out->mixture, read_mixture_config(config, kMoeFields, out->n_layers));
  return ok();
}

Status configure_moe_gguf(const GgufKeys& keys, ModelConfig* out) {
  out->head_norm = HeadNorm::kAll;
  PC_TRY(out->mixture, read_gguf_mixture(keys, {.normalised = false}, out->n_layers, out->d_ffn));
  return ok();
}

}  // namespace

extern const Family kOlmo2{.name = "olmo2",
                           .architecture = "Olmo2ForCausalLM",
                           .fields = {.default_norm_eps = 1e-5},
                           .configure = configure,
                           .names = llama_names,
                           .gguf_architecture = "olmo2",
                           .configure_gguf = configure_gguf,
                           .gguf_names = gguf_names};

extern const Family kOlmo3{.name = "olmo3",
                           .architecture = "Olmo3ForCausalLM",
                           .fields = {.default_norm_eps = 1e-5, .one_rope = false},
                           .configure = configure_olmo3,
                           .names = llama_names,
                           .gguf_architecture = ""};

extern const Family kOlmoe{.name = "olmoe",
                           .architecture = "OlmoeForCausalLM",
                           .fields = {.default_norm_eps = 1e-5, .honoured = kMoeHonoured},
                           .configure = configure_moe,
                           .names = llama_names,
                           .gguf_architecture = "olmoe",
                           .configure_gguf = configure_moe_gguf,
                           .gguf_names = gguf_names};

}  // namespace pc
