#include "runtime/model/model_digest.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <thread>

#include "base/mapped_file.h"             // expect_all
#include "base/parallel.h"                // usable_threads
#include "runtime/backend/layer_parts.h"  // is_recurrent
#include "simd/kernels.h"

namespace pc {
namespace {

// Pieces are so large that the list of their digests is negligible, and so small that the
// one big tensor of a model, its embedding, keeps all processors busy.
constexpr std::size_t kPieceBytes = std::size_t{8} << 20;

std::optional<simd::Type> find_type(std::string_view dtype) {
  for (std::uint32_t i = 1; i < simd::kTypeShapes.size(); ++i) {
    if (simd::kTypeShapes[i].name == dtype) return static_cast<simd::Type>(i);
  }
  return std::nullopt;
}

bool is_aligned(std::span<const std::byte> bytes, simd::Type type) {
  return reinterpret_cast<std::uintptr_t>(bytes.data()) % simd::shape_of(type).alignment == 0;
}

struct Piece {
  std::span<const std::byte> bytes;
  std::optional<simd::Type> type;  // whole blocks of it; absent: bytes that are only hashed
  Digest digest{};
  bool finite = true;
};

void cut(const TensorView& view, std::vector<Piece>* pieces) {
  const std::optional<simd::Type> type = find_type(view.dtype);
  const std::size_t unit = type ? simd::shape_of(*type).bytes : 1;
  const std::size_t most = kPieceBytes / unit * unit;
  for (std::size_t at = 0; at < view.bytes.size(); at += most) {
    pieces->push_back({view.bytes.subspan(at, std::min(most, view.bytes.size() - at)), type});
  }
}

bool all_finite(const simd::Kernels& kernels, std::span<const std::byte> bytes, simd::Type type) {
  const simd::TypeShape& shape = simd::shape_of(type);
  if (is_aligned(bytes, type))
    return kernels.all_finite(bytes.data(), type, bytes.size() / shape.bytes * shape.elements);
  alignas(64) std::array<std::byte, 4096> window;  // whole elements of every type that needs it
  for (std::size_t at = 0; at < bytes.size(); at += window.size()) {
    const auto part = bytes.subspan(at, std::min(window.size(), bytes.size() - at));
    std::copy(part.begin(), part.end(), window.begin());
    if (!all_finite(kernels, std::span(window).first(part.size()), type)) return false;
  }
  return true;
}

void scan(const simd::Kernels& kernels, Piece* piece) {
  expect_all(piece->bytes);
  // The look comes first: then the hash finds the bytes in the processor's cache.
  if (piece->type) piece->finite = all_finite(kernels, piece->bytes, *piece->type);
  piece->digest = sha256(piece->bytes);
}

// What the threads of one scan share. Each takes the next piece until none is left.
struct Scan {
  std::span<Piece> pieces;
  const simd::Kernels& kernels;
  ProgressCount count;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};

  // An exception that left a thread would end the process. `tells`: see ProgressCount.
  void work(bool tells) noexcept try {
    for (std::size_t i = next++; i < pieces.size() && !failed && !count.stopped(); i = next++) {
      scan(kernels, &pieces[i]);
      count.add(pieces[i].bytes.size(), tells);
    }
  } catch (...) {
    failed = true;  // hashing throws only when memory is exhausted
  }
};

Status scan_all(std::span<Piece> pieces, const ScanOptions& options) {
  std::uint64_t n_bytes = 0;
  for (const Piece& piece : pieces) n_bytes += piece.bytes.size();
  const std::uint32_t most = options.n_threads ? options.n_threads : usable_threads();
  const auto n_workers = std::min<std::uint64_t>(most, n_bytes / kPieceBytes + 1);
  Scan scan{pieces, simd::selected_or_scalar_kernels(), {options.progress, n_bytes}};
  std::vector<std::jthread> helpers;
  try {
    while (helpers.size() + 1 < n_workers) helpers.emplace_back([&scan] { scan.work(false); });
  } catch (const std::exception&) {
    // No more threads to be had: those that run, and this one, do the work.
  }
  scan.work(true);
  helpers.clear();  // joins them
  if (scan.failed)
    return error(Code::kOutOfMemory, "not enough memory to read the model's weights");
  if (scan.count.stopped()) return cancelled();
  return ok();
}

void hash_number(std::integral auto value, Sha256* hash) {
  hash->field(std::uint64_t{value});
}
void hash_number(float value, Sha256* hash) {
  hash->field(std::uint64_t{std::bit_cast<std::uint32_t>(value)});
}

template <class... Numbers>
void hash_numbers(Sha256* hash, Numbers... numbers) {
  (hash_number(numbers, hash), ...);
}

void hash_tensor(const pc_tensor& tensor, Sha256* hash) {
  const auto& [data, dtype, rows, cols] = tensor;
  hash_numbers(hash, std::uint64_t{data != nullptr}, dtype, rows, cols);
}

template <class... Tensors>
void hash_tensors(Sha256* hash, const Tensors&... tensors) {
  (hash_tensor(tensors, hash), ...);
}

// Here and below every field is bound by name, so that a new one does not
// compile before somebody has decided what it means for the digest.
void hash_ffn(const pc_ffn& ffn, Sha256* hash) {
  const auto& [gate, up, down, b_gate, b_up, b_down] = ffn;
  hash_tensors(hash, gate, up, down, b_gate, b_up, b_down);
}

void hash_mixture(const pc_mixture& mixture, Sha256* hash) {
  const auto& [n_experts, n_used, routing, normalised, scale, router_scale, n_groups, n_groups_used,
               group_best, router, router_bias, choice_bias, experts, ffn_gate, expert_scales,
               router_norm, expert_norm, made_norm, ffn_made_norm] = mixture;
  hash->field("mixture");
  hash_numbers(hash, n_experts, n_used, routing, normalised, scale, n_groups, n_groups_used,
               group_best);
  hash_tensors(hash, router, router_bias, choice_bias, ffn_gate);
  for (const pc_ffn& expert : std::span(experts, n_experts)) hash_ffn(expert, hash);
  // Digests of mixtures without these are older than them.
  if (router_scale != 1) {
    hash->field("router scale");
    hash_number(router_scale, hash);
  }
  if (expert_scales.data || router_norm.data || expert_norm.data || made_norm.data ||
      ffn_made_norm.data) {
    hash->field("norms of a mixture");
    hash_tensors(hash, expert_scales, router_norm, expert_norm, made_norm, ffn_made_norm);
  }
}

void hash_latent(const pc_latent& latent, std::uint32_t n_heads, Sha256* hash) {
  const auto& [dims, norm_eps, norm, q_down, q_norm, k_up, v_up] = latent;
  hash->field("latent");
  hash_numbers(hash, dims, norm_eps);
  hash_tensors(hash, norm, q_down, q_norm);
  for (const pc_tensor* up : {k_up, v_up})
    for (const pc_tensor& tensor : std::span(up, n_heads)) hash_tensor(tensor, hash);
}

void hash_recurrent(const pc_recurrent& recurrent, Sha256* hash) {
  const auto& [kind, n_channels, n_taps, n_heads, n_key_heads, keys_by_turns, d_k, d_v, norm_dims,
               step_least, step_most, gate_scale, in, conv, conv_bias, gate, decay, write, a,
               step_bias, skip, norm, out] = recurrent;
  hash->field("recurrent");
  hash_numbers(hash, kind, n_channels, n_taps, n_heads, n_key_heads, keys_by_turns, d_k, d_v,
               norm_dims, step_least, step_most);
  hash_tensors(hash, in, conv, conv_bias, gate, decay, write, a, step_bias, skip, norm, out);
  if (gate_scale != 1) {  // digests without it are older than it
    hash->field("gate scale");
    hash_number(gate_scale, hash);
  }
}

// first: of the model, whose heads the digest of the whole begins with.
void hash_layer(const pc_layer& layer, const pc_layer& first, Sha256* hash) {
  const auto& [attn_norm, attn_norm_bias, wq, wk, wv, bq, bk, bv, q_norm, k_norm, wo, bo, sinks,
               attn_post_norm, ffn_norm, ffn_norm_bias, ffn, ffn_post_norm, ple_gate, ple_out,
               ple_norm, output_scale, n_heads, n_kv_heads, head_dim, attn_scale, states, q_gated,
               norm_values, norm_rotated, window, rope, latent, mixture, recurrent] = layer;
  hash_tensors(hash, attn_norm, attn_norm_bias, wq, wk, wv, bq, bk, bv, q_norm, k_norm, wo, bo,
               attn_post_norm, ffn_norm, ffn_norm_bias);
  hash_ffn(ffn, hash);
  hash_tensor(ffn_post_norm, hash);
  hash_numbers(hash, window, rope);
  if (n_heads != first.n_heads || n_kv_heads != first.n_kv_heads || head_dim != first.head_dim ||
      attn_scale != first.attn_scale) {
    hash->field("heads");
    hash_numbers(hash, n_heads, n_kv_heads, head_dim, attn_scale);
  }
  if (is_recurrent(layer)) hash_recurrent(recurrent, hash);
  if (attends(layer) && !wk.data) {
    hash->field("states of another layer");
    hash_number(states, hash);
  }
  if (q_gated) hash->field("queries with gates");
  if (norm_values) hash->field("normed values");
  if (norm_rotated) hash->field("norms behind rotation");
  if (latent.dims != 0) hash_latent(latent, n_heads, hash);
  if (output_scale.data) {
    hash->field("output scale");
    hash_tensor(output_scale, hash);
  }
  if (ple_gate.data) {
    hash->field("per-layer embedding");
    hash_tensors(hash, ple_gate, ple_out, ple_norm);
  }
  // Digests of layers without these are older than them.
  if (mixture.n_experts != 0) hash_mixture(mixture, hash);
  if (sinks.data) {
    hash->field("sinks");
    hash_tensor(sinks, hash);
  }
}

void hash_desc(const pc_model_desc& desc, Sha256* hash) {
  const auto& [struct_size, n_layers, d_model, vocab_size, d_ffn, norm, activation, parallel,
               norm_eps, norm_offset, embedding_scale, residual_scale, attn_out_scale,
               recurrent_out_scale, ffn_out_scale, ffn_gate_scale, attn_softcap, qkv_clamp,
               logit_scale, logit_softcap, query_growth, growth_positions, alibi_slopes, n_ropes,
               ropes, embedding, position_embedding, d_ple, ple_embedding, ple_projection, ple_norm,
               final_norm, final_norm_bias, lm_head, layers] = desc;
  static_cast<void>(struct_size);  // of the seam, not of the model
  static_cast<void>(ropes);        // have their own digest
  const pc_layer& first = layers[0];
  hash_numbers(hash, n_layers, d_model, first.n_heads, first.n_kv_heads, first.head_dim, d_ffn,
               vocab_size, norm, activation, parallel, norm_eps, norm_offset, embedding_scale,
               residual_scale, first.attn_scale, attn_softcap, qkv_clamp, logit_scale,
               logit_softcap, n_ropes);
  hash->field(std::as_bytes(std::span(alibi_slopes, alibi_slopes ? first.n_heads : 0)));
  hash_tensors(hash, embedding, position_embedding, final_norm, final_norm_bias, lm_head);
  hash_number(std::uint64_t{lm_head.data == embedding.data}, hash);
  // Digests of models without these are older than them.
  if (query_growth != 0) {
    hash->field("query growth");
    hash_numbers(hash, query_growth, growth_positions);
  }
  if (attn_out_scale != 1 || recurrent_out_scale != 1 || ffn_out_scale != 1 ||
      ffn_gate_scale != 1) {
    hash->field("scales of parts");
    hash_numbers(hash, attn_out_scale, recurrent_out_scale, ffn_out_scale, ffn_gate_scale);
  }
  if (d_ple != 0) {
    hash->field("per-layer embeddings");
    hash_number(d_ple, hash);
    hash_tensors(hash, ple_embedding, ple_projection, ple_norm);
  }
  for (const pc_layer& layer : std::span(layers, n_layers)) hash_layer(layer, first, hash);
}

}  // namespace

Result<TensorScan> scan_tensors(const TensorMap& tensors, const ScanOptions& options) {
  std::vector<Piece> pieces;
  std::vector<std::size_t> ends;  // of each tensor's pieces
  for (const auto& [name, view] : tensors) {
    cut(view, &pieces);
    ends.push_back(pieces.size());
  }
  PC_CHECK_OK(scan_all(pieces, options));

  TensorScan scanned;
  Sha256 hash;
  hash.field("promptcache tensors").field(kTensorScanVersion);
  std::size_t i = 0, tensor = 0;
  for (const auto& [name, view] : tensors) {
    hash.field(name).field(view.dtype).field(std::uint64_t{view.shape.size()});
    for (const std::uint64_t extent : view.shape) hash.field(extent);
    hash.field(std::uint64_t{view.bytes.size()});
    bool finite = true;
    for (; i < ends[tensor]; ++i) {
      hash.field(std::as_bytes(std::span(pieces[i].digest)));
      finite = finite && pieces[i].finite;
    }
    if (!finite) scanned.not_finite.push_back(name);
    ++tensor;
  }
  scanned.digest = hash.finish();
  return scanned;
}

Digest weights_digest(const pc_model_desc& desc, const Digest& tensors,
                      std::span<const float> folded) {
  Sha256 hash;
  hash.field("promptcache weights 2").field(std::as_bytes(std::span(tensors)));
  hash_desc(desc, &hash);
  if (!folded.empty()) hash.field("folded factors").field(std::as_bytes(folded));
  return hash.finish();
}

Digest rope_digest(const pc_model_desc& desc) {
  Sha256 hash;
  hash.field("promptcache rope 2").field(std::uint64_t{desc.n_ropes});
  for (const pc_rope& rope : std::span(desc.ropes, desc.n_ropes)) {
    const auto& [dims, interleaved, scale, inv_freq] = rope;
    hash_numbers(&hash, dims, interleaved, scale);
    hash.field(std::as_bytes(std::span(inv_freq, dims / 2)));
  }
  return hash.finish();
}

}  // namespace pc
