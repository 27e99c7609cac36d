#include "runtime/model/shape/gguf_config.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace pc {
namespace {

// Limits far above every published model, as those of config.json are.
constexpr std::uint64_t kMaxExtent = std::uint64_t{1} << 24;
constexpr std::uint64_t kMaxLayers = 4096;
constexpr std::uint64_t kMaxContext = std::uint64_t{1} << 30;

// Refuses embedding models, which come under the names of the decoders they were made from.
Status check_causal(const GgufKeys& keys) {
  PC_TRY(const bool causal, keys.metadata().boolean_or(keys.full("attention.causal"), true));
  if (causal) return ok();
  return keys.error(Code::kUnsupported, "attention.causal",
                    "says that tokens see those after them; only decoders are computed");
}

// A number of all layers, or a list of each one's. Their largest goes to *most, 0 where the key is
// absent; to *of_layers, {} where all are the same. A recurrent layer may have none, or where
// `lacked` any, which is then said of it.
Status read_of_layers(const GgufKeys& keys, std::string_view key, const ModelConfig& config,
                      std::uint32_t* most, std::vector<std::uint32_t>* of_layers,
                      bool lacked = false) {
  const GgufValue* value = keys.metadata().find(keys.full(key));
  if (!value || !value->is_array) {
    PC_TRY(*most, keys.extent_or(key, kMaxExtent, 0));
    return ok();
  }
  PC_TRY(const auto list, keys.metadata().integers(keys.full(key)));
  const std::uint32_t n_layers = config.n_layers + config.n_further_layers;
  if (list.size() != n_layers)
    return keys.error(Code::kCorrupt, key,
                      "is not a list of " + std::to_string(n_layers) + " layers");
  of_layers->assign(config.n_layers, 0);
  for (std::uint32_t i = 0; i < config.n_layers; ++i) {
    if ((lacked || config.is_recurrent(i)) && list[i] == 0) continue;
    if (list[i] < 1 || list[i] > static_cast<std::int64_t>(kMaxExtent))
      return keys.error(Code::kUnsupported, key,
                        "is " + std::to_string(list[i]) + " for layer " + std::to_string(i));
    (*of_layers)[i] = static_cast<std::uint32_t>(list[i]);
  }
  *most = std::ranges::max(*of_layers);
  if (*most == 0) return keys.error(Code::kUnsupported, key, "is 0 for all layers");
  if (!lacked) std::ranges::replace(*of_layers, 0u, *most);  // it means nothing of them
  if (std::ranges::all_of(*of_layers, [&](std::uint32_t n) { return n == *most; }))
    of_layers->clear();
  return ok();
}

// Layers without heads for keys and values: recurrent ones, in families that have such.
Status read_layers_without_keys(const GgufKeys& keys, ModelConfig* out) {
  const std::string key = keys.full("attention.head_count_kv");
  const GgufValue* value = keys.metadata().find(key);
  if (!value || !value->is_array) return ok();
  PC_TRY(const auto list, keys.metadata().integers(key));
  if (std::ranges::find(list, 0) == list.end()) return ok();
  for (std::uint32_t i = 0; i < out->n_layers && i < list.size(); ++i)
    out->recurrent.layers.push_back(list[i] == 0);
  return ok();
}

// Heads of layers that differ in their number.
Status read_heads(const GgufKeys& keys, ModelConfig* out) {
  std::vector<std::uint32_t> heads, kv_heads;
  PC_CHECK_OK(read_of_layers(keys, "attention.head_count", *out, &out->n_heads, &heads));
  if (out->n_heads == 0) return keys.error(Code::kCorrupt, "attention.head_count", "is missing");
  PC_CHECK_OK(read_layers_without_keys(keys, out));
  PC_CHECK_OK(read_of_layers(keys, "attention.head_count_kv", *out, &out->n_kv_heads, &kv_heads));
  if (out->n_kv_heads == 0) {
    out->n_kv_heads = out->n_heads;
    kv_heads = heads;
  }
  for (std::uint32_t i = 0; (!heads.empty() || !kv_heads.empty()) && i < out->n_layers; ++i)
    out->layer_heads.push_back({heads.empty() ? out->n_heads : heads[i],
                                kv_heads.empty() ? out->n_kv_heads : kv_heads[i], 0});
  return ok();
}

// "attention.kv_lora_rank" says that attention is latent. Files that were written before mid-2025
// have the sizes of heads as the usual kind does; later ones have those of the latent there.
Result<LatentConfig> read_latent(const GgufKeys& keys) {
  LatentConfig latent;
  if (!keys.has("attention.kv_lora_rank")) return latent;
  const auto either = [&](std::string_view key) {
    const std::string own = std::string(key) + "_mla";
    return keys.extent(keys.has(own) ? own : std::string(key), kMaxExtent);
  };
  PC_TRY(latent.dims, keys.extent("attention.kv_lora_rank", kMaxExtent));
  PC_TRY(latent.q_rank, keys.count_or("attention.q_lora_rank", kMaxExtent, 0));
  PC_TRY(latent.rotary, keys.extent("rope.dimension_count", kMaxExtent));
  PC_TRY(const std::uint32_t key_dims, either("attention.key_length"));
  PC_TRY(latent.value, either("attention.value_length"));
  if (key_dims <= latent.rotary)
    return keys.error(Code::kCorrupt, "attention.key_length",
                      "leaves nothing beside the rotated dimensions");
  latent.nope = key_dims - latent.rotary;
  return latent;
}

Status read_head_dim(const GgufKeys& keys, ModelConfig* out) {
  PC_TRY(out->head_dim, keys.extent_or("attention.key_length", kMaxExtent, 0));
  if (out->head_dim == 0) {
    if (out->d_model % out->n_heads != 0) {
      return keys.error(Code::kUnsupported, "attention.key_length",
                        "is missing, and the heads do not divide embedding_length");
    }
    out->head_dim = out->d_model / out->n_heads;
  }
  for (HeadsConfig& heads : out->layer_heads) heads.head_dim = out->head_dim;
  PC_TRY(const std::uint32_t value_length,
         keys.extent_or("attention.value_length", kMaxExtent, out->head_dim));
  if (value_length != out->head_dim) {
    return keys.error(Code::kUnsupported, "attention.value_length",
                      "differs from attention.key_length; such attention is not computed");
  }
  return ok();
}

Status read_shape(const GgufKeys& keys, ModelConfig* out) {
  PC_TRY(out->n_layers, keys.extent("block_count", kMaxLayers));
  PC_TRY(out->n_further_layers, keys.count_or("nextn_predict_layers", out->n_layers - 1, 0));
  out->n_layers -= out->n_further_layers;
  PC_TRY(out->d_model, keys.extent("embedding_length", kMaxExtent));
  PC_CHECK_OK(read_heads(keys, out));
  PC_CHECK_OK(
      read_of_layers(keys, "feed_forward_length", *out, &out->d_ffn, &out->layer_d_ffn, true));
  if (out->d_ffn == 0 && keys.has("expert_count")) {  // all layers are mixtures
    PC_TRY(out->d_ffn, keys.extent_or("expert_feed_forward_length", kMaxExtent, 0));
  }
  if (out->d_ffn == 0) return keys.error(Code::kCorrupt, "feed_forward_length", "is missing");
  PC_TRY(out->context_tokens, keys.extent("context_length", kMaxContext));
  PC_TRY(const LatentConfig latent, read_latent(keys));
  if (latent.dims == 0) return read_head_dim(keys, out);
  if (!out->layer_heads.empty())
    return keys.error(Code::kUnsupported, "attention.head_count", "differs between layers");
  out->set_latent(latent, 1);
  return ok();
}

// The vocabulary's size is the embedding's number of rows, since a file's list of tokens
// may be shorter than the vocabulary that was trained.
Status read_vocabulary(const GgufKeys& keys, ModelConfig* out) {
  const TensorMap& tensors = keys.tensors();
  const auto embedding = tensors.find(std::string_view("token_embd.weight"));
  if (embedding == tensors.end() || embedding->second.shape.size() != 2 ||
      embedding->second.shape[0] > kMaxExtent) {
    return error(Code::kCorrupt,
                 keys.metadata().file() + ": tensor \"token_embd.weight\" is missing or misshapen");
  }
  out->vocab_size = static_cast<std::uint32_t>(embedding->second.shape[0]);
  out->tied_embeddings = !keys.has_tensor("output.weight");
  return ok();
}

Status read_ends(const GgufKeys& keys, ModelConfig* out) {
  const GgufMetadata& m = keys.metadata();
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                          "tokenizer.ggml.eom_token_id", "tokenizer.ggml.bos_token_id"}) {
    if (!m.has(key)) continue;
    PC_TRY(const std::uint64_t id, m.integer(key));
    if (id == UINT32_MAX) continue;  // how some writers say "none"
    if (id >= out->vocab_size) {
      return m.error(Code::kMismatch, key,
                     "is token " + std::to_string(id) + " of a vocabulary of " +
                         std::to_string(out->vocab_size));
    }
    const auto token = static_cast<std::int32_t>(id);
    if (std::string_view(key).ends_with("bos_token_id")) {
      out->bos = token;
    } else if (std::find(out->eos.begin(), out->eos.end(), token) == out->eos.end()) {
      out->eos.push_back(token);
    }
  }
  return ok();
}

Status read_yarn(const GgufKeys& keys, RopeConfig* rope) {
  PC_TRY(rope->beta_fast, keys.number_or("rope.scaling.yarn_beta_fast", 32));
  PC_TRY(rope->beta_slow, keys.number_or("rope.scaling.yarn_beta_slow", 1));
  PC_TRY(const double blend, keys.number_or("rope.scaling.yarn_ext_factor", 1));
  if (blend >= 0 && blend != 1) {  // negative: the file does not say
    return keys.error(Code::kUnsupported, "rope.scaling.yarn_ext_factor",
                      "is " + std::to_string(blend) + "; only YaRN's own 1 is computed");
  }
  // Converters write config.json's attention_factor, which stands in place of YaRN's own; 1 is how
  // other writers say nothing.
  PC_TRY(const double factor, keys.number_or("rope.scaling.attn_factor", 1));
  PC_TRY(const double whole, keys.number_or("rope.scaling.yarn_attn_factor", 1));
  const double own = rope->factor <= 1 ? 1.0 : 0.1 * std::log(rope->factor) + 1.0;
  rope->attention_factor = factor * (whole == 1 ? own : whole);
  return ok();
}

Status read_scaling(const GgufKeys& keys, ModelConfig* out, RopeConfig* rope) {
  const std::string type_key = keys.full("rope.scaling.type");
  PC_TRY(const std::string_view type, keys.metadata().string_or(type_key, "none"));
  PC_TRY(const double old_factor, keys.number_or("rope.scale_linear", 1));
  PC_TRY(rope->factor, keys.number_or("rope.scaling.factor", old_factor));
  if (rope->factor == 0) rope->factor = 1;  // how some writers say "none"
  PC_TRY(rope->original_context,
         keys.number_or("rope.scaling.original_context_length", out->context_tokens));
  const std::uint32_t half =
      static_cast<std::uint32_t>(rope->partial_rotary_factor * out->head_dim) / 2;
  PC_TRY(rope->frequency_factors, keys.factors("rope_freqs.weight", half));
  PC_TRY(rope->long_factors, keys.factors("rope_factors_long.weight", half));
  PC_TRY(rope->short_factors, keys.factors("rope_factors_short.weight", half));
  if (!rope->long_factors.empty() || type == "longrope") {
    rope->type = "longrope";
    rope->factor = out->context_tokens / rope->original_context;
    if (keys.has("rope.scaling.attn_factor")) {
      PC_TRY(rope->attention_factor, keys.number_or("rope.scaling.attn_factor", 1));
    }
    return ok();
  }
  if (type == "yarn") {
    rope->type = "yarn";
    return read_yarn(keys, rope);
  }
  if (type == "linear" || (type == "none" && rope->factor != 1)) {
    rope->type = "linear";
    return ok();
  }
  if (type == "none") return ok();
  return keys.error(
      Code::kUnsupported, "rope.scaling.type",
      "is \"" + std::string(type) + "\"; none, linear, yarn and longrope are computed");
}

Status read_rope(const GgufKeys& keys, ModelConfig* out) {
  PC_TRY(const std::uint32_t dims,
         keys.extent_or("rope.dimension_count", out->head_dim, out->head_dim));
  RopeConfig rope;
  PC_TRY(rope.theta, keys.number_or("rope.freq_base", 10000));
  rope.partial_rotary_factor = rotary_share(dims, out->head_dim);
  PC_CHECK_OK(read_scaling(keys, out, &rope));
  out->ropes.push_back(std::move(rope));
  out->layer_ropes.assign(out->n_layers, 0);
  return ok();
}

}  // namespace

Result<std::uint32_t> GgufKeys::extent(std::string_view key, std::uint64_t limit) const {
  PC_TRY(const std::uint64_t n, metadata_.integer(full(key)));
  if (n >= 1 && n <= limit) return static_cast<std::uint32_t>(n);
  return error(Code::kUnsupported, key,
               "is " + std::to_string(n) + ", wanted 1 to " + std::to_string(limit));
}

Result<std::uint32_t> GgufKeys::extent_or(std::string_view key, std::uint64_t limit,
                                          std::uint32_t absent) const {
  if (!has(key)) return absent;
  return extent(key, limit);
}

Result<std::uint32_t> GgufKeys::count_or(std::string_view key, std::uint64_t limit,
                                         std::uint32_t absent) const {
  PC_TRY(const std::uint64_t n, metadata_.integer_or(full(key), absent));
  if (n <= limit) return static_cast<std::uint32_t>(n);
  return error(Code::kUnsupported, key,
               "is " + std::to_string(n) + ", wanted 0 to " + std::to_string(limit));
}

Result<std::vector<double>> GgufKeys::factors(std::string_view tensor, std::uint32_t n) const {
  std::vector<double> values;
  const auto found = tensors_.find(tensor);
  if (found == tensors_.end()) return values;
  const TensorView& view = found->second;
  if (view.dtype != "F32" || view.bytes.size() != std::size_t{n} * sizeof(float)) {
    return pc::error(Code::kMismatch, view.file + ": tensor \"" + std::string(tensor) + "\" is " +
                                          std::string(view.dtype) + " " + shape_text(view.shape) +
                                          ", wanted F32 [" + std::to_string(n) + "]");
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    float value;
    std::memcpy(&value, view.bytes.data() + i * sizeof value, sizeof value);
    values.push_back(value);
  }
  return values;
}

Result<ModelConfig> read_gguf_config(const GgufKeys& keys, bool rotates) {
  ModelConfig out;
  PC_CHECK_OK(check_causal(keys));
  PC_CHECK_OK(read_shape(keys, &out));
  PC_CHECK_OK(read_vocabulary(keys, &out));
  PC_CHECK_OK(read_ends(keys, &out));
  const bool layer_norm = !keys.has("attention.layer_norm_rms_epsilon");
  PC_TRY(out.norm_eps, keys.number_or(layer_norm ? "attention.layer_norm_epsilon"
                                                 : "attention.layer_norm_rms_epsilon",
                                      1e-5));
  out.windows.assign(out.n_layers, 0);
  out.layer_ropes.assign(out.n_layers, PC_NO_ROPE);
  if (rotates) PC_CHECK_OK(read_rope(keys, &out));
  out.fused_qkv = keys.has_tensor("blk.0.attn_qkv.weight");
  // No key says which biases there are; the tensors show it.
  out.q_bias = keys.has_tensor("blk.0.attn_q.bias") || keys.has_tensor("blk.0.attn_qkv.bias");
  out.k_bias = keys.has_tensor("blk.0.attn_k.bias");
  out.v_bias = keys.has_tensor("blk.0.attn_v.bias");
  out.o_bias = keys.has_tensor("blk.0.attn_output.bias");
  out.ffn_bias = keys.has_tensor("blk.0.ffn_down.bias");
  out.norm_bias = keys.has_tensor("output_norm.bias");
  return out;
}

Result<std::uint32_t> read_gguf_window(const GgufKeys& keys, std::uint32_t absent) {
  const GgufMetadata& m = keys.metadata();
  PC_TRY(const std::uint64_t window, m.integer_or(keys.full("attention.sliding_window"), absent));
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(window, INT32_MAX));
}

Result<std::vector<bool>> read_gguf_sliding_layers(const GgufKeys& keys, std::uint32_t n_layers,
                                                   std::uint32_t full_every) {
  constexpr std::string_view kKey = "attention.sliding_window_pattern";
  const GgufValue* value = keys.metadata().find(keys.full(kKey));
  if (!value || !value->is_array) {
    PC_TRY(const std::uint32_t every, keys.extent_or(kKey, kMaxLayers, full_every));
    return sliding_but_every(n_layers, every);
  }
  PC_TRY(const auto list, keys.metadata().integers(keys.full(kKey)));
  if (list.size() != n_layers) {
    return keys.error(Code::kCorrupt, kKey,
                      "is not a list of " + std::to_string(n_layers) + " layers");
  }
  return std::vector<bool>(list.begin(), list.end());
}

Result<std::vector<bool>> read_gguf_recurrent_layers(const GgufKeys& keys, std::uint32_t n_layers,
                                                     std::uint32_t full_every) {
  constexpr std::string_view kKey = "attention.recurrent_layers";
  if (!keys.has(kKey)) {
    PC_TRY(const std::uint32_t every,
           keys.extent_or("full_attention_interval", kMaxLayers, full_every));
    return sliding_but_every(n_layers, every);
  }
  PC_TRY(const auto list, keys.metadata().integers(keys.full(kKey)));
  if (list.size() < n_layers) {  // layers behind the last may be on it
    return keys.error(Code::kCorrupt, kKey,
                      "is not a list of " + std::to_string(n_layers) + " layers");
  }
  return std::vector<bool>(list.begin(), list.begin() + n_layers);
}

}  // namespace pc
