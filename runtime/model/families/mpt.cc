// MPT: positions by ALiBi (its modules move because the bias is formed from
// logical positions), LayerNorm without bias, GELU.
#include <cmath>

#include "runtime/model/families/family.h"

namespace pc {
namespace {

void set_common(ModelConfig* out) {
  out->norm = PC_NORM_LAYER;
  out->gated = false;
}

Status check_attention(JsonView attention) {
  PC_TRY(const bool alibi, attention.boolean_or("alibi", true));
  PC_TRY(const bool prefix_lm, attention.boolean_or("prefix_lm", false));
  PC_TRY(const bool qk_ln, attention.boolean_or("qk_ln", false));
  PC_TRY(const std::string type, attention.string_or("attn_type", "multihead_attention"));
  if (alibi && !prefix_lm && !qk_ln && type == "multihead_attention") return ok();
  return attention.error(Code::kUnsupported,
                         "describes an MPT that is not computed: ALiBi and causal multi-head "
                         "attention without norms are");
}

Status configure(JsonView config, ModelConfig* out) {
  set_common(out);
  out->activation = PC_ACTIVATION_GELU;
  PC_TRY(const bool no_bias, config.boolean_or("no_bias", true));
  if (!no_bias) return config.error(Code::kUnsupported, "no_bias is false; only true is computed");
  PC_TRY(const double ratio, config.number_or("expansion_ratio", 4));
  const double d_ffn = ratio * out->d_model;
  if (!(d_ffn >= 1 && d_ffn <= 1 << 24) || d_ffn != std::floor(d_ffn))
    return config.error(Code::kUnsupported, "expansion_ratio gives no whole number of columns");
  out->d_ffn = static_cast<std::uint32_t>(d_ffn);
  double max_bias = 8;
  if (const auto attention = config.find("attn_config")) {
    PC_CHECK_OK(check_attention(*attention));
    PC_TRY(max_bias, attention->number_or("alibi_bias_max", max_bias));
    PC_TRY(out->qkv_clamp, attention->number_or("clip_qkv", 0));
    if (attention->find("softmax_scale")) {
      PC_TRY(out->attn_scale, attention->number_or("softmax_scale", 0));
    }
  }
  if (!(max_bias > 0)) return config.error(Code::kCorrupt, "alibi_bias_max is not positive");
  out->alibi_slopes = alibi_slopes(out->n_heads, max_bias);
  return ok();
}

TensorNames names(const ModelConfig&) {
  return {.layer_prefix = "transformer.blocks.",
          .embedding = "transformer.wte",
          .final_norm = "transformer.norm_f",
          .head = "lm_head",
          .attn_norm = "norm_1",
          .qkv = "attn.Wqkv",
          .o = "attn.out_proj",
          .ffn_norm = "norm_2",
          .up = "ffn.up_proj",
          .down = "ffn.down_proj"};
}

Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  set_common(out);
  out->activation = PC_ACTIVATION_GELU;
  PC_TRY(const double max_bias, keys.number_or("attention.max_alibi_bias", 0));
  if (max_bias <= 0) {
    return keys.error(Code::kUnsupported, "attention.max_alibi_bias",
                      "says that positions are not ALiBi, as they are where MPT is computed");
  }
  out->alibi_slopes = alibi_slopes(out->n_heads, max_bias);
  PC_TRY(out->qkv_clamp, keys.number_or("attention.clamp_kqv", 0));
  return ok();
}

}  // namespace

extern const Family kMpt{.name = "mpt",
                         .architecture = "MptForCausalLM",
                         .other_architecture = "MPTForCausalLM",  // of all that MosaicML published
                         .fields = {.layers = "n_layers",
                                    .d_model = "d_model",
                                    .heads = "n_heads",
                                    .kv_heads = "",
                                    .d_ffn = "",
                                    .d_ffn_optional = true,
                                    .context = "max_seq_len",
                                    .norm_eps = "layer_norm_epsilon",
                                    .activation = "",
                                    .default_norm_eps = 1e-5,
                                    .default_tied = true,
                                    .one_rope = false},
                         .configure = configure,
                         .names = names,
                         .gguf_architecture = "mpt",
                         .gguf_rotates = false,
                         .configure_gguf = configure_gguf,
                         .gguf_names = gguf_fused_names};

}  // namespace pc
