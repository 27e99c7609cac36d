// ERNIE 4.5: Llama that rotates a head's dimensions pair by pair, and its mixtures of experts
// beside a shared network, behind a few dense layers: a softmax, with a bias that counts for the
// choice alone.
#include <array>

#include "runtime/model/families/family.h"

namespace pc {
namespace {

constexpr double kNormEps = 1e-5, kTheta = 500000;

constexpr std::array<std::string_view, 1> kMoeHonoured{"num_experts"};
constexpr MixtureFields kFields{.experts = "moe_num_experts",
                                .used = "moe_k",
                                .n_shared = "moe_num_shared_experts",
                                .sparse_step = "moe_layer_interval",
                                .n_dense = "moe_layer_start_index"};

// Of layers that guess at later tokens: with the heads' own matrices, behind the others.
constexpr std::array<std::string_view, 1> kFurther{"model.mtp_"};

Status configure(JsonView config, ModelConfig* out) {
  out->rope_interleaved = true;
  PC_TRY(const bool bias, config.boolean_or("use_bias", false));
  out->set_qkv_bias(bias);
  out->o_bias = out->ffn_bias = bias;
  return ok();
}

Status configure_mixture(JsonView config, ModelConfig* out) {
  PC_CHECK_OK(configure(config, out));
  if (out->ffn_bias) {
    return config.error(Code::kUnsupported,
                        "use_bias gives all networks biases but those of experts, which is not "
                        "computed");
  }
  PC_TRY(out->mixture, read_mixture_config(config, kFields, out->n_layers));
  out->mixture.normalised = true;
  out->mixture.choice_bias = true;
  PC_TRY(const std::int64_t last, config.integer_or("moe_layer_end_index", -1));
  for (std::int64_t i = last + 1; last >= 0 && i < out->n_layers; ++i)
    out->mixture.layers[static_cast<std::size_t>(i)] = false;
  return ok();
}

TensorNames names(const ModelConfig&) {
  TensorNames names = kLlamaNames;
  names.choice_bias = "mlp.moe_statics.e_score_correction_bias";
  names.shared_gate = "mlp.shared_experts.gate_proj";
  names.shared_up = "mlp.shared_experts.up_proj";
  names.shared_down = "mlp.shared_experts.down_proj";
  names.passed_over = kFurther;
  return names;
}

Status configure_gguf(const GgufKeys&, ModelConfig* out) {
  out->rope_interleaved = true;
  return ok();
}

Status configure_mixture_gguf(const GgufKeys& keys, ModelConfig* out) {
  out->rope_interleaved = true;
  PC_TRY(out->mixture, read_gguf_mixture(keys, {.normalised = true}, out->n_layers, out->d_ffn));
  PC_TRY(const std::uint32_t step,
         keys.extent_or("interleave_moe_layer_step", kMostConfiguredExperts, 1));
  for (std::uint32_t i = 0; i < out->mixture.layers.size(); ++i) {
    if ((i + 1) % step != 0) out->mixture.layers[i] = false;
    const std::string bias = "blk." + std::to_string(i) + ".exp_probs_b.bias";
    if (out->has_mixture(i) && keys.has_tensor(bias)) out->mixture.choice_bias = true;
  }
  return ok();
}

}  // namespace

extern const Family kErnie{.name = "ernie4_5",
                           .architecture = "Ernie4_5ForCausalLM",
                           .other_architecture = "Ernie4_5_ForCausalLM",
                           .fields = {.default_norm_eps = kNormEps,
                                      .default_theta = kTheta,
                                      .default_head_dim = 128,
                                      .default_tied = true},
                           .configure = configure,
                           .names = names,
                           .gguf_architecture = "ernie4_5",
                           .configure_gguf = configure_gguf,
                           .gguf_names = gguf_names};

extern const Family kErnieMoe{.name = "ernie4_5-moe",
                              .architecture = "Ernie4_5_MoeForCausalLM",
                              .fields = {.default_norm_eps = kNormEps,
                                         .default_theta = kTheta,
                                         .default_tied = true,
                                         .honoured = kMoeHonoured},
                              .configure = configure_mixture,
                              .names = names,
                              .gguf_architecture = "ernie4_5-moe",
                              .configure_gguf = configure_mixture_gguf,
                              .gguf_names = gguf_names};

}  // namespace pc
