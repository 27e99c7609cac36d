// A model whose matrices are quantised blocks, made up: what packing is tested with. Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <vector>

#include "runtime/backend/backend.h"
#include "simd/kernels.h"
#include "tests/support/quant_blocks.h"

namespace pc::test {

// Layers whose matrices are of all quantised types in turn; the embedding serves
// as the output matrix, too.
class QuantisedModel {
 public:
  explicit QuantisedModel(std::uint64_t seed, std::uint32_t n_layers = 2) : random_(seed) {
    for (std::uint32_t i = 0; i < n_layers; ++i) {
      pc_layer layer{};
      const pc_tensor qkv = matrix(128, 256);
      layer.wq = rows(qkv, 0, 64);
      layer.wk = rows(qkv, 64, 40);  // panels end inside a matrix and the next one follows
      layer.wv = rows(qkv, 104, 24);
      layer.wo = matrix(256, 256);
      layer.ffn.gate = matrix(33, 256);
      layer.ffn.up = matrix(33, 256);
      layer.ffn.down = matrix(256, 512);
      layers_.push_back(layer);
    }
    desc.n_layers = n_layers;
    desc.layers = layers_.data();
    desc.embedding = desc.lm_head = matrix(300, 256);
    desc.final_norm = {norm_, PC_DTYPE_F32, 1, 4};
  }
  QuantisedModel(const QuantisedModel&) = delete;

  pc_model_desc desc{};

 private:
  pc_tensor matrix(std::uint32_t rows, std::uint32_t cols) {
    const simd::Type type = kQuantisedTypes[next_++ % std::size(kQuantisedTypes)];
    blocks_.push_back(random_blocks(random_, type, std::size_t{rows} * cols, 0.1f));
    return {blocks_.back().data(), static_cast<std::uint32_t>(type), rows, cols};
  }
  static pc_tensor rows(const pc_tensor& t, std::uint32_t first, std::uint32_t n) {
    const auto row_bytes = simd::bytes_of(static_cast<simd::Type>(t.dtype), t.cols);
    return {static_cast<const std::byte*>(t.data) + first * row_bytes, t.dtype, n, t.cols};
  }

  Random random_;
  std::size_t next_ = 0;
  float norm_[4] = {};
  std::deque<std::vector<std::uint8_t>> blocks_;
  std::vector<pc_layer> layers_;
};

}  // namespace pc::test
