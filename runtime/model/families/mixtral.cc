// Mixtral: Mistral with a mixture of experts in every layer. Its GGUF files have the architecture
// "llama".
#include <array>

#include "runtime/model/families/family.h"

namespace pc {
namespace {

constexpr std::array<std::string_view, 2> kHonoured{"num_experts", "num_local_experts"};
constexpr MixtureFields kFields{.d_expert = "intermediate_size"};

Status configure(JsonView config, ModelConfig* out) {
  PC_TRY(out->mixture, read_mixture_config(config, kFields, out->n_layers));
  out->mixture.normalised = true;
  PC_TRY(const std::uint32_t window, read_window(config, 0));
  out->windows.assign(out->n_layers, window);
  return ok();
}

TensorNames names(const ModelConfig&) {
  TensorNames names = kLlamaNames;
  names.router = "block_sparse_moe.gate";
  names.expert_prefix = "block_sparse_moe.experts.";
  names.expert_gate = "w1";
  names.expert_up = "w3";
  names.expert_down = "w2";
  return names;
}

}  // namespace

extern const Family kMixtral{
    .name = "mixtral",
    .architecture = "MixtralForCausalLM",
    .fields = {.default_norm_eps = 1e-5, .default_theta = 1000000, .honoured = kHonoured},
    .configure = configure,
    .names = names,
    .gguf_architecture = ""};

}  // namespace pc
