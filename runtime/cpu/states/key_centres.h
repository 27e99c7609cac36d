// What all keys of a model with a bias have in common, taken out of keys in 8 bits and put back
// into scores (docs/adr/0050-keys-without-outliers.md).
//
// A key is R(p) (W x + b), and in some models a few dimensions of b dwarf the rest. The keys
// of a block lose R(c) b, where c is one position for the block, the block's *centre*; what is left
// of b is what turns between c and p. The score of a query q for a key of the block is q . key as
// stored, plus q . R(c) b. That is a sum over the dimensions of what the query and the bias
// make (`sway`, a row) times the cosines and sines of c (`waves`, a column for each centre): the
// kernel adds it for a block at once (simd::AttendArgs).
//
// Centres are the multiples of kKvBlockTokens, which a column's number counts: whoever writes a
// block's keys and whoever reads them find the same column from the position of its first row.
// Layers that rotate nothing, or norm their keys, keep their bias.
//
// Threads: const functions from any; reach() before them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"
#include "modules/kv.h"
#include "runtime/backend/backend.h"  // pc_model_desc

namespace pc {

// The column of the first block of rows whose keys are rotated from key_position on, if nothing is
// between them; the following blocks have the next ones.
constexpr std::uint32_t first_centre(std::int32_t key_position) {
  if (key_position <= 0) return 0;
  return (static_cast<std::uint32_t>(key_position) + kKvBlockTokens - 1) / kKvBlockTokens;
}

class KeyCentres {
 public:
  // Borrows the model's ropes.
  explicit KeyCentres(const pc_model_desc& desc);

  bool any() const;  // layers that have
  bool has(std::uint32_t layer) const { return !biases_[layer].empty(); }

  // Makes the first n columns, and what a vector may read behind them. May move them.
  void reach(std::uint32_t n);

  // key: [head_dim], rotated. Preconditions: has(layer), column < what was reached.
  void subtract(std::uint32_t layer, std::uint32_t kv_head, std::uint32_t column, float* key) const;

  // q: [head_dim], rotated for the keys. sway: [head_dim]
  void sway(std::uint32_t layer, std::uint32_t kv_head, const float* q, float* sway) const;

  // Of a layer that has(), from a column on: [head_dim] rows, stride() apart.
  const float* waves(std::uint32_t layer, std::uint32_t column) const;
  std::size_t stride() const { return n_columns_; }

 private:
  std::size_t half(std::uint32_t layer) const;

  const pc_model_desc& desc_;
  std::vector<std::vector<float>> biases_;   // [n_layers] none, or [n_kv_heads, head_dim]
  std::vector<std::uint32_t> widths_;        // [n_ropes] the largest head_dim of layers that have
  std::vector<AlignedBuffer<float>> waves_;  // [n_ropes][widths_, n_columns_]
  std::uint32_t n_columns_ = 0;
};

}  // namespace pc
