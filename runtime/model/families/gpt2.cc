// GPT-2: learned positions (states depend on where a module stands, so it is
// found again only there), LayerNorm, GELU by tanh. Hugging Face files store
// matrices as [inputs, outputs].
#include "runtime/model/families/family.h"

namespace pc {
namespace {

void set_common(ModelConfig* out) {
  out->norm = PC_NORM_LAYER;
  out->norm_bias = true;
  out->gated = false;
  out->learned_positions = true;
  out->set_qkv_bias(true);
  out->o_bias = out->ffn_bias = true;
}

Status configure(JsonView config, ModelConfig* out) {
  set_common(out);
  PC_TRY(const bool scaled, config.boolean_or("scale_attn_weights", true));
  PC_TRY(const bool by_layer, config.boolean_or("scale_attn_by_inverse_layer_idx", false));
  if (!scaled || by_layer) {
    return config.error(Code::kUnsupported,
                        "scales attention by something else than 1/sqrt(head size)");
  }
  return ok();
}

TensorNames names(const ModelConfig&) {
  return {.layer_prefix = "transformer.h.",
          .embedding = "transformer.wte",
          .positions = "transformer.wpe",
          .final_norm = "transformer.ln_f",
          .head = "lm_head",
          .attn_norm = "ln_1",
          .qkv = "attn.c_attn",
          .o = "attn.c_proj",
          .ffn_norm = "ln_2",
          .up = "mlp.c_fc",
          .down = "mlp.c_proj",
          .optional_base = "transformer.",
          .transposed = true};
}

Status configure_gguf(const GgufKeys&, ModelConfig* out) {
  set_common(out);
  out->activation = PC_ACTIVATION_GELU_TANH;
  return ok();
}

}  // namespace

extern const Family kGpt2{.name = "gpt2",
                          .architecture = "GPT2LMHeadModel",
                          .fields = {.layers = "n_layer",
                                     .d_model = "n_embd",
                                     .heads = "n_head",
                                     .kv_heads = "",
                                     .d_ffn = "n_inner",
                                     .d_ffn_optional = true,
                                     .context = "n_positions",
                                     .norm_eps = "layer_norm_epsilon",
                                     .activation = "activation_function",
                                     .default_norm_eps = 1e-5,
                                     .default_activation = PC_ACTIVATION_GELU_TANH,
                                     .default_tied = true,
                                     .one_rope = false},
                          .configure = configure,
                          .names = names,
                          .gguf_architecture = "gpt2",
                          .gguf_rotates = false,
                          .configure_gguf = configure_gguf,
                          .gguf_names = gguf_fused_names};

}  // namespace pc
