// Matrices of weights on the device: how they lie there, widening them, and products of few rows
// with them. All types of pc_dtype.
//
// F32, F16 and BF16 lie row-major, as cuBLAS reads them; quantised types in planes
// (cuda/products/quant_units.h). Weights are views and own nothing. Functions queue on the stream;
// pointers are the device's. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/device/device.h"

namespace pc::cuda {

// A matrix as lay_out() made it.
struct Weight {
  const void* data;  // on 256 bytes
  std::uint32_t dtype, rows, cols;
};

// Bytes that a matrix takes on the device. Preconditions here and below: a pc_dtype, and of a
// quantised type rows of whole blocks.
std::size_t weight_bytes(std::uint32_t dtype, std::uint32_t rows, std::uint32_t cols);

// Puts rows [first_row, first_row + n_rows) of a matrix where `data`, of weight_bytes(), has them.
// stored: those rows as model files have them, on 2 bytes.
void lay_out(std::uint32_t dtype, std::uint32_t rows, std::uint32_t cols, std::uint32_t first_row,
             std::uint32_t n_rows, const void* stored, void* data, cudaStream_t stream);

enum class Wide { kF32, kBf16 };

// Rows [first_row, first_row + n_rows) as numbers, [n_rows, cols]: in f32 what
// simd/scalar_quant.cc says, to the bit; in bf16 the nearest to that, to even. out: on 16 bytes.
void widen(const Weight& w, std::uint32_t first_row, std::uint32_t n_rows, Wide to, void* out,
           cudaStream_t stream);

// Rows of an embedding: out[i] = row ids[i] of w. out: [n, cols], on 16 bytes.
void gather_rows(const Weight& w, const std::int32_t* ids, std::uint32_t n, float* out,
                 cudaStream_t stream);

// Rows that a pass over the weights serves at once; more rows take several passes.
inline constexpr std::uint32_t kMostFewRows = 8;

// y = x * w^T, or y += where `add`: x [n, w.cols] with rows x_stride apart, y [n, w.rows] with
// rows y_stride apart. n >= 1. Nothing is rounded but sums, which are f32, in an order that
// depends on n and the matrix's shape alone.
void multiply_few_rows(const Weight& w, const float* x, std::uint32_t x_stride, std::uint32_t n,
                       float* y, std::uint32_t y_stride, bool add, cudaStream_t stream);

}  // namespace pc::cuda
