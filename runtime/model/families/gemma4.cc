// Gemma 4, text: layers with a window and layers that see all, whose heads differ in size and RoPE;
// normed values; a share of the layers that attend to the states of earlier ones; per-layer
// embeddings (E2B, E4B); experts beside each layer's own network (26B-A4B).
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "runtime/model/families/gemma.h"

namespace pc {
namespace {

constexpr std::uint32_t kFullEvery = 6, kDefaultWindow = 512, kDefaultGlobalHeadDim = 512;
constexpr std::uint32_t kDefaultPle = 256, kMostHeads = 1 << 16;
constexpr double kFullTheta = 1000000, kSlidingTheta = 10000, kFullShare = 0.25;

constexpr std::array<std::string_view, 4> kHonoured{
    "final_logit_softcapping", "use_bidirectional_attention", "num_experts", "per_layer_config"};
constexpr ConfigFields kFields{.activation = "hidden_activation",
                               .default_head_dim = 256,
                               .default_activation = PC_ACTIVATION_GELU_TANH,
                               .default_tied = true,
                               .one_rope = false,
                               .honoured = kHonoured};

void set_common(ModelConfig* out) {
  set_gemma(out);
  out->head_norm = HeadNorm::kEach;
  out->norm_values = true;
  out->output_scales = true;
  out->attn_scale = 1;
}

// n_shared <= n_layers. The last n_shared layers attend to the states of the last one before them
// of their kind.
Status share_states(std::uint32_t n_shared, ModelConfig* out) {
  if (n_shared == 0) return ok();
  const std::uint32_t n_own = out->n_layers - n_shared;
  for (std::uint32_t i = 0; i < out->n_layers; ++i) {
    std::uint32_t owner = i;
    if (i >= n_own) {
      for (owner = n_own; owner > 0; --owner)
        if ((out->windows[owner - 1] == 0) == (out->windows[i] == 0)) break;
      if (owner-- == 0)
        return error(Code::kUnsupported,
                     "no layer has the states that layer " + std::to_string(i) + " is to share");
    }
    out->states_of.push_back(owner);
  }
  return ok();
}

// Own networks, and experts beside them, whose router reads a norm of its own.
void set_mixture(ModelConfig* out) {
  MixtureConfig& m = out->mixture;
  m.d_shared = out->d_ffn;
  m.normalised = true;
  m.own_norms = m.expert_scales = true;
  m.router_scale = 1 / std::sqrt(static_cast<double>(out->d_model));
}

Result<std::uint32_t> extent_or(JsonView config, std::string_view key, std::int64_t least,
                                std::int64_t most, std::uint32_t absent) {
  if (!config.find(key)) return absent;
  PC_TRY(const JsonView value, config.member(key));
  PC_TRY(const std::int64_t n, value.integer_in(least, most));
  return static_cast<std::uint32_t>(n);
}

Status read_windows(JsonView config, ModelConfig* out) {
  PC_TRY(const std::uint32_t window, read_window(config, kDefaultWindow));
  PC_TRY(const auto listed, read_sliding_layers(config, out->n_layers));
  const std::vector<bool> sliding = listed ? *listed : sliding_but_every(out->n_layers, kFullEvery);
  // The last layer sees all, whatever the list says.
  for (std::uint32_t i = 0; i < out->n_layers; ++i)
    out->windows[i] = sliding[i] && i + 1 < out->n_layers ? window : 0;
  return ok();
}

Status read_own_heads(JsonView own, HeadsConfig* heads) {
  return own.for_each_member([heads](std::string_view key, JsonView value) -> Status {
    const bool size = key == "head_dim";
    if (!size && key != "num_key_value_heads")
      return value.error(Code::kUnsupported, "is of one layer, which is not supported");
    PC_TRY(const std::int64_t n, value.integer_in(1, kMostHeads));
    (size ? heads->head_dim : heads->n_kv_heads) = static_cast<std::uint32_t>(n);
    return ok();
  });
}

// Of layers by their numbers, which transformers pads with zeros.
Status read_table(JsonView table, std::vector<HeadsConfig>* heads) {
  return table.for_each_member([heads](std::string_view key, JsonView own) -> Status {
    std::uint32_t layer = 0;
    const auto read = std::from_chars(key.data(), key.data() + key.size(), layer);
    if (read.ec != std::errc() || read.ptr != key.data() + key.size() || layer >= heads->size())
      return own.error(Code::kCorrupt,
                       "is of none of " + std::to_string(heads->size()) + " layers");
    return read_own_heads(own, &(*heads)[layer]);
  });
}

// Released files give the heads of full layers by two fields; transformers writes a table of the
// layers that differ.
Status read_heads(JsonView config, bool keys_as_values, ModelConfig* out) {
  PC_TRY(const std::uint32_t full_dim,
         extent_or(config, "global_head_dim", 2, kMostHeads, kDefaultGlobalHeadDim));
  PC_TRY(const std::uint32_t full_kv,
         extent_or(config, "num_global_key_value_heads", 1, kMostHeads, out->n_kv_heads));
  out->layer_heads.assign(out->n_layers, {out->n_heads, out->n_kv_heads, out->head_dim});
  if (const auto table = config.find("per_layer_config"))
    return read_table(*table, &out->layer_heads);
  for (std::uint32_t i = 0; i < out->n_layers; ++i) {
    if (out->windows[i] != 0) continue;
    out->layer_heads[i].head_dim = full_dim;
    if (keys_as_values) out->layer_heads[i].n_kv_heads = full_kv;
  }
  return ok();
}

Status read_mixture(JsonView config, ModelConfig* out) {
  PC_TRY(const bool mixes, config.boolean_or("enable_moe_block", false));
  if (!mixes) return ok();
  PC_TRY(out->mixture, read_mixture_config(config, {.used = "top_k_experts"}, out->n_layers));
  set_mixture(out);
  return ok();
}

Status configure(JsonView config, ModelConfig* out) {
  set_common(out);
  PC_TRY(const std::string both_ways, config.string_or("use_bidirectional_attention", ""));
  if (both_ways == "all") {
    return config.error(
        Code::kUnsupported,
        "use_bidirectional_attention is \"all\"; only causal attention is computed");
  }
  PC_TRY(const bool bias, config.boolean_or("attention_bias", false));
  out->set_qkv_bias(bias);
  out->o_bias = bias;
  PC_TRY(out->logit_softcap, config.number_or("final_logit_softcapping", 0));
  PC_CHECK_OK(read_windows(config, out));
  PC_TRY(const bool keys_as_values, config.boolean_or("attention_k_eq_v", false));
  PC_CHECK_OK(read_heads(config, keys_as_values, out));
  for (std::uint32_t i = 0; keys_as_values && i < out->n_layers; ++i)
    out->keys_as_values.push_back(out->windows[i] == 0);
  PC_TRY(const std::uint32_t n_shared,
         extent_or(config, "num_kv_shared_layers", 0, out->n_layers, 0));
  PC_CHECK_OK(share_states(n_shared, out));
  PC_TRY(const bool wide, config.boolean_or("use_double_wide_mlp", false));
  for (std::uint32_t i = 0; wide && i < out->n_layers; ++i)
    out->layer_d_ffn.push_back(out->has_states(i) ? out->d_ffn : 2 * out->d_ffn);
  PC_TRY(out->d_ple,
         extent_or(config, "hidden_size_per_layer_input", 0, out->d_model, kDefaultPle));
  PC_CHECK_OK(read_mixture(config, out));
  PC_TRY(RopeConfig full,
         read_rope_config(config, out->context_tokens, kFullTheta, "full_attention"));
  PC_TRY(RopeConfig sliding,
         read_rope_config(config, out->context_tokens, kSlidingTheta, "sliding_attention"));
  if (!config.find("rope_parameters")) {
    full.type = "proportional";
    full.partial_rotary_factor = kFullShare;
  }
  choose_ropes(std::move(full), std::move(sliding), out);
  return ok();
}

TensorNames names(const ModelConfig& config) {
  TensorNames names = gemma_names(config);
  names.ple_gate = "per_layer_input_gate";
  names.ple_out = "per_layer_projection";
  names.ple_norm = "post_per_layer_input_norm";
  names.output_scale = "layer_scalar";
  names.ple_embedding = "model.embed_tokens_per_layer";
  names.ple_projection = "model.per_layer_model_projection";
  names.ple_projection_norm = "model.per_layer_projection_norm";
  names.router = "router.proj";
  names.router_norm = "router.scale";
  names.expert_scales = "router.per_expert_scale";
  names.expert_prefix = "";
  names.expert_gate_up = "experts.gate_up_proj";
  names.expert_down = "experts.down_proj";
  names.stack_ending = "";
  names.shared_gate = names.gate;
  names.shared_up = names.up;
  names.shared_down = names.down;
  names.expert_norm = "pre_feedforward_layernorm_2";
  names.made_norm = "post_feedforward_layernorm_2";
  names.ffn_made_norm = "post_feedforward_layernorm_1";
  return names;
}

TensorNames media_names(const ModelConfig& config) {
  return text_names(names(config));
}

Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  set_common(out);
  PC_TRY(out->logit_softcap, keys.number_or("final_logit_softcapping", 0));
  PC_TRY(const std::uint32_t window, read_gguf_window(keys, kDefaultWindow));
  PC_TRY(const std::vector<bool> sliding,
         read_gguf_sliding_layers(keys, out->n_layers, kFullEvery));
  PC_TRY(const std::uint32_t sliding_dim,
         keys.extent_or("attention.key_length_swa", kMostHeads, out->head_dim));
  for (std::uint32_t i = 0; i < out->n_layers; ++i) {
    out->windows[i] = sliding[i] ? window : 0;
    if (out->layer_heads.size() <= i)
      out->layer_heads.push_back({out->n_heads, out->n_kv_heads, out->head_dim});
    if (sliding[i]) out->layer_heads[i].head_dim = sliding_dim;
    const std::string prefix = "blk." + std::to_string(i) + ".";
    out->keys_as_values.push_back(!keys.has_tensor(prefix + "attn_v.weight"));
  }
  PC_TRY(const std::uint32_t n_shared,
         keys.count_or("attention.shared_kv_layers", out->n_layers, 0));
  PC_CHECK_OK(share_states(n_shared, out));
  PC_TRY(out->d_ple, keys.count_or("embedding_length_per_layer_input", out->d_model, 0));
  out->output_scales = keys.has_tensor("blk.0.layer_output_scale.weight");
  PC_TRY(out->mixture, read_gguf_mixture(keys, {.normalised = true}, out->n_layers, out->d_ffn));
  if (out->mixture.n_experts != 0) set_mixture(out);
  RopeConfig turning;
  PC_TRY(turning.theta, keys.number_or("rope.freq_base_swa", kSlidingTheta));
  PC_TRY(const std::uint32_t dims,
         keys.extent_or("rope.dimension_count_swa", sliding_dim, sliding_dim));
  turning.partial_rotary_factor = static_cast<double>(dims) / sliding_dim;
  choose_ropes(out->ropes[0], std::move(turning), out);
  return ok();
}

TensorNames names_of_gguf(const ModelConfig& config) {
  TensorNames names = gguf_names(config);
  names.router_norm = "ffn_gate_inp.scale";
  names.expert_scales = "ffn_down_exps.scale";
  names.expert_gate_up = "ffn_gate_up_exps";
  names.shared_gate = names.gate;
  names.shared_up = names.up;
  names.shared_down = names.down;
  names.expert_norm = "pre_ffw_norm_2";
  names.made_norm = "post_ffw_norm_2";
  names.ffn_made_norm = "post_ffw_norm_1";
  return names;
}

}  // namespace

extern const Family kGemma4{.name = "gemma4",
                            .architecture = "Gemma4ForCausalLM",
                            .fields = kFields,
                            .configure = configure,
                            .names = names,
                            .gguf_architecture = "gemma4",
                            .configure_gguf = configure_gguf,
                            .gguf_names = names_of_gguf};

extern const Family kGemma4Media{.name = "gemma4",
                                 .architecture = "Gemma4ForConditionalGeneration",
                                 .other_architecture = "Gemma4UnifiedForConditionalGeneration",
                                 .fields = kFields,
                                 .several_media = true,
                                 .configure = configure,
                                 .names = media_names,
                                 .gguf_architecture = ""};

}  // namespace pc
