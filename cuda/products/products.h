// Matrix products of a sweep's rows with weights: our own kernels where few rows meet a matrix,
// cuBLAS where many do.
//
//   weights     rows     rounding of activations and weights, sums in f32 throughout
//   any         few      none: f32 activations, weights as they are
//   f32         many     none
//   f16         many     activations and weights to TF32: weights lose nothing
//   bf16        many     activations to bf16
//   quantised   many     both to bf16
//   any, exact  any      none
//
// Owns a cuBLAS handle and scratch. Queues on its stream. Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "cuda/device/device_buffer.h"
#include "cuda/products/rows.h"
#include "cuda/products/weights.h"

namespace pc::cuda {

class Products {
 public:
  // max_rows: of an input, max_cols: the widest one. The stream is borrowed.
  static Result<Products> make(cudaStream_t stream, bool exact, std::uint32_t max_rows,
                               std::uint32_t max_cols);

  // Does this product read rows of bf16? Others read f32; rows of f32 are taken by any.
  bool reads_bf16(const Weight& w, std::uint32_t n) const;

  // y = x * w^T, or y += where `add`: x [n, w.cols], y [n, w.rows] with rows y_stride apart.
  Status multiply(const Weight& w, Rows x, std::uint32_t n, float* y, std::uint32_t y_stride,
                  bool add);

 private:
  struct DestroyHandle {
    void operator()(cublasHandle_t handle) const { cublasDestroy(handle); }
  };
  struct Operand {
    const void* data;
    cudaDataType_t type;
  };
  Products() = default;
  Status multiply_many(const Weight& w, const Operand& x, std::uint32_t n, float* y,
                       std::uint32_t y_stride, bool add);
  Status multiply_matrix(const Operand& w, std::uint32_t rows, std::uint32_t cols, const Operand& x,
                         std::uint32_t n, float* y, std::uint32_t y_stride, bool add,
                         cublasComputeType_t compute);
  cublasComputeType_t compute_type(const Weight& w) const;

  cudaStream_t stream_ = nullptr;
  bool exact_ = false;
  std::unique_ptr<std::remove_pointer_t<cublasHandle_t>, DestroyHandle> handle_;
  DeviceBuffer<std::uint16_t> rounded_;  // [max_rows, max_cols] bf16
  DeviceBuffer<float> wide_;             // some rows of a matrix
};

}  // namespace pc::cuda
