// Qwen2 and Qwen3 with mixtures of experts: Qwen2's beside a shared network that counts by a gate,
// Qwen3's (Qwen3-30B-A3B, Qwen3-Coder) alone; also the text of Qwen3-VL's, whose folders hold
// experts turned.
#include <array>

#include "runtime/model/families/family.h"
#include "runtime/model/families/qwen_window.h"

namespace pc {
namespace {

constexpr std::array<std::string_view, 2> kHonoured{"num_experts", "num_local_experts"};
constexpr MixtureFields kFields{.normalised = "norm_topk_prob",
                                .sparse_step = "decoder_sparse_step",
                                .dense_layers = "mlp_only_layers"};

Status configure_qwen3(JsonView config, ModelConfig* out) {
  out->head_norm = HeadNorm::kEach;
  PC_TRY(const bool bias, config.boolean_or("attention_bias", false));
  out->set_qkv_bias(bias);
  out->o_bias = bias;
  PC_TRY(out->mixture, read_mixture_config(config, kFields, out->n_layers));
  return configure_qwen_window(config, out);
}

// The reference always makes the weights sum to 1; so it does in GGUF.
Status configure_qwen3_vl(JsonView config, ModelConfig* out) {
  PC_CHECK_OK(configure_qwen3(config, out));
  out->mixture.normalised = true;
  return ok();
}

TensorNames qwen3_vl_names(const ModelConfig&) {
  TensorNames names = text_names(kLlamaNames);
  names.expert_prefix = "";
  names.expert_gate_up = "mlp.experts.gate_up_proj";
  names.expert_down = "mlp.experts.down_proj";
  names.stack_ending = "";
  names.stacks = Stacks::kEither;
  return names;
}

Status configure_qwen3_gguf(const GgufKeys& keys, ModelConfig* out) {
  out->head_norm = HeadNorm::kEach;
  PC_TRY(out->mixture, read_gguf_mixture(keys, {.normalised = true}, out->n_layers, out->d_ffn));
  return ok();
}

Status configure_qwen2(JsonView config, ModelConfig* out) {
  PC_TRY(const bool bias, config.boolean_or("qkv_bias", true));
  out->set_qkv_bias(bias);
  MixtureFields fields = kFields;
  fields.d_shared = "shared_expert_intermediate_size";
  PC_TRY(out->mixture, read_mixture_config(config, fields, out->n_layers));
  out->mixture.shared_gated = out->mixture.d_shared != 0;
  return configure_qwen_window(config, out);
}

// Old files do not say how wide the shared network is: as wide as a dense layer's.
Status configure_qwen2_gguf(const GgufKeys& keys, ModelConfig* out) {
  PC_TRY(out->mixture, read_gguf_mixture(keys, {.normalised = false}, out->n_layers, out->d_ffn));
  if (out->mixture.d_shared == 0) out->mixture.d_shared = out->d_ffn;
  out->mixture.shared_gated = true;
  return ok();
}

TensorNames qwen2_names(const ModelConfig&) {
  TensorNames names = kLlamaNames;
  names.shared_gate = "mlp.shared_expert.gate_proj";
  names.shared_up = "mlp.shared_expert.up_proj";
  names.shared_down = "mlp.shared_expert.down_proj";
  names.ffn_gate = "mlp.shared_expert_gate";
  return names;
}

}  // namespace

extern const Family kQwen3Moe{.name = "qwen3moe",
                              .architecture = "Qwen3MoeForCausalLM",
                              .fields = {.default_head_dim = 128, .honoured = kHonoured},
                              .configure = configure_qwen3,
                              .names = llama_names,
                              .gguf_architecture = "qwen3moe",
                              .configure_gguf = configure_qwen3_gguf,
                              .gguf_names = gguf_names};

extern const Family kQwen2Moe{.name = "qwen2moe",
                              .architecture = "Qwen2MoeForCausalLM",
                              .fields = {.honoured = kHonoured},
                              .configure = configure_qwen2,
                              .names = qwen2_names,
                              .gguf_architecture = "qwen2moe",
                              .configure_gguf = configure_qwen2_gguf,
                              .gguf_names = gguf_names};

extern const Family kQwen3VlMoe{
    .name = "qwen3vlmoe",
    .architecture = "Qwen3VLMoeForConditionalGeneration",
    .fields = {.default_theta = 500000, .default_head_dim = 128, .honoured = kHonoured},
    .several_media = true,
    .configure = configure_qwen3_vl,
    .names = qwen3_vl_names,
    .gguf_architecture = "qwen3vlmoe",
    .configure_gguf = configure_qwen3_gguf,
    .gguf_names = gguf_names};

}  // namespace pc
