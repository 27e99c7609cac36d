// y = x W^T (+ y): the one matrix product of the forward pass.
//
// Quantised weights that have a packed form (runtime/packed/packed_weights.h) are
// multiplied in integers, x in 8 bits, for any number of rows: simd/packed/packed.h.
// Where the CPU multiplies tiles of bf16 (AMX) and rows are many, these and bf16
// weights are multiplied there, x and weights in bf16: simd/packed/amx_rows.h.
// In exact precision (runtime/backend/precision.h) neither happens: x stays f32. In deterministic
// precision the packed form is used, and else the project's own kernel, for any number of rows, so
// that each row's products are summed in one order.
//
// All others are used where they lie, in their stored type: nothing is packed or
// expanded when a model opens. A few rows (decode, short fresh text) are
// bound by the weights' bandwidth and go to the project's own kernel; many
// rows go to oneDNN where it is the faster one (docs/adr/0009-onednn.md): f32 weights,
// bf16 x bf16 where the CPU multiplies bf16, and without AVX-512 all others, through
// a panel of widened rows. The product of quantised weights is that of f32
// arithmetic on what they widen to, for any number of rows. Without oneDNN the
// kernel does all.
//
// Home of oneDNN, which computes on one thread in each task of our loops. Threads: one Gemm per
// session, one thread at a time. The small-row path and the packed one allocate nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/aligned_buffer.h"
#include "base/function_ref.h"
#include "base/parallel.h"
#include "base/status.h"
#include "runtime/backend/backend.h"  // pc_tensor
#include "runtime/backend/precision.h"
#include "simd/kernels.h"

namespace pc {

// Shapes are rounded up to this many rows, so that prompts of all lengths
// share a few primitives: buffers of x and y have room for m rounded up, and
// the rows past m hold nothing afterwards.
inline constexpr std::uint32_t kGemmRowGranule = 16;

class PackedWeights;

class Gemm {
 public:
  // max_rows (a multiple of kGemmRowGranule), max_k: the largest x that will
  // come. packed: borrowed; null: nothing is packed.
  Gemm(const simd::Kernels& kernels, Parallel parallel, std::uint32_t max_rows, std::uint32_t max_k,
       const PackedWeights* packed = nullptr, Precision precision = Precision::kFast);
  ~Gemm();
  Gemm(Gemm&&) noexcept;

  // The x of products: rows that exist, or that make_row makes on the way.
  struct Input {
    const float* x;  // [m, k] f32 contiguous
    std::uint32_t m;
    // Where set, makes row i of x. It is called once for each row, on any thread, before any row is
    // multiplied. Where rows are many, the thread that made one also rounds it for the kernels,
    // while it is in that thread's cache.
    FunctionRef<void(std::uint32_t i)> make_row = {};
  };

  // y [x.m, w.rows] f32 contiguous; accumulate: add to y.
  Status linear(const Input& x, const pc_tensor& w, bool accumulate, float* y);

  // One to kMaxProducts products of the same x, which is rounded for the kernels but once.
  static constexpr std::size_t kMaxProducts = 3;  // queries, keys and values
  struct Product {
    const pc_tensor* w;
    float* y;
  };
  Status linear(Input x, std::span<const Product> products, bool accumulate);

 private:
  struct OneDnn;
  static std::unique_ptr<OneDnn> make_onednn(std::uint32_t n_threads, std::uint32_t max_rows,
                                             std::uint32_t max_k, Precision precision);
  bool many_rows(std::uint32_t m, const pc_tensor& w) const;  // does oneDNN multiply these?
  Status multiply_onednn(const Input& x, const pc_tensor& w, bool accumulate, float* y) const;
  // Each of these makes the rows of x if make_row is set, and clears make_row.
  void make_rows(Input& x) const;
  void quantise(Input& x, std::uint32_t k);
  void arrange(Input& x, std::uint32_t k);
  class Tasks;
  void multiply_tiled(Input& x, std::uint32_t k, const Tasks& tasks, bool accumulate);
  void multiply_packed(Input& x, std::uint32_t k, const Tasks& tasks, bool accumulate);
  void multiply_stored(Input& x, std::uint32_t k, const Tasks& tasks, bool accumulate) const;
  Status multiply_onednn(Input& x, std::uint32_t k, std::span<const Product> products,
                         bool accumulate);

  const simd::Kernels* kernels_;
  Parallel parallel_;
  bool alike_;                       // deterministic precision
  const PackedWeights* packed_;      // null where there are none, or no kernel for them
  const simd::AmxKernels* amx_;      // null without AMX, and in exact precision
  AlignedBuffer<std::byte> x_int8_;  // [max_rows, max_k] of simd/quantised_rows.h
  AlignedBuffer<std::uint16_t>
      x_tiles_;  // [max_rows, max_k] of simd/packed/amx_rows.h, where there is AMX
  AlignedBuffer<std::byte> tile_scratch_;  // [n_threads][kAmxScratchBytes]
  std::unique_ptr<OneDnn> onednn_;         // null without oneDNN, and in deterministic precision
};

// "oneDNN 2.6.3", or "own kernels".
const char* gemm_description();

}  // namespace pc
