#include "runtime/model/shape/model_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>
#include <string_view>
#include <utility>

namespace pc {
namespace {

// Far above every published model; keeps all products of two within 64 bits.
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 24;
constexpr std::int64_t kMaxLayers = 4096;
constexpr std::uint32_t kMaxHeadDim = 8192;  // so that tables of frequencies stay small
constexpr std::int64_t kMaxContext = std::int64_t{1} << 30;  // positions are int32

// Fields of other or derived architectures that change the computation. They
// are sound only when absent, null, false, or the neutral number beside them.
struct Foreign {
  std::string_view key;
  double neutral;
};
constexpr std::array<Foreign, 21> kForeign{{
    {"quantization_config", 0},
    {"compression_config", 0},
    {"rope_interleaved", 0},
    {"alibi", 0},
    {"clip_qkv", 0},
    {"qk_layernorm", 0},
    {"use_qk_norm", 0},
    {"is_encoder_decoder", 0},
    {"add_cross_attention", 0},
    {"num_experts", 0},
    {"num_local_experts", 0},
    {"attn_logit_softcapping", 0},
    {"final_logit_softcapping", 0},
    {"use_bidirectional_attention", 0},
    {"attention_chunk_size", 0},
    {"logits_scaling", 1},
    {"logit_scale", 1},
    {"embedding_multiplier", 1},
    {"residual_multiplier", 1},
    {"no_rope_layer_interval", 0},
    {"per_layer_config", 0},
}};

Status check_foreign(JsonView config, std::span<const std::string_view> honoured) {
  PC_TRY(const bool causal, config.boolean_or("is_causal", true));
  if (!causal) {
    return config.error(Code::kUnsupported,
                        "is_causal is false: every token sees the whole text, as in models that "
                        "embed it; only causal attention is computed");
  }
  for (const Foreign& field : kForeign) {
    if (std::find(honoured.begin(), honoured.end(), field.key) != honoured.end()) continue;
    const auto value = config.find(field.key);
    if (!value) continue;
    bool neutral = false;
    if (value->is_boolean()) {
      PC_TRY(const bool on, value->boolean());
      neutral = !on;
    } else if (value->is_number()) {
      PC_TRY(const double number, value->number());
      neutral = number == field.neutral;
    }
    if (!neutral) {
      return value->error(Code::kUnsupported,
                          "changes the computation in a way that is not supported");
    }
  }
  return ok();
}

Status read_activation(JsonView config, const ConfigFields& fields, ModelConfig* out) {
  out->activation = fields.default_activation;
  PC_TRY(const std::string name, config.string_or(fields.activation, ""));
  if (name.empty()) return ok();
  const auto known = find_activation(name);
  if (!known) {
    return config.error(Code::kUnsupported,
                        std::string(fields.activation) + " \"" + name +
                            "\" is not supported; silu, gelu, gelu_pytorch_tanh and relu2 are");
  }
  out->activation = *known;
  return ok();
}

Result<std::uint32_t> read_extent(JsonView config, std::string_view key, std::int64_t limit) {
  PC_TRY(const JsonView value, config.member(key));
  PC_TRY(const std::int64_t n, value.integer_in(1, limit));
  return static_cast<std::uint32_t>(n);
}

Result<std::uint32_t> read_extent_or(JsonView config, std::string_view key,
                                     std::uint32_t fallback) {
  if (!config.find(key)) return fallback;
  return read_extent(config, key, kMaxExtent);
}

// A field that the file must have, where `fallback` is 0.
Result<std::uint32_t> read_extent_unless(JsonView config, std::string_view key,
                                         std::uint32_t fallback, std::int64_t limit) {
  if (fallback != 0 && !config.find(key)) return fallback;
  return read_extent(config, key, limit);
}

Result<std::uint32_t> read_n_layers(JsonView config, const ConfigFields& f) {
  const auto list = f.layer_list.empty() ? std::nullopt : config.find(f.layer_list);
  if (!list || !list->is_array() || config.find(f.layers))
    return read_extent(config, f.layers, kMaxLayers);
  const std::size_t n = list->size();
  if (n >= 1 && n <= kMaxLayers) return static_cast<std::uint32_t>(n);
  return list->error(Code::kUnsupported, "says of " + std::to_string(n) + " layers what they are");
}

Status read_shape(JsonView config, const ConfigFields& f, ModelConfig* out) {
  PC_TRY(out->n_layers, read_n_layers(config, f));
  PC_TRY(out->d_model, read_extent(config, f.d_model, kMaxExtent));
  PC_TRY(out->n_heads, read_extent_unless(config, f.heads, f.default_heads, kMaxExtent));
  PC_TRY(out->n_kv_heads, read_extent_or(config, f.kv_heads,
                                         f.default_kv_heads ? f.default_kv_heads : out->n_heads));
  if (f.d_ffn_optional && !config.find(f.d_ffn)) {
    out->d_ffn = 4 * out->d_model;
  } else {
    PC_TRY(out->d_ffn, read_extent(config, f.d_ffn, kMaxExtent));
  }
  PC_TRY(out->vocab_size, read_extent_unless(config, "vocab_size", f.default_vocab, kMaxExtent));
  PC_TRY(out->context_tokens,
         read_extent_unless(config, f.context, f.default_context, kMaxContext));
  const bool derived = f.default_head_dim == 0 && !config.find("head_dim");
  PC_TRY(out->head_dim, read_extent_or(config, "head_dim",
                                       derived ? out->d_model / out->n_heads : f.default_head_dim));
  if (derived && out->d_model % out->n_heads != 0) {
    return config.error(Code::kUnsupported,
                        std::string(f.d_model) + " " + std::to_string(out->d_model) +
                            " is not a multiple of " + std::string(f.heads) + " " +
                            std::to_string(out->n_heads) + ", and no head_dim is given");
  }
  return ok();
}

// A token id, or nothing for the negative numbers that some files use for "none".
Result<std::optional<std::int32_t>> read_token(JsonView value, std::uint32_t vocab_size) {
  PC_TRY(const std::int64_t id, value.integer());
  if (id < 0) return std::optional<std::int32_t>();
  if (id >= vocab_size) {
    return value.error(Code::kMismatch, "is token " + std::to_string(id) + " of a vocabulary of " +
                                            std::to_string(vocab_size));
  }
  return std::optional(static_cast<std::int32_t>(id));
}

Status append_token(JsonView value, std::uint32_t vocab_size, std::vector<std::int32_t>* ids) {
  PC_TRY(const auto id, read_token(value, vocab_size));
  if (id) ids->push_back(*id);
  return ok();
}

Status read_tokens(JsonView config, ModelConfig* out) {
  PC_TRY(out->eos, read_eos(config, out->vocab_size));
  const auto bos = config.find("bos_token_id");
  if (!bos) return ok();
  PC_TRY(out->bos, read_token(*bos, out->vocab_size));
  return ok();
}

}  // namespace

void ModelConfig::set_latent(const LatentConfig& parts, double scale) {
  latent = parts;
  n_kv_heads = 1;
  head_dim = parts.rotary + parts.dims;
  attn_scale = scale / std::sqrt(static_cast<double>(parts.nope) + parts.rotary);
  for (RopeConfig& rope : ropes) rope.partial_rotary_factor = rotary_share(parts.rotary, head_dim);
}

Result<std::string> read_architecture(JsonView config) {
  PC_TRY(const JsonView names, config.member("architectures"));
  if (!names.is_array() || names.size() != 1) {
    return names.error(Code::kUnsupported, "does not name exactly one architecture");
  }
  PC_TRY(const std::string_view name, names.at(0).string());
  return std::string(name);
}

Status check_shape(const std::string& where, const ModelConfig& c) {
  const auto refuse = [&](const std::string& what) {
    return error(Code::kUnsupported, where + ": " + what);
  };
  for (std::uint32_t i = 0; i < c.n_layers; ++i) {
    const HeadsConfig h = c.heads(i);
    if (h.n_heads % h.n_kv_heads != 0) {
      return refuse(std::to_string(h.n_heads) + " attention heads are not a multiple of " +
                    std::to_string(h.n_kv_heads) + " key/value heads");
    }
    if (h.head_dim % 2 != 0) return refuse("head_dim " + std::to_string(h.head_dim) + " is odd");
    if (std::uint64_t{h.n_heads} * h.head_dim > static_cast<std::uint64_t>(kMaxExtent))
      return refuse("heads times head_dim are over " + std::to_string(kMaxExtent));
    if (h.head_dim > kMaxHeadDim) {
      return refuse("head_dim " + std::to_string(h.head_dim) + " is over " +
                    std::to_string(kMaxHeadDim));
    }
    const std::uint32_t rope = c.layer_ropes[i];
    if (rope != PC_NO_ROPE && h.head_dim != c.rope_head_dim(rope))
      return refuse("layers of one rotary embedding differ in head_dim");
  }
  if (!c.recurrent.layers.empty() && c.recurrent.kind == PC_RECURRENCE_NONE)
    return refuse("some of its layers have no heads for keys and values");
  const auto layers = std::views::iota(0u, c.n_layers);
  if (std::ranges::none_of(layers, [&](std::uint32_t i) { return c.attends(i); }))
    return refuse("none of its layers attends; models of recurrent layers alone are not computed");
  const auto& [latent, rotary, nope, value, q_rank, norm_eps] = c.latent;
  if (std::uint64_t{c.n_heads} * (std::uint64_t{nope} + rotary + value + latent) >
      static_cast<std::uint64_t>(kMaxExtent))
    return refuse("heads times the dimensions of their parts are over " +
                  std::to_string(kMaxExtent));
  if (std::uint64_t{c.n_layers} * c.d_ple > static_cast<std::uint64_t>(kMaxExtent))
    return refuse("per-layer embeddings of all layers are over " + std::to_string(kMaxExtent));
  if (!(c.norm_eps > 0 && c.norm_eps < 1))
    return refuse("the norms' epsilon is not between 0 and 1");
  return ok();
}

std::optional<pc_activation> find_activation(std::string_view name) {
  if (name == "silu" || name == "swish") return PC_ACTIVATION_SILU;
  if (name == "relu2") return PC_ACTIVATION_RELU_SQUARED;
  if (name == "gelu") return PC_ACTIVATION_GELU;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return PC_ACTIVATION_GELU_TANH;
  return std::nullopt;
}

Result<ModelConfig> read_model_config(JsonView config, const ConfigFields& fields) {
  ModelConfig out;
  PC_CHECK_OK(check_foreign(config, fields.honoured));
  PC_CHECK_OK(read_activation(config, fields, &out));
  PC_CHECK_OK(read_shape(config, fields, &out));
  PC_TRY(out.norm_eps, config.number_or(fields.norm_eps, fields.default_norm_eps));
  PC_TRY(out.tied_embeddings, config.boolean_or("tie_word_embeddings", fields.default_tied));
  PC_CHECK_OK(read_tokens(config, &out));
  out.windows.assign(out.n_layers, 0);
  out.layer_ropes.assign(out.n_layers, PC_NO_ROPE);
  if (!fields.one_rope) return out;
  PC_TRY(RopeConfig rope, read_rope_config(config, out.context_tokens, fields.default_theta));
  out.ropes.push_back(std::move(rope));
  out.layer_ropes.assign(out.n_layers, 0);
  return out;
}

JsonView text_config(JsonView root) {
  const auto text = root.find("text_config");
  return text ? *text : root;
}

Status read_beside_text(JsonView root, const ConfigFields& fields, ModelConfig* out) {
  PC_CHECK_OK(check_foreign(root, fields.honoured));
  constexpr std::string_view kTied = "tie_word_embeddings";
  const bool beside = root.find(kTied).has_value(),
             inside = text_config(root).find(kTied).has_value();
  PC_TRY(const bool tied, root.boolean_or(kTied, false));
  out->tied_unsaid = beside == inside && (!beside || tied != out->tied_embeddings);
  if (beside) out->tied_embeddings = tied || (inside && out->tied_embeddings);
  if (out->eos.empty() && !out->bos) return read_tokens(root, out);
  return ok();
}

Result<std::vector<std::int32_t>> read_eos(JsonView config, std::uint32_t vocab_size) {
  std::vector<std::int32_t> ids;
  const auto value = config.find("eos_token_id");
  if (!value) return ids;
  if (!value->is_array()) {
    PC_CHECK_OK(append_token(*value, vocab_size, &ids));
    return ids;
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    PC_CHECK_OK(append_token(value->at(i), vocab_size, &ids));
  }
  return ids;
}

Result<std::uint32_t> read_window(JsonView config, std::uint32_t absent) {
  if (config.find("sliding_window")) return read_extent(config, "sliding_window", kMaxContext);
  PC_TRY(const bool none, says_null(config, "sliding_window"));
  return none ? 0 : absent;
}

Result<bool> says_null(JsonView config, std::string_view key) {
  bool found = false;
  PC_CHECK_OK(config.for_each_member([&](std::string_view member, JsonView value) -> Status {
    found = found || (member == key && value.is_null());
    return ok();
  }));
  return found;
}

Result<std::optional<std::vector<bool>>> read_sliding_layers(JsonView config,
                                                             std::uint32_t n_layers) {
  const auto types = config.find("layer_types");
  if (!types) return std::optional<std::vector<bool>>();
  if (!types->is_array() || types->size() != n_layers) {
    return types->error(Code::kCorrupt, "is not a list of " + std::to_string(n_layers) + " layers");
  }
  std::vector<bool> sliding;
  for (std::size_t i = 0; i < n_layers; ++i) {
    PC_TRY(const std::string_view type, types->at(i).string());
    if (type != "full_attention" && type != "sliding_attention") {
      return types->at(i).error(
          Code::kUnsupported,
          "is \"" + std::string(type) + "\"; supported are full_attention and sliding_attention");
    }
    sliding.push_back(type == "sliding_attention");
  }
  return std::optional(std::move(sliding));
}

std::vector<bool> sliding_but_every(std::uint32_t n_layers, std::uint32_t full_every) {
  std::vector<bool> sliding;
  for (std::uint32_t i = 0; i < n_layers; ++i) sliding.push_back((i + 1) % full_every != 0);
  return sliding;
}

std::vector<float> alibi_slopes(std::uint32_t n_heads, double max_bias) {
  std::uint32_t power = 1;
  while (power < n_heads) power *= 2;
  const auto slope = [&](std::uint32_t i) {
    return static_cast<float>(std::exp2(-max_bias * (i + 1) / power));
  };
  std::vector<float> slopes;
  if (power == n_heads) {
    for (std::uint32_t i = 0; i < power; ++i) slopes.push_back(slope(i));
    return slopes;
  }
  for (std::uint32_t i = 1; i < power; i += 2) slopes.push_back(slope(i));
  for (std::uint32_t i = 0; i < power; i += 2) slopes.push_back(slope(i));
  slopes.resize(n_heads);
  return slopes;
}

}  // namespace pc
