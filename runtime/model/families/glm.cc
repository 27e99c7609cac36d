// GLM: Llama with half of a head's dimensions rotated, pair by pair, biases on queries, keys and
// values, and a fused gate. GLM 4 (0414) has norms behind the halves of a block, too. GLM 4.5
// rotates as Llama does, and has mixtures of experts beside a shared network, which are chosen by
// sigmoids and a bias.
#include <array>

#include "runtime/model/families/family.h"

namespace pc {
namespace {

constexpr double kRotated = 0.5;  // of a head, where the file is silent
constexpr std::uint32_t kHeadDim = 128;
constexpr double kNormEps = 1.5625e-7, kMoeNormEps = 1e-5;

constexpr std::array<std::string_view, 2> kMoeHonoured{"use_qk_norm", "num_local_experts"};
constexpr MixtureFields kMoeFields{.experts = "n_routed_experts",
                                   .n_shared = "n_shared_experts",
                                   .n_dense = "first_k_dense_replace",
                                   .scale = "routed_scaling_factor",
                                   .n_groups = "n_group",
                                   .n_groups_used = "topk_group"};

Status configure_common(JsonView config, bool default_bias, ModelConfig* out) {
  PC_TRY(const bool bias, config.boolean_or("attention_bias", default_bias));
  out->set_qkv_bias(bias);
  const auto rope = config.find("rope_parameters");
  const bool said = config.find("partial_rotary_factor") ||
                    (rope && rope->is_object() && rope->find("partial_rotary_factor"));
  if (!said) out->ropes[0].partial_rotary_factor = kRotated;
  return ok();
}

Status configure_glm(JsonView config, ModelConfig* out) {
  out->rope_interleaved = true;
  return configure_common(config, true, out);
}

Status configure_glm4(JsonView config, ModelConfig* out) {
  out->post_norms = true;
  return configure_glm(config, out);
}

Status configure_moe(JsonView config, ModelConfig* out) {
  PC_CHECK_OK(configure_common(config, false, out));
  PC_TRY(const bool norms, config.boolean_or("use_qk_norm", false));
  if (norms) out->head_norm = HeadNorm::kEach;
  PC_TRY(out->mixture, read_mixture_config(config, kMoeFields, out->n_layers));
  return choose_by_sigmoids(config, out);
}

TensorNames glm_names(const ModelConfig&) {
  TensorNames names = kLlamaNames;
  names.gate_up = "mlp.gate_up_proj";
  return names;
}

TensorNames glm4_names(const ModelConfig& config) {
  TensorNames names = glm_names(config);
  names.attn_post_norm = "post_self_attn_layernorm";
  names.ffn_post_norm = "post_mlp_layernorm";
  return names;
}

Status configure_glm_gguf(const GgufKeys& keys, ModelConfig* out) {
  if (keys.has("rope.dimension_sections")) {
    return keys.error(Code::kUnsupported, "rope.dimension_sections",
                      "says that it is the text part of a model of several media, whose queries "
                      "and keys are in another order");
  }
  out->rope_interleaved = true;
  return ok();
}

Status configure_glm4_gguf(const GgufKeys& keys, ModelConfig* out) {
  out->post_norms = true;
  return configure_glm_gguf(keys, out);
}

// No key says whether heads have norms; the tensors show it.
Status configure_moe_gguf(const GgufKeys& keys, ModelConfig* out) {
  if (keys.has_tensor("blk.0.attn_q_norm.weight")) out->head_norm = HeadNorm::kEach;
  PC_TRY(out->mixture,
         read_gguf_mixture(keys, {PC_ROUTING_SIGMOID, true}, out->n_layers, out->d_ffn));
  out->mixture.choice_bias = true;
  return ok();
}

TensorNames glm_gguf_names(const ModelConfig& config) {
  TensorNames names = gguf_names(config);
  names.gate_up = "ffn_up";
  return names;
}

// The norm before the feed-forward half has the name of another one.
TensorNames moe_gguf_names(const ModelConfig& config) {
  TensorNames names = gguf_names(config);
  names.ffn_norm = "post_attention_norm";
  return names;
}

}  // namespace

extern const Family kGlm{.name = "glm",
                         .architecture = "GlmForCausalLM",
                         .fields = {.default_norm_eps = kNormEps, .default_head_dim = kHeadDim},
                         .configure = configure_glm,
                         .names = glm_names,
                         .gguf_architecture = "chatglm",
                         .configure_gguf = configure_glm_gguf,
                         .gguf_names = glm_gguf_names};

extern const Family kGlm4{.name = "glm4",
                          .architecture = "Glm4ForCausalLM",
                          .fields = {.default_norm_eps = kNormEps, .default_head_dim = kHeadDim},
                          .configure = configure_glm4,
                          .names = glm4_names,
                          .gguf_architecture = "glm4",
                          .configure_gguf = configure_glm4_gguf,
                          .gguf_names = glm_gguf_names};

extern const Family kGlm4Moe{.name = "glm4moe",
                             .architecture = "Glm4MoeForCausalLM",
                             .fields = {.default_norm_eps = kMoeNormEps, .honoured = kMoeHonoured},
                             .configure = configure_moe,
                             .names = sigmoid_mixture_names,
                             .gguf_architecture = "glm4moe",
                             .configure_gguf = configure_moe_gguf,
                             .gguf_names = moe_gguf_names};

}  // namespace pc
