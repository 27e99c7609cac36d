// Mistral 7B and kin: Llama with one sliding window for all layers, or none. In
// GGUF it is written as a Llama, without the window. Mixtral: with a mixture of experts in every
// layer.
#include <array>

#include "runtime/model/families/family.h"

namespace pc {
namespace {

constexpr std::uint32_t kDefaultWindow = 4096;  // of the first release, whose files may not say it

constexpr std::array<std::string_view, 2> kHonoured{"num_experts", "num_local_experts"};
constexpr MixtureFields kMixtureFields{.d_expert = "intermediate_size"};

Status configure(JsonView config, ModelConfig* out) {
  PC_TRY(const std::uint32_t window, read_window(config, kDefaultWindow));
  out->windows.assign(out->n_layers, window);
  PC_TRY(const auto sliding, read_sliding_layers(config, out->n_layers));
  if (!sliding) return ok();
  for (const bool layer : *sliding) {
    if (layer != (window != 0)) {
      return config.error(Code::kUnsupported,
                          "layer_types and sliding_window of MistralForCausalLM disagree");
    }
  }
  return ok();
}

Status configure_mixture(JsonView config, ModelConfig* out) {
  PC_TRY(out->mixture, read_mixture_config(config, kMixtureFields, out->n_layers));
  out->mixture.normalised = true;
  PC_TRY(const std::uint32_t window, read_window(config, 0));
  out->windows.assign(out->n_layers, window);
  return ok();
}

TensorNames mixture_names(const ModelConfig&) {
  TensorNames names = kLlamaNames;
  names.router = "block_sparse_moe.gate";
  names.expert_prefix = "block_sparse_moe.experts.";
  names.expert_gate = "w1";
  names.expert_up = "w3";
  names.expert_down = "w2";
  return names;
}

}  // namespace

extern const Family kMistral{.name = "mistral",
                             .architecture = "MistralForCausalLM",
                             .fields = {},
                             .configure = configure,
                             .names = llama_names,
                             .gguf_architecture = ""};

extern const Family kMixtral{
    .name = "mixtral",
    .architecture = "MixtralForCausalLM",
    .fields = {.default_norm_eps = 1e-5, .default_theta = 1000000, .honoured = kHonoured},
    .configure = configure_mixture,
    .names = mixture_names,
    .gguf_architecture = ""};

}  // namespace pc
