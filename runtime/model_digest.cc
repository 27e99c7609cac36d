#include "runtime/model_digest.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace pc {
namespace {

// Large enough that the list of digests is nothing, small enough that the one
// big tensor of a model (its embedding) keeps all processors busy.
constexpr std::size_t kPieceBytes = std::size_t{8} << 20;

using Piece = std::span<const std::byte>;

std::vector<Piece> cut(const TensorMap& tensors) {
  std::vector<Piece> pieces;
  for (const auto& [name, view] : tensors) {
    for (std::size_t at = 0; at < view.bytes.size(); at += kPieceBytes) {
      pieces.push_back(view.bytes.subspan(at, std::min(kPieceBytes, view.bytes.size() - at)));
    }
  }
  return pieces;
}

std::vector<Digest> hash_all(const std::vector<Piece>& pieces) {
  std::vector<Digest> digests(pieces.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < pieces.size(); i = next++) digests[i] = sha256(pieces[i]);
  };
  std::size_t n_bytes = 0;
  for (const Piece& piece : pieces) n_bytes += piece.size();
  const std::size_t n_workers = std::min<std::size_t>(
      std::max(1u, std::thread::hardware_concurrency()), n_bytes / kPieceBytes + 1);
  std::vector<std::thread> helpers;
  helpers.reserve(n_workers);
  try {
    while (helpers.size() + 1 < n_workers) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // No more threads to be had: those that run, and this one, do the work.
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  return digests;
}

void hash_shape(const pc_model_desc& d, Sha256* hash) {
  for (const std::uint64_t n :
       {d.n_layers, d.d_model, d.n_heads, d.n_kv_heads, d.head_dim, d.d_ffn, d.vocab_size}) {
    hash->field(n);
  }
  hash->field(std::uint64_t{std::bit_cast<std::uint32_t>(d.norm_eps)});
  hash->field(std::uint64_t{std::bit_cast<std::uint32_t>(d.attn_scale)});
  hash->field(std::uint64_t{d.lm_head.data == d.embedding.data});
  for (std::uint32_t i = 0; i < d.n_layers; ++i) hash->field(std::uint64_t{d.layers[i].window});
}

}  // namespace

Digest weights_digest(const pc_model_desc& desc, const TensorMap& tensors) {
  const std::vector<Digest> digests = hash_all(cut(tensors));
  Sha256 hash;
  hash.field("promptcache weights 1");
  hash_shape(desc, &hash);
  std::size_t piece = 0;
  for (const auto& [name, view] : tensors) {
    hash.field(name).field(view.dtype).field(std::uint64_t{view.shape.size()});
    for (const std::uint64_t extent : view.shape) hash.field(extent);
    for (std::size_t at = 0; at < view.bytes.size(); at += kPieceBytes) {
      hash.field(std::as_bytes(std::span(digests[piece++])));
    }
  }
  return hash.finish();
}

Digest rope_digest(const pc_model_desc& desc) {
  Sha256 hash;
  hash.field("promptcache rope 1").field(std::uint64_t{desc.rope_dims});
  hash.field(std::uint64_t{std::bit_cast<std::uint32_t>(desc.rope_scale)});
  hash.field(std::as_bytes(std::span(desc.inv_freq, desc.rope_dims / 2)));
  return hash.finish();
}

}  // namespace pc
