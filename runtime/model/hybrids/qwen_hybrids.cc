// Qwen3-Next and Qwen3.5: gated delta rules (arXiv 2412.06464) in most layers; in the others
// attention whose queries come with gates. Of the models that see, the text.
#include <array>

#include "runtime/model/families/family.h"
#include "runtime/model/hybrids/hybrid.h"

namespace pc {
namespace {

constexpr std::uint32_t kFullEvery = 4;
constexpr double kRotaryShare = 0.25;
constexpr std::array<std::string_view, 2> kHonoured{"num_experts", "num_local_experts"};

void set_common(RecurrentConfig recurrent, ModelConfig* out) {
  recurrent.kind = PC_RECURRENCE_GATED_DELTA;
  recurrent.n_channels = 2 * recurrent.n_keys() + recurrent.n_values();
  recurrent.norm_dims = recurrent.d_v;
  out->recurrent = std::move(recurrent);
  out->head_norm = HeadNorm::kEach;
  out->q_gated = true;
}

// "layer_types", or all but every so-manieth.
Result<std::vector<bool>> read_linear_layers(JsonView config, std::uint32_t n_layers) {
  if (const auto types = config.find("layer_types"))
    return read_layer_kinds(*types, {"linear_attention", "full_attention"}, n_layers);
  PC_TRY(const std::uint32_t every,
         read_count(config, "full_attention_interval", kFullEvery, n_layers));
  return sliding_but_every(n_layers, every);
}

Status configure(JsonView config, ModelConfig* out) {
  PC_TRY(const bool bias, config.boolean_or("attention_bias", false));
  if (bias)
    return config.error(Code::kUnsupported,
                        "attention_bias gives queries with gates biases, which are not computed");
  PC_TRY(const bool gated, config.boolean_or("attn_output_gate", true));
  if (!gated)
    return config.error(Code::kUnsupported,
                        "attn_output_gate is false: attention without gates is not computed");
  PC_CHECK_OK(check_silu(config, *out));
  RecurrentConfig r{.a_is_log = true};
  PC_TRY(r.n_taps, read_count(config, "linear_conv_kernel_dim", 4, kMostConvolutionTaps));
  PC_TRY(r.n_heads, read_count(config, "linear_num_value_heads", 32, kMostStateHeads));
  PC_TRY(r.n_key_heads, read_count(config, "linear_num_key_heads", 16, kMostStateHeads));
  PC_TRY(r.d_k, read_count(config, "linear_key_head_dim", 128, kMostStateHeads));
  PC_TRY(r.d_v, read_count(config, "linear_value_head_dim", 128, kMostStateHeads));
  if (!heads_fit(r))
    return config.error(Code::kUnsupported,
                        "linear_num_value_heads do not share linear_num_key_heads evenly");
  PC_TRY(r.layers, read_linear_layers(config, out->n_layers));
  set_common(std::move(r), out);
  out->norm_offset = 1;
  const auto says_share = [](JsonView place) {
    return place.find("partial_rotary_factor").has_value();
  };
  const auto rope = config.find("rope_parameters");
  if (!says_share(config) && !(rope && says_share(*rope)))
    out->ropes[0].partial_rotary_factor = kRotaryShare;
  return ok();
}

Status configure_moe(JsonView config, ModelConfig* out) {
  PC_CHECK_OK(configure(config, out));
  PC_TRY(out->mixture, read_mixture_config(config,
                                           {.d_shared = "shared_expert_intermediate_size",
                                            .normalised = "norm_topk_prob",
                                            .sparse_step = "decoder_sparse_step",
                                            .dense_layers = "mlp_only_layers"},
                                           out->n_layers));
  if (!config.find("norm_topk_prob")) out->mixture.normalised = true;
  out->mixture.shared_gated = out->mixture.d_shared != 0;
  return ok();
}

// Names of a layer's parts in folders; those of Qwen3-Next are two matrices, of Qwen3.5 four.
TensorNames names(const ModelConfig&) {
  TensorNames names = kLlamaNames;
  names.conv = "linear_attn.conv1d";
  names.recurrent_in = "linear_attn.in_proj_qkv";
  names.recurrent_gate = "linear_attn.in_proj_z";
  names.recurrent_decay = "linear_attn.in_proj_a";
  names.recurrent_write = "linear_attn.in_proj_b";
  names.in_and_gate = "linear_attn.in_proj_qkvz";
  names.write_and_decay = "linear_attn.in_proj_ba";
  names.decay_rate = "linear_attn.A_log";
  names.step_bias = "linear_attn.dt_bias";
  names.recurrent_norm = "linear_attn.norm";
  names.recurrent_out = "linear_attn.out_proj";
  names.stacked_gate_up = "mlp.experts.gate_up_proj";
  names.stacked_down = "mlp.experts.down_proj";
  names.shared_gate = "mlp.shared_expert.gate_proj";
  names.shared_up = "mlp.shared_expert.up_proj";
  names.shared_down = "mlp.shared_expert.down_proj";
  names.ffn_gate = "mlp.shared_expert_gate";
  // Layers that guess at tokens behind the next one.
  static constexpr std::array<std::string_view, 1> kPassedOver{"mtp."};
  names.passed_over = kPassedOver;
  return names;
}

TensorNames media_names(const ModelConfig& config) {
  return text_names(names(config));
}

Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  RecurrentConfig r;
  PC_TRY(r.n_taps, keys.extent("ssm.conv_kernel", kMostConvolutionTaps));
  PC_TRY(r.n_heads, keys.extent("ssm.time_step_rank", kMostStateHeads));
  PC_TRY(r.n_key_heads, keys.extent("ssm.group_count", kMostStateHeads));
  PC_TRY(r.d_k, keys.extent("ssm.state_size", kMostStateHeads));
  PC_TRY(const std::uint32_t values, keys.extent("ssm.inner_size", kMostStateHeads));
  r.d_v = values / r.n_heads;
  if (values % r.n_heads != 0)
    return keys.error(Code::kCorrupt, "ssm.inner_size", "is not a number of each head's");
  if (!heads_fit(r))
    return keys.error(Code::kUnsupported, "ssm.time_step_rank",
                      "heads do not share those of ssm.group_count evenly");
  PC_TRY(r.layers, read_gguf_recurrent_layers(keys, out->n_layers, kFullEvery));
  out->fused_qkv = false;  // what is called so is of the other layers
  set_common(std::move(r), out);
  if (!keys.has("expert_count")) return ok();
  PC_TRY(out->mixture, read_gguf_mixture(keys, {.normalised = true}, out->n_layers, out->d_ffn));
  out->mixture.shared_gated = out->mixture.d_shared != 0;
  return ok();
}

// Its converter puts the heads of values so that key heads come by turns.
Status configure_qwen35_gguf(const GgufKeys& keys, ModelConfig* out) {
  PC_CHECK_OK(configure_gguf(keys, out));
  out->recurrent.keys_by_turns = true;
  return ok();
}

TensorNames names_in_gguf(const ModelConfig&) {
  TensorNames names = kGgufNames;
  names.conv = "ssm_conv1d";
  names.recurrent_in = "attn_qkv";
  names.recurrent_gate = "attn_gate";
  names.recurrent_decay = "ssm_alpha";
  names.recurrent_write = "ssm_beta";
  names.in_and_gate = "ssm_in";
  names.write_and_decay = "ssm_ba";
  names.decay_rate = "ssm_a";
  names.step_bias = "ssm_dt.bias";
  names.recurrent_norm = "ssm_norm";
  names.recurrent_out = "ssm_out";
  names.ffn_norm = "post_attention_norm";
  return names;
}

constexpr ConfigFields kFields{
    .d_ffn_optional = true, .default_head_dim = 256, .honoured = kHonoured};

}  // namespace

extern const Family kQwen3Next{.name = "qwen3next",
                               .architecture = "Qwen3NextForCausalLM",
                               .fields = kFields,
                               .configure = configure_moe,
                               .names = names,
                               .gguf_architecture = "qwen3next",
                               .configure_gguf = configure_gguf,
                               .gguf_names = names_in_gguf};

extern const Family kQwen35{.name = "qwen35",
                            .architecture = "Qwen3_5ForCausalLM",
                            .fields = kFields,
                            .configure = configure,
                            .names = names,
                            .gguf_architecture = "qwen35",
                            .configure_gguf = configure_qwen35_gguf,
                            .gguf_names = names_in_gguf};

extern const Family kQwen35Media{.name = "qwen35",
                                 .architecture = "Qwen3_5ForConditionalGeneration",
                                 .fields = kFields,
                                 .several_media = true,
                                 .configure = configure,
                                 .names = media_names,
                                 .gguf_architecture = ""};

extern const Family kQwen35Moe{.name = "qwen35moe",
                               .architecture = "Qwen3_5MoeForCausalLM",
                               .fields = kFields,
                               .configure = configure_moe,
                               .names = names,
                               .gguf_architecture = "qwen35moe",
                               .configure_gguf = configure_qwen35_gguf,
                               .gguf_names = names_in_gguf};

extern const Family kQwen35MoeMedia{.name = "qwen35moe",
                                    .architecture = "Qwen3_5MoeForConditionalGeneration",
                                    .fields = kFields,
                                    .several_media = true,
                                    .configure = configure_moe,
                                    .names = media_names,
                                    .gguf_architecture = ""};

}  // namespace pc
