// Falcon: attention and feed-forward in parallel, LayerNorm, GELU. The 7B shares
// one key and value head and one norm; the 40B ("new decoder architecture") has
// several, and a norm for each half.
#include <array>

#include "runtime/model/families/family.h"

namespace pc {
namespace {

constexpr std::array<std::string_view, 1> kHonoured{"alibi"};

void set_common(ModelConfig* out) {
  out->norm = PC_NORM_LAYER;
  out->norm_bias = true;
  out->gated = false;
  out->parallel = true;
}

Status configure(JsonView config, ModelConfig* out) {
  PC_TRY(const bool alibi, config.boolean_or("alibi", false));
  PC_TRY(const bool parallel, config.boolean_or("parallel_attn", true));
  PC_TRY(const bool multi_query, config.boolean_or("multi_query", true));
  PC_TRY(const bool grouped, config.boolean_or("new_decoder_architecture", false));
  if (alibi || !(parallel || grouped) || !(multi_query || grouped)) {
    return config.error(Code::kUnsupported,
                        "describes a Falcon with ALiBi, or without parallel or multi-query "
                        "attention; those of the 7B and 40B kinds are computed");
  }
  set_common(out);
  if (!grouped) out->n_kv_heads = 1;
  PC_TRY(const std::int64_t norms, config.integer_or("num_ln_in_parallel_attn", grouped ? 2 : 1));
  out->parallel_norms = grouped && norms == 2;
  PC_TRY(const bool bias, config.boolean_or("bias", false));
  out->set_qkv_bias(bias);
  out->o_bias = out->ffn_bias = bias;
  return ok();
}

TensorNames names(const ModelConfig& config) {
  return {.layer_prefix = "transformer.h.",
          .embedding = "transformer.word_embeddings",
          .final_norm = "transformer.ln_f",
          .head = "lm_head",
          .attn_norm = config.parallel_norms ? "ln_attn" : "input_layernorm",
          .qkv = "self_attention.query_key_value",
          .o = "self_attention.dense",
          .ffn_norm = "ln_mlp",
          .up = "mlp.dense_h_to_4h",
          .down = "mlp.dense_4h_to_h",
          .qkv_by_group = true};
}

Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  set_common(out);
  out->activation = PC_ACTIVATION_GELU;
  out->parallel_norms = keys.has_tensor("blk.0.attn_norm_2.weight");
  return ok();
}

TensorNames names_of_gguf(const ModelConfig& config) {
  TensorNames names = gguf_fused_names(config);
  if (config.parallel_norms) {
    names.attn_norm = "attn_norm_2";
    names.ffn_norm = "attn_norm";
  }
  return names;
}

}  // namespace

extern const Family kFalcon{.name = "falcon",
                            .architecture = "FalconForCausalLM",
                            .fields = {.kv_heads = "num_kv_heads",
                                       .d_ffn = "ffn_hidden_size",
                                       .d_ffn_optional = true,
                                       .norm_eps = "layer_norm_epsilon",
                                       .activation = "activation",
                                       .default_norm_eps = 1e-5,
                                       .default_context = 2048,
                                       .default_activation = PC_ACTIVATION_GELU,
                                       .default_tied = true,
                                       .honoured = kHonoured},
                            .configure = configure,
                            .names = names,
                            .gguf_architecture = "falcon",
                            .configure_gguf = configure_gguf,
                            .gguf_names = names_of_gguf};

}  // namespace pc
