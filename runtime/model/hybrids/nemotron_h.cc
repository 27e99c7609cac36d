// Nemotron-H (arXiv 2504.03624) and Nemotron 3: each layer is one half of a block, Mamba-2,
// attention without positions, a network or a mixture of experts, all without gates.
#include <algorithm>
#include <array>
#include <string>

#include "runtime/model/families/family.h"
#include "runtime/model/hybrids/hybrid.h"
#include "runtime/model/hybrids/mamba2.h"

namespace pc {
namespace {

enum class Kind { kMamba, kAttention, kNetwork, kMixture };

constexpr std::uint32_t kMambaHeads = 128, kMambaHeadDim = 64;  // where the file is silent
constexpr double kLeastStep = 0.001;
constexpr std::array<std::string_view, 1> kHonoured{"num_local_experts"};
constexpr Mamba2Fields kMamba{.taps = "conv_kernel",
                              .heads = "mamba_num_heads",
                              .groups = "n_groups",
                              .d_k = "ssm_state_size",
                              .conv_bias = "use_conv_bias",
                              .default_groups = 8,
                              .default_d_k = 128};
constexpr MixtureFields kMixture{.experts = "n_routed_experts",
                                 .d_shared = "moe_shared_expert_intermediate_size",
                                 .scale = "routed_scaling_factor",
                                 .n_groups = "n_group",
                                 .n_groups_used = "topk_group"};

bool has(const std::vector<Kind>& kinds, Kind kind) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

struct KindName {
  std::string_view name;
  Kind kind;
};
constexpr KindName kNames[] = {{"M", Kind::kMamba},
                               {"linear_attention", Kind::kMamba},
                               {"mamba", Kind::kMamba},
                               {"*", Kind::kAttention},
                               {"full_attention", Kind::kAttention},
                               {"attention", Kind::kAttention},
                               {"-", Kind::kNetwork},
                               {"mlp", Kind::kNetwork},
                               {"E", Kind::kMixture},
                               {"moe", Kind::kMixture}};

Result<Kind> kind_of(std::string_view name, JsonView place) {
  for (const KindName& known : kNames)
    if (known.name == name) return known.kind;
  return place.error(Code::kUnsupported,
                     "has a layer \"" + std::string(name) +
                         "\"; Mamba-2 (M), attention (*), networks (-) and mixtures (E) are "
                         "computed");
}

// "layers_block_type", a list, or as released "hybrid_override_pattern", a letter a layer.
Result<std::vector<Kind>> read_kinds(JsonView config, std::uint32_t n_layers) {
  std::vector<Kind> kinds;
  const auto list = config.find("layers_block_type");
  const auto letters = config.find("hybrid_override_pattern");
  if (!list && !letters)
    return config.error(Code::kCorrupt,
                        "layers_block_type and hybrid_override_pattern are missing");
  const JsonView said = list ? *list : *letters;
  if (list) {
    for (std::size_t i = 0; list->is_array() && i < list->size(); ++i) {
      PC_TRY(const std::string_view name, list->at(i).string());
      PC_TRY(const Kind kind, kind_of(name, said));
      kinds.push_back(kind);
    }
  } else {
    PC_TRY(const std::string_view pattern, letters->string());
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      PC_TRY(const Kind kind, kind_of(pattern.substr(i, 1), said));
      kinds.push_back(kind);
    }
  }
  if (kinds.size() == n_layers) return kinds;
  return said.error(Code::kCorrupt,
                    "does not say of " + std::to_string(n_layers) + " layers what they are");
}

// Precondition: the mixture was read, where there are such layers.
void set_kinds(const std::vector<Kind>& kinds, RecurrentConfig r, ModelConfig* out) {
  out->gated = false;
  out->attending.clear();
  out->layer_d_ffn.clear();
  out->mixture.layers.clear();
  r.layers.clear();
  for (const Kind kind : kinds) {
    r.layers.push_back(kind == Kind::kMamba);
    out->attending.push_back(kind == Kind::kAttention);
    out->layer_d_ffn.push_back(kind == Kind::kNetwork ? out->d_ffn : 0);
    out->mixture.layers.push_back(kind == Kind::kMixture);
  }
  out->recurrent = std::move(r);
}

Status check_plain(JsonView config) {
  PC_TRY(const bool bias, config.boolean_or("use_bias", false));
  if (bias)
    return config.error(Code::kUnsupported,
                        "use_bias gives projections biases, which are not computed");
  PC_TRY(const std::string act, config.string_or("mamba_hidden_act", "silu"));
  if (act != "silu")
    return config.error(Code::kUnsupported, "mamba_hidden_act is not silu, which is computed");
  if (config.find("sliding_window"))
    return config.error(Code::kUnsupported, "sliding_window is not computed for this family");
  return check_step_limits(config);
}

// As transformers computes prompts: no step is less than the least.
Result<RecurrentConfig> read_recurrent(JsonView config) {
  PC_TRY(const std::uint32_t n_heads,
         read_count(config, "mamba_num_heads", kMambaHeads, kMostStateHeads));
  PC_TRY(const std::uint32_t head_dim,
         read_count(config, "mamba_head_dim", kMambaHeadDim, kMostStateHeads));
  PC_TRY(RecurrentConfig r, read_mamba2(config, kMamba, std::uint64_t{n_heads} * head_dim));
  PC_TRY(const double least, config.number_or("time_step_min", kLeastStep));
  if (!(least >= 0 && least < 1e6))
    return config.error(Code::kCorrupt, "time_step_min is no least step");
  r.step_least = static_cast<float>(least);
  return r;
}

Status read_mixture(JsonView config, ModelConfig* out) {
  if (config.find("moe_latent_size"))
    return config.error(Code::kUnsupported,
                        "moe_latent_size: experts that read a latent are not computed");
  if (out->ffn_bias)
    return config.error(Code::kUnsupported, "mlp_bias beside mixtures is not computed");
  PC_TRY(out->mixture, read_mixture_config(config, kMixture, out->n_layers));
  PC_TRY(out->mixture.normalised, config.boolean_or("norm_topk_prob", true));
  out->mixture.routing = PC_ROUTING_SIGMOID;
  out->mixture.group_best = 2;
  out->mixture.choice_bias = true;
  return ok();
}

Status configure(JsonView config, ModelConfig* out) {
  PC_CHECK_OK(check_plain(config));
  PC_TRY(out->ffn_bias, config.boolean_or("mlp_bias", false));
  PC_TRY(const std::vector<Kind> kinds, read_kinds(config, out->n_layers));
  PC_TRY(RecurrentConfig r, read_recurrent(config));
  if (has(kinds, Kind::kMixture)) PC_CHECK_OK(read_mixture(config, out));
  set_kinds(kinds, std::move(r), out);
  return ok();
}

TensorNames names(const ModelConfig&) {
  // As released and as transformers writes them, and as some publish them.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 1> kOthers{
      {{"backbone.", "model."}}};
  // Layers that guess at tokens behind the next one.
  static constexpr std::array<std::string_view, 1> kPassedOver{"mtp."};
  TensorNames names = kLlamaNames;
  names.layer_prefix = "backbone.layers.";
  names.optional_base = "";
  names.other_prefixes = kOthers;
  names.passed_over = kPassedOver;
  names.embedding = "backbone.embeddings";
  names.final_norm = "backbone.norm_f";
  names.attn_norm = names.ffn_norm = "norm";
  names.q = "mixer.q_proj";
  names.k = "mixer.k_proj";
  names.v = "mixer.v_proj";
  names.o = "mixer.o_proj";
  names.conv = "mixer.conv1d";
  names.gate_in_decay = "mixer.in_proj";
  names.decay_rate = "mixer.A_log";
  names.step_bias = "mixer.dt_bias";
  names.recurrent_skip = "mixer.D";
  names.recurrent_norm = "mixer.norm";
  names.recurrent_out = "mixer.out_proj";
  names.up = "mixer.up_proj";
  names.down = "mixer.down_proj";
  names.router = "mixer.gate";
  names.choice_bias = "mixer.gate.e_score_correction_bias";
  names.expert_prefix = "mixer.experts.";
  names.stacked_up = "mixer.experts.up_proj";
  names.stacked_down = "mixer.experts.down_proj";
  names.shared_up = "mixer.shared_experts.up_proj";
  names.shared_down = "mixer.shared_experts.down_proj";
  return names;
}

// Layers with heads for keys attend, those without a network either are Mamba's.
std::vector<Kind> gguf_kinds(const ModelConfig& config) {
  std::vector<Kind> kinds;
  for (std::uint32_t i = 0; i < config.n_layers; ++i) {
    const bool has_keys = config.recurrent.layers.empty() || !config.recurrent.layers[i];
    const bool has_network = config.layer_d_ffn.empty() || config.layer_d_ffn[i] != 0;
    const Kind network = config.mixture.n_experts != 0 ? Kind::kMixture : Kind::kNetwork;
    kinds.push_back(has_keys ? Kind::kAttention : has_network ? network : Kind::kMamba);
  }
  return kinds;
}

// What the first block shows of others is said of the first that has such tensors.
void find_biases(const GgufKeys& keys, const std::vector<Kind>& kinds, ModelConfig* out) {
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string block = "blk." + std::to_string(i) + ".";
    out->ffn_bias = out->ffn_bias || keys.has_tensor(block + "ffn_down.bias");
    out->o_bias = out->o_bias || keys.has_tensor(block + "attn_output.bias");
    out->fused_qkv = out->fused_qkv || keys.has_tensor(block + "attn_qkv.weight");
  }
}

Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  out->activation = PC_ACTIVATION_RELU_SQUARED;
  PC_TRY(const std::uint32_t latent, keys.count_or("moe_latent_size", kWidestNetwork, 0));
  if (latent != 0)
    return keys.error(Code::kUnsupported, "moe_latent_size",
                      "says that experts read a latent, which is not computed");
  PC_TRY(out->mixture, read_gguf_mixture(keys, {.routing = PC_ROUTING_SIGMOID, .normalised = true},
                                         out->n_layers, out->d_ffn));
  out->mixture.choice_bias = out->mixture.n_experts != 0;
  PC_TRY(RecurrentConfig r, read_gguf_mamba2(keys, out->n_layers));
  const std::vector<Kind> kinds = gguf_kinds(*out);
  find_biases(keys, kinds, out);
  set_kinds(kinds, std::move(r), out);
  return ok();
}

TensorNames names_in_gguf(const ModelConfig& config) {
  TensorNames names = gguf_names(config);
  name_gguf_mamba2(&names);
  names.ffn_norm = names.attn_norm;
  return names;
}

}  // namespace

extern const Family kNemotronH{.name = "nemotron_h",
                               .architecture = "NemotronHForCausalLM",
                               .fields = {.layer_list = "layers_block_type",
                                          .norm_eps = "layer_norm_epsilon",
                                          .activation = "mlp_hidden_act",
                                          .default_norm_eps = 1e-5,
                                          .default_head_dim = 128,
                                          .default_activation = PC_ACTIVATION_RELU_SQUARED,
                                          .one_rope = false,
                                          .honoured = kHonoured},
                               .configure = configure,
                               .names = names,
                               .gguf_architecture = "nemotron_h",
                               .gguf_rotates = false,
                               .configure_gguf = configure_gguf,
                               .gguf_names = names_in_gguf};

extern const Family kNemotronHMoe{.name = "nemotron_h_moe",
                                  .architecture = "",
                                  .fields = {},
                                  .configure = configure,
                                  .names = names,
                                  .gguf_architecture = "nemotron_h_moe",
                                  .gguf_rotates = false,
                                  .configure_gguf = configure_gguf,
                                  .gguf_names = names_in_gguf};

}  // namespace pc
