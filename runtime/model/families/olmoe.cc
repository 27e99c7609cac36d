// OLMoE: Llama with norms over all heads' queries and keys at once, and a mixture of experts in
// every layer.
#include <array>

#include "runtime/model/families/family.h"

namespace pc {
namespace {

constexpr std::array<std::string_view, 3> kHonoured{"num_experts", "num_local_experts", "clip_qkv"};
constexpr MixtureFields kFields{.d_expert = "intermediate_size", .normalised = "norm_topk_prob"};

Status configure(JsonView config, ModelConfig* out) {
  out->head_norm = HeadNorm::kAll;
  PC_TRY(const bool bias, config.boolean_or("attention_bias", false));
  out->set_qkv_bias(bias);
  out->o_bias = bias;
  if (config.find("clip_qkv")) {
    return config.error(Code::kUnsupported,
                        "clip_qkv cuts queries and keys behind their norms, which is not computed");
  }
  PC_TRY(out->mixture, read_mixture_config(config, kFields, out->n_layers));
  return ok();
}

Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  out->head_norm = HeadNorm::kAll;
  PC_TRY(out->mixture, read_gguf_mixture(keys, {.normalised = false}, out->n_layers, out->d_ffn));
  return ok();
}

}  // namespace

extern const Family kOlmoe{.name = "olmoe",
                           .architecture = "OlmoeForCausalLM",
                           .fields = {.default_norm_eps = 1e-5, .honoured = kHonoured},
                           .configure = configure,
                           .names = llama_names,
                           .gguf_architecture = "olmoe",
                           .configure_gguf = configure_gguf,
                           .gguf_names = gguf_names};

}  // namespace pc
