// Granite 3, dense: Llama with four factors, of embeddings, attention, what a
// block adds, and logits.
#include <array>

#include "runtime/model/families/family.h"

namespace pc {
namespace {

constexpr std::array<std::string_view, 3> kHonoured{"logits_scaling", "embedding_multiplier",
                                                    "residual_multiplier"};

Status configure(JsonView config, ModelConfig* out) {
  PC_TRY(const bool bias, config.boolean_or("attention_bias", false));
  out->set_qkv_bias(bias);
  out->o_bias = bias;
  PC_TRY(out->ffn_bias, config.boolean_or("mlp_bias", false));
  PC_TRY(out->embedding_scale, config.number_or("embedding_multiplier", 1));
  PC_TRY(out->residual_scale, config.number_or("residual_multiplier", 1));
  PC_TRY(out->attn_scale, config.number_or("attention_multiplier", 1));
  PC_TRY(const double divisor, config.number_or("logits_scaling", 1));
  if (!(divisor > 0)) return config.error(Code::kCorrupt, "logits_scaling is not positive");
  out->logit_scale = 1 / divisor;
  return ok();
}

Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  PC_TRY(const bool rotates, keys.metadata().boolean_or(keys.full("rope.scaling.finetuned"), true));
  if (!rotates) {
    return keys.error(Code::kUnsupported, "rope.scaling.finetuned",
                      "says that the model has no positions, which is not computed for Granite");
  }
  out->rope_interleaved = true;
  PC_TRY(out->embedding_scale, keys.number_or("embedding_scale", 1));
  PC_TRY(out->residual_scale, keys.number_or("residual_scale", 1));
  PC_TRY(const double divisor, keys.number_or("logit_scale", 1));
  if (!(divisor > 0)) return keys.error(Code::kCorrupt, "logit_scale", "is not positive");
  out->logit_scale = 1 / divisor;
  if (keys.has("attention.scale")) {
    PC_TRY(out->attn_scale, keys.number_or("attention.scale", 0));
  }
  return ok();
}

}  // namespace

extern const Family kGranite{.name = "granite",
                             .architecture = "GraniteForCausalLM",
                             .fields = {.honoured = kHonoured},
                             .configure = configure,
                             .names = llama_names,
                             .gguf_architecture = "granite",
                             .configure_gguf = configure_gguf,
                             .gguf_names = gguf_names};

}  // namespace pc
