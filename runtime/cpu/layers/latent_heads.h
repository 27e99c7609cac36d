// Multi-head latent attention over the rows of a sweep: what stands between a layer's products and
// attention, which sees heads of one latent key and value (DeepSeek V2, arXiv 2405.04434;
// docs/adr/0055-latent-attention.md). Each head has matrices of its own, which are multiplied for
// all heads and rows in one loop.
//
// Owns its scratch, sized at construction for the model's largest layer; borrows the rest.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/parallel.h"
#include "base/status.h"
#include "runtime/backend/backend.h"
#include "runtime/cpu/products/gemm.h"
#include "simd/kernels.h"

namespace pc {

// Of a layer that is_latent(): dimensions of its heads' parts.
struct LatentShape {
  std::uint32_t latent, rotary;  // of keys
  std::uint32_t nope;            // of queries, beside the rotary part
  std::uint32_t value;           // of what v_up makes
};
LatentShape latent_shape(const pc_layer& layer);

class LatentHeads {
 public:
  LatentHeads(const pc_model_desc& desc, const simd::Kernels& kernels, Parallel parallel,
              std::uint32_t max_rows);

  // The largest x that its products have: none where no layer is latent.
  static std::vector<Gemm::Extent> extents(const pc_model_desc& desc, std::uint32_t max_rows);

  // made: [n, n_heads, nope + rotary], of wq. q: [n, n_heads, rotary + latent]
  Status absorb(const pc_layer& layer, const float* made, std::uint32_t n, Gemm* gemm, float* q);

  // Of one token. key: [latent + rotary] as wk made it -> [rotary + latent], not rotated; value:
  // the same width.
  void make_state(const pc_layer& layer, float* key, float* value) const;

  // mixed: [n, n_heads, rotary + latent], of attention. values: [n, n_heads, value]
  Status expand(const pc_layer& layer, const float* mixed, std::uint32_t n, Gemm* gemm,
                float* values);

 private:
  Status multiply(const pc_layer& layer, const pc_tensor* matrices, const float* x,
                  std::uint32_t head_dim, std::uint32_t first, std::uint32_t n, Gemm* gemm);

  const simd::Kernels& kernels_;
  Parallel parallel_;

  std::vector<Gemm::Product> products_;  // [n_heads]
  std::vector<Gemm::Group> groups_;
  AlignedBuffer<float> parts_;  // [n_heads, n, nope or latent] of x, one head's rows by themselves
  AlignedBuffer<float> made_;   // [n_heads, n, latent or value]
};

}  // namespace pc
