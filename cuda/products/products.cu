#include <algorithm>

#include "cuda/products/products.h"
#include "runtime/backend/backend.h"

namespace pc::cuda {
namespace {

// Elements of a matrix that are widened at once: 16 million f32 are 64 MiB, and a product of so
// many keeps the device busy.
constexpr std::size_t kWideElements = std::size_t{16} << 20;

// Up to so many rows our own kernels read quantised weights once for each kMostFewRows of them.
// Beyond, widening them to bf16 costs less than another pass: a step of a 7B model in Q4_0 takes an
// H100 8.7 ms with 8 rows, 15.0 with 16 and 28.6 with 32 that way, and 16.3 with 64 widened.
constexpr std::uint32_t kFewQuantised = 2 * kMostFewRows;

bool is_quantised(std::uint32_t dtype) {
  return dtype >= PC_DTYPE_Q8_0;
}

}  // namespace

Result<Products> Products::make(cudaStream_t stream, bool exact, std::uint32_t max_rows,
                                std::uint32_t max_cols) {
  Products products;
  products.stream_ = stream;
  products.exact_ = exact;
  cublasHandle_t handle = nullptr;
  PC_CHECK_OK(check(cublasCreate(&handle), "opening cuBLAS"));
  products.handle_.reset(handle);
  PC_CHECK_OK(check(cublasSetStream(handle, stream), "opening cuBLAS"));
  PC_TRY(products.rounded_, DeviceBuffer<std::uint16_t>::make(std::size_t{max_rows} * max_cols));
  PC_TRY(products.wide_, DeviceBuffer<float>::make(kWideElements));
  return Result<Products>(std::move(products));
}

bool Products::reads_bf16(const Weight& w, std::uint32_t n) const {
  if (exact_ || w.dtype == PC_DTYPE_F32 || w.dtype == PC_DTYPE_F16) return false;
  return n > (is_quantised(w.dtype) ? kFewQuantised : kMostFewRows);
}

cublasComputeType_t Products::compute_type(const Weight& w) const {
  if (exact_) return CUBLAS_COMPUTE_32F_PEDANTIC;
  return w.dtype == PC_DTYPE_F16 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

Status Products::multiply(const Weight& w, Rows x, std::uint32_t n, float* y,
                          std::uint32_t y_stride, bool add) {
  if (!reads_bf16(w, n)) {
    PC_EXPECT(!x.bf16);
    const auto* rows = static_cast<const float*>(x.data);
    const bool few = n <= kMostFewRows || (is_quantised(w.dtype) && n <= kFewQuantised);
    if (!few) return multiply_many(w, {rows, CUDA_R_32F}, n, y, y_stride, add);
    multiply_few_rows(w, rows, w.cols, n, y, y_stride, add, stream_);
    return ok();
  }
  if (!x.bf16) {
    PC_EXPECT(std::size_t{n} * w.cols <= rounded_.size());
    round_rows(static_cast<const float*>(x.data), std::size_t{n} * w.cols, rounded_.data(),
               stream_);
    x.data = rounded_.data();
  }
  return multiply_many(w, {x.data, CUDA_R_16BF}, n, y, y_stride, add);
}

// Matrices that cuBLAS cannot read as they are go through scratch, some rows at a time.
Status Products::multiply_many(const Weight& w, const Operand& x, std::uint32_t n, float* y,
                               std::uint32_t y_stride, bool add) {
  const bool bf16 = x.type == CUDA_R_16BF;
  const bool as_is = w.dtype == PC_DTYPE_F32 || (bf16 && w.dtype == PC_DTYPE_BF16);
  if (as_is)
    return multiply_matrix({w.data, x.type}, w.rows, w.cols, x, n, y, y_stride, add,
                           compute_type(w));
  const auto most = static_cast<std::uint32_t>(std::max<std::size_t>(1, kWideElements / w.cols));
  if (w.cols > kWideElements)
    return error(Code::kUnsupported, "a matrix of the model is too wide for the CUDA backend");
  for (std::uint32_t first = 0; first < w.rows; first += most) {
    const std::uint32_t rows = std::min(most, w.rows - first);
    widen(w, first, rows, bf16 ? Wide::kBf16 : Wide::kF32, wide_.data(), stream_);
    PC_CHECK_OK(multiply_matrix({wide_.data(), x.type}, rows, w.cols, x, n, y + first, y_stride,
                                add, compute_type(w)));
  }
  return ok();
}

// To cuBLAS, which counts by columns, rows of x and of w are columns: y^T = w * x^T.
Status Products::multiply_matrix(const Operand& w, std::uint32_t rows, std::uint32_t cols,
                                 const Operand& x, std::uint32_t n, float* y,
                                 std::uint32_t y_stride, bool add, cublasComputeType_t compute) {
  const float one = 1.0f, before = add ? 1.0f : 0.0f;
  const auto i = [](std::uint32_t v) { return static_cast<int>(v); };
  return check(cublasGemmEx(handle_.get(), CUBLAS_OP_T, CUBLAS_OP_N, i(rows), i(n), i(cols), &one,
                            w.data, w.type, i(cols), x.data, x.type, i(cols), &before, y,
                            CUDA_R_32F, i(y_stride), compute, CUBLAS_GEMM_DEFAULT),
               "multiplying matrices");
}

}  // namespace pc::cuda
