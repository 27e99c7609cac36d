// DeepSeek V2 and V3: multi-head latent attention, and behind a few dense layers mixtures of
// experts beside a shared network. V2 chooses by a softmax, V3 by sigmoids and a bias, as GLM 4.7
// Flash does. GGUF has them all under one name. MiniCPM 3 has the attention in a dense model, with
// factors of what is embedded, added and read.
#include <array>
#include <cmath>
#include <string>

#include "runtime/model/families/family.h"

namespace pc {
namespace {

constexpr std::int64_t kMostDims = 1 << 16;  // of a head's part

// What transformers has for the norms of latents whatever rms_norm_eps says; GGUF has no key of it,
// and llama.cpp takes the other norms'.
constexpr double kLatentNormEps = 1e-6;

constexpr std::array<std::string_view, 2> kHonoured{"num_experts", "num_local_experts"};
constexpr MixtureFields kMixtureFields{.experts = "n_routed_experts",
                                       .n_shared = "n_shared_experts",
                                       .n_dense = "first_k_dense_replace",
                                       .scale = "routed_scaling_factor",
                                       .n_groups = "n_group",
                                       .n_groups_used = "topk_group"};

Status read_dims(JsonView config, std::string_view key, std::uint32_t* dims) {
  PC_TRY(const JsonView value, config.member(key));
  PC_TRY(const std::int64_t n, value.integer_in(1, kMostDims));
  *dims = static_cast<std::uint32_t>(n);
  return ok();
}

// YaRN's factor of scores, which DeepSeek takes out of its cosines and sines.
double score_factor(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

Status read_attention(JsonView config, ModelConfig* out) {
  PC_TRY(const bool bias, config.boolean_or("attention_bias", false));
  if (bias)
    return config.error(Code::kUnsupported,
                        "attention_bias gives latent attention biases, which are not computed");
  LatentConfig latent;
  PC_CHECK_OK(read_dims(config, "kv_lora_rank", &latent.dims));
  PC_CHECK_OK(read_dims(config, "qk_rope_head_dim", &latent.rotary));
  PC_CHECK_OK(read_dims(config, "qk_nope_head_dim", &latent.nope));
  latent.value = out->d_model / out->n_heads;
  if (config.find("v_head_dim")) PC_CHECK_OK(read_dims(config, "v_head_dim", &latent.value));
  if (config.find("q_lora_rank")) PC_CHECK_OK(read_dims(config, "q_lora_rank", &latent.q_rank));
  latent.norm_eps = kLatentNormEps;
  const RopeConfig& rope = out->ropes[0];
  const double mscale = score_factor(rope.factor, rope.mscale_all_dim.value_or(0));
  out->set_latent(latent, mscale * mscale);
  out->rope_interleaved = true;
  return ok();
}

// A factor of MiniCPM's; `absent` where the file does not say it, `none` where it says null.
Result<double> read_factor(JsonView config, std::string_view key, double absent, double none) {
  PC_TRY(const bool is_null, says_null(config, key));
  return is_null ? Result<double>(none) : config.number_or(key, absent);
}

Status configure_minicpm3(JsonView config, ModelConfig* out) {
  constexpr double kEmbedding = 12, kDepth = 1.4, kBase = 256;  // of the one that was published
  PC_CHECK_OK(read_attention(config, out));
  out->rope_interleaved = false;
  const double depth = std::sqrt(static_cast<double>(out->n_layers)), width = out->d_model;
  PC_TRY(out->embedding_scale, config.number_or("scale_emb", kEmbedding));
  PC_TRY(const double scale, read_factor(config, "scale_depth", kDepth, depth));
  PC_TRY(const double base, read_factor(config, "dim_model_base", kBase, width));
  out->residual_scale = scale / depth;
  out->logit_scale = base / width;
  return ok();
}

Status configure_v2(JsonView config, ModelConfig* out) {
  PC_CHECK_OK(read_attention(config, out));
  PC_TRY(out->mixture, read_mixture_config(config, kMixtureFields, out->n_layers));
  PC_TRY(const bool normalised, config.boolean_or("norm_topk_prob", false));
  PC_TRY(const std::int64_t step, config.integer_or("moe_layer_freq", 1));
  if (normalised || step != 1)
    return config.error(Code::kUnsupported,
                        "norm_topk_prob and a moe_layer_freq other than 1 are in no published "
                        "checkpoint of this architecture, and are not computed");
  PC_TRY(const std::string method, config.string_or("topk_method", "greedy"));
  if (method == "greedy") out->mixture.n_groups = out->mixture.n_groups_used = 1;
  if (method != "greedy" && method != "group_limited_greedy")
    return config.error(Code::kUnsupported, "topk_method \"" + method + "\" is not computed");
  return ok();
}

Status configure_v3(JsonView config, ModelConfig* out) {
  PC_CHECK_OK(read_attention(config, out));
  PC_TRY(out->rope_interleaved, config.boolean_or("rope_interleave", true));
  PC_TRY(out->mixture, read_mixture_config(config, kMixtureFields, out->n_layers));
  return choose_by_sigmoids(config, out);
}

// "mlp_layer_types" says which layers have mixtures; where it is absent all but the first.
Status configure_glm_lite(JsonView config, ModelConfig* out) {
  PC_CHECK_OK(configure_v3(config, out));
  const auto types = config.find("mlp_layer_types");
  if (!types) {
    if (!config.find("first_k_dense_replace")) out->mixture.layers[0] = false;
    return ok();
  }
  if (!types->is_array() || types->size() != out->n_layers)
    return types->error(Code::kCorrupt,
                        "is not a list of " + std::to_string(out->n_layers) + " layers");
  for (std::size_t i = 0; i < out->n_layers; ++i) {
    PC_TRY(const std::string_view type, types->at(i).string());
    if (type != "dense" && type != "sparse")
      return types->at(i).error(Code::kUnsupported,
                                "is \"" + std::string(type) + "\"; dense and sparse are computed");
    out->mixture.layers[i] = type == "sparse";
  }
  return ok();
}

// YaRN's factors as the file has them for this architecture: of scores alone, by a logarithm's
// multiplier that already holds the 0.1.
Status read_gguf_scores(const GgufKeys& keys, ModelConfig* out) {
  RopeConfig& rope = out->ropes[0];
  if (rope.type != "yarn") return ok();
  for (const std::string_view key : {"rope.scaling.attn_factor", "rope.scaling.yarn_attn_factor"}) {
    PC_TRY(const double factor, keys.number_or(key, 1));
    if (factor != 1)
      return keys.error(Code::kUnsupported, key,
                        "is " + std::to_string(factor) + "; with latent attention 1 is computed");
  }
  PC_TRY(const double multiplier, keys.number_or("rope.scaling.yarn_log_multiplier", 0));
  const double mscale = score_factor(rope.factor, 10 * multiplier);
  rope.attention_factor = 1;
  out->set_latent(out->latent, mscale * mscale);
  return ok();
}

bool chooses_with_bias(const GgufKeys& keys, std::uint32_t n_layers) {
  for (std::uint32_t i = 0; i < n_layers; ++i) {
    if (keys.has_tensor("blk." + std::to_string(i) + ".exp_probs_b.bias")) return true;
  }
  return false;
}

Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  if (out->latent.dims == 0)
    return keys.error(Code::kCorrupt, "attention.kv_lora_rank", "is missing");
  if (keys.has("attention.temperature_scale"))
    return keys.error(Code::kUnsupported, "attention.temperature_scale",
                      "makes queries grow with their position, which is not computed beside latent "
                      "attention");
  PC_CHECK_OK(read_gguf_scores(keys, out));
  out->latent.norm_eps = kLatentNormEps;
  out->rope_interleaved = true;
  // Files of GLM 4.7 Flash say no function; only sigmoids have a bias of the choice.
  const bool biased = chooses_with_bias(keys, out->n_layers);
  const GgufRouting absent = {biased ? PC_ROUTING_SIGMOID : PC_ROUTING_SOFTMAX, false};
  PC_TRY(out->mixture, read_gguf_mixture(keys, absent, out->n_layers, out->d_ffn));
  out->mixture.choice_bias = biased;
  // Older files have both halves of what is made of a latent in one matrix.
  out->fused_qkv =
      keys.has_tensor("blk.0.attn_kv_b.weight") && !keys.has_tensor("blk.0.attn_k_b.weight");
  return ok();
}

TensorNames names_in_gguf(const ModelConfig& config) {
  TensorNames names = kGgufNames;
  if (config.fused_qkv) names.kv_up = "attn_kv_b";
  return names;
}

}  // namespace

extern const Family kDeepseekV2{.name = "deepseek2",
                                .architecture = "DeepseekV2ForCausalLM",
                                .fields = {.honoured = kHonoured},
                                .configure = configure_v2,
                                .names = sigmoid_mixture_names,
                                .gguf_architecture = "deepseek2",
                                .configure_gguf = configure_gguf,
                                .gguf_names = names_in_gguf};

extern const Family kDeepseekV3{.name = "deepseek3",
                                .architecture = "DeepseekV3ForCausalLM",
                                .fields = {.honoured = kHonoured},
                                .configure = configure_v3,
                                .names = sigmoid_mixture_names,
                                .gguf_architecture = ""};

extern const Family kMiniCpm3{
    .name = "minicpm3",
    .architecture = "MiniCPM3ForCausalLM",
    .fields = {.default_norm_eps = 1e-5, .default_head_dim = 32, .default_tied = true},
    .configure = configure_minicpm3,
    .names = llama_names,
    .gguf_architecture = ""};

extern const Family kGlm4MoeLite{
    .name = "glm4moelite",
    .architecture = "Glm4MoeLiteForCausalLM",
    .fields = {.default_norm_eps = 1e-5, .default_head_dim = 64, .honoured = kHonoured},
    .configure = configure_glm_lite,
    .names = sigmoid_mixture_names,
    .gguf_architecture = ""};

}  // namespace pc
