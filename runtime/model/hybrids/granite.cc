// Granite 3: Llama with four factors, of embeddings, attention, what a block adds, and logits; and
// its mixtures of experts, some beside a shared network.
#include "runtime/model/hybrids/granite.h"

#include "runtime/model/families/family.h"

namespace pc {

Status configure_granite(JsonView config, ModelConfig* out) {
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

Status configure_granite_gguf(const GgufKeys& keys, ModelConfig* out) {
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

TensorNames granite_mixture_names() {
  TensorNames names = kLlamaNames;
  names.router = "block_sparse_moe.router.layer";
  names.expert_prefix = "";
  names.expert_gate_up = "block_sparse_moe.input_linear";
  names.expert_down = "block_sparse_moe.output_linear";
  names.shared_gate_up = "shared_mlp.input_linear";
  names.shared_down = "shared_mlp.output_linear";
  return names;
}

namespace {

Status configure_mixture(JsonView config, ModelConfig* out) {
  PC_CHECK_OK(configure_granite(config, out));
  PC_TRY(out->mixture, read_mixture_config(config, kGraniteMixture, out->n_layers));
  out->mixture.normalised = true;
  return ok();
}

Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  PC_TRY(const bool rotates, keys.metadata().boolean_or(keys.full("rope.scaling.finetuned"), true));
  if (rotates) return configure_granite_gguf(keys, out);
  return keys.error(Code::kUnsupported, "rope.scaling.finetuned",
                    "says that the model has no positions, which is not computed for Granite");
}

Status configure_mixture_gguf(const GgufKeys& keys, ModelConfig* out) {
  PC_CHECK_OK(configure_gguf(keys, out));
  PC_TRY(out->mixture, read_gguf_mixture(keys, {.normalised = true}, out->n_layers, out->d_ffn));
  return ok();
}

TensorNames mixture_names(const ModelConfig&) {
  return granite_mixture_names();
}

}  // namespace

extern const Family kGranite{.name = "granite",
                             .architecture = "GraniteForCausalLM",
                             .fields = {.honoured = kGraniteHonoured},
                             .configure = configure_granite,
                             .names = llama_names,
                             .gguf_architecture = "granite",
                             .configure_gguf = configure_gguf,
                             .gguf_names = gguf_names};

extern const Family kGraniteMoe{.name = "granitemoe",
                                .architecture = "GraniteMoeForCausalLM",
                                .other_architecture = "GraniteMoeSharedForCausalLM",
                                .fields = {.honoured = kGraniteHonoured},
                                .configure = configure_mixture,
                                .names = mixture_names,
                                .gguf_architecture = "granitemoe",
                                .configure_gguf = configure_mixture_gguf,
                                .gguf_names = gguf_names};

}  // namespace pc
