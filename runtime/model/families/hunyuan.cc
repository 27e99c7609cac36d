// HunYuan, the dense ones: Llama with an RMS norm on each head's query and key, behind rotation.
#include <array>

#include "runtime/model/families/family.h"

namespace pc {
namespace {

constexpr std::array<std::string_view, 2> kHonoured{"use_qk_norm", "num_experts"};

// What the published files say of all HunYuans.
Status check_dense(JsonView config) {
  PC_TRY(const bool norms, config.boolean_or("use_qk_norm", true));
  PC_TRY(const bool shares, config.boolean_or("use_cla", false));
  PC_TRY(const double experts, config.number_or("num_experts", 1));
  if (norms && !shares && experts <= 1) return ok();
  return config.error(Code::kUnsupported,
                      "use_qk_norm, use_cla or num_experts is not that of the dense models");
}

Status configure(JsonView config, ModelConfig* out) {
  PC_CHECK_OK(check_dense(config));
  out->head_norm = HeadNorm::kEachRotated;
  PC_TRY(const bool bias, config.boolean_or("attention_bias", false));
  out->set_qkv_bias(bias);
  out->o_bias = bias;
  return ok();
}

TensorNames names(const ModelConfig&) {
  TensorNames names = kLlamaNames;
  names.q_norm = "self_attn.query_layernorm";
  names.k_norm = "self_attn.key_layernorm";
  return names;
}

Status configure_gguf(const GgufKeys&, ModelConfig* out) {
  out->head_norm = HeadNorm::kEachRotated;
  return ok();
}

}  // namespace

extern const Family kHunYuan{.name = "hunyuan-dense",
                             .architecture = "HunYuanDenseV1ForCausalLM",
                             .fields = {.default_norm_eps = 1e-5, .honoured = kHonoured},
                             .configure = configure,
                             .names = names,
                             .gguf_architecture = "hunyuan-dense",
                             .configure_gguf = configure_gguf,
                             .gguf_names = gguf_names};

}  // namespace pc
