// y = x W^T (+ y): the one matrix product of the forward pass.
//
// Quantised weights that have a packed form (runtime/packed/packed_weights.h) are
// multiplied in integers, x in 8 bits, for any number of rows: simd/packed/packed.h.
// Where the CPU multiplies tiles of bf16 (AMX) and rows are twelve or more, these and bf16
// weights are multiplied there, x in bf16, in the way that simd/packed/amx_rows.h names.
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
// Rows may have matrices of their own, in groups, as those of a mixture's experts have: all groups
// are the tasks of one loop, and each matrix is read once.
//
// Threads: one Gemm per session, one thread at a time. The small-row path and the packed one
// allocate nothing once they have had as many products.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/function_ref.h"
#include "base/parallel.h"
#include "base/status.h"
#include "runtime/backend/backend.h"  // pc_tensor
#include "runtime/backend/precision.h"
#include "runtime/cpu/products/onednn_products.h"
#include "runtime/cpu/products/product_tasks.h"
#include "simd/kernels.h"

namespace pc {

class PackedWeights;

class Gemm {
 public:
  // The largest x that will come: rows, a multiple of kGemmRowGranule, by columns; and the groups
  // that it is at most made of.
  struct Extent {
    std::uint32_t rows, k, groups = 1;
  };
  // packed: borrowed; null: nothing is packed.
  Gemm(const simd::Kernels& kernels, Parallel parallel, std::span<const Extent> largest,
       const PackedWeights* packed = nullptr, Precision precision = Precision::kFast);
  Gemm(const simd::Kernels& kernels, Parallel parallel, std::uint32_t max_rows, std::uint32_t max_k,
       const PackedWeights* packed = nullptr, Precision precision = Precision::kFast)
      : Gemm(kernels, parallel, std::array<Extent, 1>{{{max_rows, max_k}}}, packed, precision) {}
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

  // Products of the same x, which is rounded for the kernels but once.
  struct Product {
    const pc_tensor* w;
    float* y;
  };
  Status linear(const Input& x, std::span<const Product> products, bool accumulate);

  // Rows of x that have matrices of their own, all of one width
  // (docs/adr/0051-layers-as-values.md).
  struct Group {
    std::uint32_t first, n;             // rows of x, n > 0, right behind those of the group before
    std::span<const Product> products;  // y: of row `first`
  };
  // Precondition: the groups are all rows of x, and x has room for a group's rows rounded up to
  // kGemmRowGranule from its first one on.
  Status linear(Input x, std::span<const Group> groups, bool accumulate);

 private:
  void sort(std::span<const Group> groups);
  // Each of these makes the rows of x if make_row is set, and clears make_row.
  void make_rows(Input& x) const;
  void quantise(Input& x, std::uint32_t k, std::span<const Group> groups);
  void quantise_columns(Input& x, std::uint32_t k);
  void arrange(Input& x, std::uint32_t k, std::span<const Group> groups);
  void multiply_tiled(Input& x, std::uint32_t k, std::span<const Group> groups, bool accumulate);
  void multiply_packed(Input& x, std::uint32_t k, std::span<const Group> groups, bool accumulate);
  void multiply_stored(Input& x, std::uint32_t k, bool accumulate);
  Status multiply_onednn(Input& x, std::uint32_t k, bool accumulate);

  const simd::Kernels* kernels_;
  Parallel parallel_;
  bool alike_;                             // deterministic precision
  const PackedWeights* packed_;            // null where there are none, or no kernel for them
  const simd::AmxKernels* amx_;            // null without AMX, and in exact precision
  AlignedBuffer<std::byte> x_int8_;        // simd/quantised_rows.h, group behind group
  AlignedBuffer<std::uint16_t> x_tiles_;   // simd/packed/amx_rows.h, likewise
  AlignedBuffer<std::byte> tile_scratch_;  // [n_threads][kAmxScratchBytes]
  std::unique_ptr<OneDnnProducts> onednn_;

  // Of the products at hand, by how they are multiplied.
  ProductTasks tiled_, packed_products_, stored_, others_;
};

}  // namespace pc
