// Products of many rows by oneDNN: of f32 weights as they lie, of bf16 ones where the CPU
// multiplies bf16, and without AVX-512 of all others through a panel of widened rows
// (docs/adr/0009-onednn.md). A build without oneDNN has none.
//
// Home of oneDNN, which computes on one thread in each task of our loops and starts none. Owns its
// scratch and primitives. Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>

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

class OneDnnProducts {
 public:
  // most_elements: of an x, rows past its end included. Null without oneDNN, and in deterministic
  // precision, where products of many rows are those of few.
  static std::unique_ptr<OneDnnProducts> make(const simd::Kernels& kernels, Parallel parallel,
                                              std::size_t most_elements, std::uint32_t max_k,
                                              Precision precision);
  ~OneDnnProducts();

  // Is it the faster one for these many rows?
  bool pays(std::uint32_t m, const pc_tensor& w) const;

  // Does the product of w read x in bf16?
  bool rounds(const pc_tensor& w) const;
  // Keeps row `row` of x, [k], in bf16. Any thread.
  void round_row(const float* x, std::uint32_t row, std::uint32_t k);

  // y [m, w.rows] (+)= rows [first_row, first_row + m) of x [*, w.cols] times w. Where rounds(w),
  // the rows have been rounded.
  Status multiply(const float* x, std::uint32_t first_row, std::uint32_t m, const pc_tensor& w,
                  bool accumulate, float* y);

 private:
  struct Impl;
  explicit OneDnnProducts(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// "oneDNN 2.6.3", or "own kernels".
const char* gemm_description();

}  // namespace pc
