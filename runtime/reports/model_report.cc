#include "runtime/reports/model_report.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "modules/kv.h"
#include "runtime/backend/layer_parts.h"
#include "runtime/backend/state_map.h"
#include "runtime/backend/states_shape.h"
#include "runtime/chat/turns/own_chat_format.h"
#include "runtime/json/json_writer.h"
#include "runtime/model/model_digest.h"
#include "runtime/model/remembered_digest.h"
#include "runtime/reports/model_inspection.h"
#include "simd/types.h"

namespace pc {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

// ------------------------------------------------------------------ shape

// A number of the model's shape: what it is called in the report, in GGUF
// (behind the architecture), in config.json, and in a loaded model.
struct ShapeField {
  const char *key, *gguf, *config;
  std::uint32_t (*of)(const Model& model);
};
// The first layer that has a mixture says it for all.
const pc_mixture* first_mixture(const Model& m) {
  const auto found = std::ranges::find_if(
      m.layers, [](const pc_layer& layer) { return layer.mixture.n_experts != 0; });
  return found == m.layers.end() ? nullptr : &found->mixture;
}

constexpr std::array<ShapeField, 11> kShape{{
    {"layers", "block_count", "num_hidden_layers", [](const Model& m) { return m.desc.n_layers; }},
    {"d_model", "embedding_length", "hidden_size", [](const Model& m) { return m.desc.d_model; }},
    {"heads", "attention.head_count", "num_attention_heads",
     [](const Model& m) { return m.layers[0].n_heads; }},
    {"kv_heads", "attention.head_count_kv", "num_key_value_heads",
     [](const Model& m) { return m.layers[0].n_kv_heads; }},
    {"head_dim", "attention.key_length", "head_dim",
     [](const Model& m) { return m.layers[0].head_dim; }},
    {"d_ffn", "feed_forward_length", "intermediate_size",
     [](const Model& m) { return m.desc.d_ffn; }},
    {"experts", "expert_count", "num_experts",
     [](const Model& m) {
       const pc_mixture* mixture = first_mixture(m);
       return mixture ? mixture->n_experts : 0u;
     }},
    {"experts_used", "expert_used_count", "num_experts_per_tok",
     [](const Model& m) {
       const pc_mixture* mixture = first_mixture(m);
       return mixture ? mixture->n_used : 0u;
     }},
    {"d_expert", "expert_feed_forward_length", "moe_intermediate_size",
     [](const Model& m) {
       const pc_mixture* mixture = first_mixture(m);
       return mixture ? mixture->experts[0].up.rows : 0u;
     }},
    {"vocab_size", "vocab_size", "vocab_size", [](const Model& m) { return m.desc.vocab_size; }},
    {"context_tokens", "context_length", "max_position_embeddings",
     [](const Model& m) { return m.context_tokens; }},
}};

// Of a refused model what its files say, where they say it plainly.
std::optional<std::uint64_t> shape_of(const Inspection& found, const ShapeField& field) {
  if (found.model) return field.of(*found.model);
  if (found.metadata) {
    const std::string key = found.architecture + "." + field.gguf;
    if (!found.metadata->has(key)) return std::nullopt;
    const auto value = found.metadata->integer(key);
    return value.ok() ? std::optional(value.value()) : std::nullopt;
  }
  const auto value = found.config ? found.config->root().find(field.config) : std::nullopt;
  if (!value || !value->integer_in(0, INT64_MAX).ok()) return std::nullopt;
  return static_cast<std::uint64_t>(value->integer().value());
}

// ---------------------------------------------------------------- weights

struct Group {
  std::set<std::string> types;
  std::uint64_t parameters = 0, bytes = 0;

  void add(std::string type, std::uint64_t n_parameters, std::uint64_t n_bytes) {
    types.insert(std::move(type));
    parameters += n_parameters;
    bytes += n_bytes;
  }
  void add(const pc_tensor& t) {
    if (!t.data) return;
    const std::uint64_t n = std::uint64_t{t.rows} * t.cols;
    add(dtype_name(t.dtype), n, simd::bytes_of(static_cast<simd::Type>(t.dtype), n));
  }
  template <class... Tensors>
  void add_all(const Tensors&... tensors) {
    (add(tensors), ...);
  }
  void add_ffn(const pc_ffn& f) { add_all(f.gate, f.up, f.down, f.b_gate, f.b_up, f.b_down); }
};

struct Groups {
  Group embedding, per_layer, attention, feed_forward, experts, norms, output;
};

Groups groups_of(const pc_model_desc& desc) {
  Groups groups;
  groups.embedding.add_all(desc.embedding, desc.position_embedding);
  groups.per_layer.add(desc.ple_embedding);
  groups.feed_forward.add(desc.ple_projection);
  groups.norms.add_all(desc.final_norm, desc.final_norm_bias, desc.ple_norm);
  if (desc.lm_head.data != desc.embedding.data) groups.output.add(desc.lm_head);
  for (std::uint32_t i = 0; i < desc.n_layers; ++i) {
    const pc_layer& l = desc.layers[i];
    groups.attention.add_all(l.wq, l.wk, l.wv, l.wo, l.bq, l.bk, l.bv, l.bo);
    groups.attention.add_all(l.recurrent.in, l.recurrent.conv, l.recurrent.conv_bias,
                             l.recurrent.gate, l.recurrent.decay, l.recurrent.write, l.recurrent.a,
                             l.recurrent.step_bias, l.recurrent.skip, l.recurrent.out);
    groups.norms.add_all(l.recurrent.norm);
    groups.feed_forward.add_ffn(l.ffn);
    groups.feed_forward.add_all(l.ple_gate, l.ple_out);
    for (const pc_ffn& expert : experts_of(l)) groups.experts.add_ffn(expert);
    groups.experts.add_all(l.mixture.router, l.mixture.router_bias, l.mixture.choice_bias,
                           l.mixture.ffn_gate, l.mixture.expert_scales);
    groups.norms.add_all(l.mixture.router_norm, l.mixture.expert_norm, l.mixture.made_norm,
                         l.mixture.ffn_made_norm, l.ple_norm);
    groups.norms.add_all(l.attn_norm, l.attn_norm_bias, l.q_norm, l.k_norm, l.attn_post_norm,
                         l.ffn_norm, l.ffn_norm_bias, l.ffn_post_norm);
  }
  return groups;
}

void write_types(JsonWriter& json, const Group& group) {
  json.begin_array();
  for (const std::string& type : group.types) json.value(type);
  json.end_array();
}

void write_weights(JsonWriter& json, const Inspection& found) {
  Group all;
  for (const auto& [name, view] : found.checkpoint().tensors) {
    std::uint64_t n = 1;  // fits: the parser checked it times the element's size
    for (const std::uint64_t extent : view.shape) n *= extent;
    all.add(lower(view.dtype), n, view.bytes.size());
  }
  json.key("parameters").value(all.parameters).key("weight_bytes").value(all.bytes);
  json.key("weight_types");
  write_types(json, all);
  json.key("weights").begin_array();
  if (found.model) {
    const Groups groups = groups_of(found.model->desc);
    const auto write = [&](const char* name, const Group& group) {
      json.begin_object().key("group").value(name).key("types");
      write_types(json, group);
      json.key("parameters").value(group.parameters);
      json.key("bytes").value(group.bytes).end_object();
    };
    write("embedding", groups.embedding);
    if (groups.per_layer.parameters != 0) write("per-layer embedding", groups.per_layer);
    write("attention", groups.attention);
    if (groups.feed_forward.parameters != 0) write("feed-forward", groups.feed_forward);
    if (groups.experts.parameters != 0) write("experts", groups.experts);
    write("norms", groups.norms);
    write("output", groups.output);
  }
  json.end_array();
}

// -------------------------------------------------------------- positions

void write_positions(JsonWriter& json, const Model& model) {
  std::uint32_t n_windows = 0, window = 0, n_plain = 0;
  for (const pc_layer& layer : model.layers) {
    n_plain += layer.rope == PC_NO_ROPE;
    n_windows += layer.window != 0;
    window = std::max(window, layer.window);
  }
  json.key("positions").value(position_scheme_name(model.positions()));
  json.key("relocates").value(model.relocates());
  if (model.positions() == PositionScheme::kRotary)
    json.key("layers_without_positions").value(n_plain);
  json.key("window_tokens").value(window).key("window_layers").value(n_windows);
}

// Layers that have states, by what they keep of a token.
void write_layers_of_states(JsonWriter& json, std::span<const KvLayer> layers) {
  std::vector<std::pair<KvLayer, std::uint32_t>> kinds;
  for (const KvLayer& layer : layers) {
    const auto same = [&](const auto& kind) { return kind.first == layer; };
    auto kind = std::ranges::find_if(kinds, same);
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {layer, 0});
    ++kind->second;
  }
  json.key("states").begin_array();
  for (const auto& [layer, n_layers] : kinds) {
    json.begin_object().key("layers").value(n_layers);
    json.key("kv_heads").value(layer.n_kv_heads).key("head_dim").value(layer.head_dim).end_object();
  }
  json.end_array();
}

// Bytes of a token's states in layers that see a window.
std::size_t window_bytes_of_token(const pc_model_desc& desc, KvType type) {
  std::size_t block_bytes = 0;
  for (const pc_layer& layer : std::span(desc.layers, desc.n_layers))
    if (has_states(layer) && layer.window != 0)
      block_bytes += 2 * layer.n_kv_heads * KvHead{type, layer.head_dim}.block_bytes();
  return block_bytes / kKvBlockTokens;
}

void write_states(JsonWriter& json, const Model& model, KvType type) {
  const KvGeometry geometry = states_shape(model.desc, type);
  write_layers_of_states(json, geometry.layers());
  json.key("kv_type").value(kv_type_name(type));
  json.key("kv_bytes_per_token").value(geometry.state_bytes(1) / kKvBlockTokens);
  json.key("window_kv_bytes_per_token").value(window_bytes_of_token(model.desc, type));
  json.key("recurrent_bytes").value(n_state_numbers(model.desc) * sizeof(float));
  json.key("recurrent_map_bytes").value(long_map_numbers(model.desc) * sizeof(float));
}

// ------------------------------------------------------ tokenizer, digests

void write_tokenizer(JsonWriter& json, const Tokenizer* tokenizer) {
  const bool has_own = tokenizer && !tokenizer->facts().chat_template.empty() &&
                       ChatProgram::parse(tokenizer->facts().chat_template, {}).ok();
  json.key("tokenizer");
  tokenizer ? json.value(tokenizer->facts().description) : json.null();
  json.key("chat_template");
  has_own ? json.value(kOwnChatFormat) : json.null();
  json.key("tokenizer_digest");
  tokenizer ? json.value(to_hex(tokenizer->digest())) : json.null();
}

void write_remembered_digest(JsonWriter& json, const Inspection& found,
                             const EngineOptions& options) {
  std::optional<Digest> digest;
  if (found.model) digest = recall_digest(found.checkpoint().files, digest_memory(options));
  json.key("weights_digest");
  digest ? json.value(to_hex(weights_digest(found.model->desc, *digest, found.model->folded)))
         : json.null();
}

}  // namespace

std::string dtype_name(std::uint32_t dtype) {
  if (dtype == PC_DTYPE_NONE || dtype >= simd::kTypeShapes.size()) return "none";
  return lower(simd::kTypeShapes[dtype].name);
}

Result<std::string> describe_model(const EngineOptions& options) {
  PC_TRY(Inspection found, inspect_model(options.model_path, options.context_tokens));
  if (found.model) {
    if (const Status context = check_context(*found.model, options.context_tokens); !context.ok())
      found.problems.push_back(context.error());
    if (const Status states = check_states(*found.model, options.kv_type); !states.ok())
      found.problems.push_back(states.error());
  }
  std::string text;
  JsonWriter json(&text);
  json.begin_object().key("path").value(found.path);
  json.key("format");
  found.model      ? json.value(found.model->format)
  : found.metadata ? json.value("gguf")
  : found.config   ? json.value("safetensors")
                   : json.null();
  json.key("architecture").value(found.architecture).key("family");
  found.model ? json.value(found.model->family) : json.null();
  json.key("refused");
  found.problems.empty() ? json.null() : json.value(found.problems.front().message);
  for (const ShapeField& field : kShape) {
    const auto value = shape_of(found, field);
    json.key(field.key);
    value ? json.value(*value) : json.null();
  }
  write_weights(json, found);
  if (found.model) {
    write_positions(json, *found.model);
    write_states(json, *found.model, options.kv_type);
  }
  write_tokenizer(json, found.tokenizer.get());
  write_remembered_digest(json, found, options);
  json.end_object();
  return text;
}

}  // namespace pc
