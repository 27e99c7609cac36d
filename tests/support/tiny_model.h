// A small seeded random model of the Llama shape, in memory: what the oracles
// run on. Weights are exact f32 whatever type they are stored in.
#pragma once

#include <cmath>
#include <cstring>
#include <deque>
#include <vector>

#include "runtime/backend.h"
#include "simd/kernels.h"
#include "tests/support/random.h"

namespace pc::test {

struct TinyShape {
  std::uint32_t n_layers = 2, d_model = 32, n_heads = 4, n_kv_heads = 2, head_dim = 8, d_ffn = 48,
                vocab_size = 64;
  std::uint32_t rope_dims = 8;
  std::uint32_t window = 0;  // of every second layer
  bool biases = false, head_norms = false;
  std::uint32_t dtype = PC_DTYPE_F32;
};

class TinyModel {
 public:
  explicit TinyModel(std::uint64_t seed, const TinyShape& shape = {}) : random_(seed) {
    desc.struct_size = sizeof desc;
    desc.n_layers = shape.n_layers;
    desc.d_model = shape.d_model;
    desc.n_heads = shape.n_heads;
    desc.n_kv_heads = shape.n_kv_heads;
    desc.head_dim = shape.head_dim;
    desc.d_ffn = shape.d_ffn;
    desc.vocab_size = shape.vocab_size;
    desc.norm_eps = 1e-5f;
    desc.attn_scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
    desc.rope_dims = shape.rope_dims;
    desc.rope_scale = 1.0f;
    for (std::uint32_t i = 0; i < shape.rope_dims / 2; ++i)
      inv_freq_.push_back(std::pow(10000.0, -2.0 * i / shape.rope_dims));
    desc.inv_freq = inv_freq_.data();
    const std::uint32_t q = shape.n_heads * shape.head_dim, kv = shape.n_kv_heads * shape.head_dim;
    for (std::uint32_t l = 0; l < shape.n_layers; ++l) {
      pc_layer layer{};
      layer.attn_norm = norm(shape.d_model);
      layer.ffn_norm = norm(shape.d_model);
      layer.wq = matrix(q, shape.d_model, shape.dtype);
      layer.wk = matrix(kv, shape.d_model, shape.dtype);
      layer.wv = matrix(kv, shape.d_model, shape.dtype);
      layer.wo = matrix(shape.d_model, q, shape.dtype);
      layer.w_gate = matrix(shape.d_ffn, shape.d_model, shape.dtype);
      layer.w_up = matrix(shape.d_ffn, shape.d_model, shape.dtype);
      layer.w_down = matrix(shape.d_model, shape.d_ffn, shape.dtype);
      if (shape.biases) {
        layer.bq = matrix(1, q, shape.dtype);
        layer.bk = matrix(1, kv, shape.dtype);
        layer.bv = matrix(1, kv, shape.dtype);
        layer.b_down = matrix(1, shape.d_model, shape.dtype);
      }
      if (shape.head_norms) {
        layer.q_norm = norm(shape.head_dim);
        layer.k_norm = norm(shape.head_dim);
      }
      layer.window = l % 2 ? shape.window : 0;
      layers_.push_back(layer);
    }
    desc.layers = layers_.data();
    desc.embedding = matrix(shape.vocab_size, shape.d_model, shape.dtype, 1.0f);
    desc.final_norm = norm(shape.d_model);
    desc.lm_head = matrix(shape.vocab_size, shape.d_model, shape.dtype);
  }
  TinyModel(const TinyModel&) = delete;

  // Element i of a tensor, in double.
  static double at(const pc_tensor& t, std::size_t i) {
    float x = 0;
    simd::kScalarKernels.to_f32(
        static_cast<const std::byte*>(t.data) + i * (t.dtype == PC_DTYPE_F32 ? 4 : 2),
        static_cast<simd::Type>(t.dtype), 1, &x);
    return x;
  }

  pc_model_desc desc{};

 private:
  pc_tensor norm(std::uint32_t n) {
    auto& v = f32_.emplace_back(random_.floats(n, 0.2f));
    for (float& x : v) x += 1.0f;
    return {v.data(), PC_DTYPE_F32, 1, n};
  }
  // Deviation near 1/sqrt(cols) keeps activations of order one.
  pc_tensor matrix(std::uint32_t rows, std::uint32_t cols, std::uint32_t dtype,
                   float scale = 0.0f) {
    auto& v = f32_.emplace_back(
        random_.floats(std::size_t{rows} * cols,
                       scale != 0.0f ? scale : 1.7f / std::sqrt(static_cast<float>(cols))));
    if (dtype == PC_DTYPE_F32) return {v.data(), dtype, rows, cols};
    auto& h = u16_.emplace_back(v.size());
    simd::kScalarKernels.to_bf16(v.data(), v.size(), h.data());
    return {h.data(), PC_DTYPE_BF16, rows, cols};
  }

  Random random_;
  std::vector<double> inv_freq_;
  std::vector<pc_layer> layers_;
  std::deque<std::vector<float>> f32_;
  std::deque<std::vector<std::uint16_t>> u16_;
};

}  // namespace pc::test
