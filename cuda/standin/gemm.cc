#include <bit>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "cuda/device/numbers.h"
#include "cuda/standin/calls.h"
#include "cuda/standin/cublas.h"
#include "cuda/standin/memory.h"
#include "cuda/standin/work.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
};

namespace pc::cuda::standin {
namespace {

cublasStatus_t status_of(cudaError_t error) {
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

struct Matrix {
  const void* data;  // columns, `pitch` elements from one to the next
  cudaDataType type;
  std::size_t pitch;
  bool transposed;
};

std::size_t element_bytes(cudaDataType type) {
  return type == CUDA_R_32F ? 4 : 2;
}

std::size_t bytes_of(std::size_t rows, std::size_t columns, std::size_t pitch,
                     std::size_t element) {
  return rows == 0 || columns == 0 ? 0 : ((columns - 1) * pitch + rows) * element;
}

// To 10 bits of mantissa, halves away from zero, as cvt.rna.tf32.f32.
float to_tf32(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7f800000u) == 0x7f800000u) return x;
  return std::bit_cast<float>((bits + 0x1000u) & 0xffffe000u);
}

float element(const Matrix& from, std::size_t i, bool tf32) {
  if (from.type == CUDA_R_32F) {
    const float x = static_cast<const float*>(from.data)[i];
    return tf32 ? to_tf32(x) : x;
  }
  const std::uint16_t bits = static_cast<const std::uint16_t*>(from.data)[i];
  return from.type == CUDA_R_16BF ? from_bf16(bits) : from_f16(bits);
}

// [n, k], row after row, of what is [k, n] when transposed as it says (or [n, k] when not).
std::vector<float> packed(const Matrix& from, bool rows_are_columns, int n, int k, bool tf32) {
  std::vector<float> to(static_cast<std::size_t>(n) * static_cast<std::size_t>(k));
  const auto rows = static_cast<std::size_t>(n), depth = static_cast<std::size_t>(k);
  const bool along = from.transposed != rows_are_columns;  // k runs along a column
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < depth; ++j)
      to[i * depth + j] = element(from, along ? i * from.pitch + j : j * from.pitch + i, tf32);
  return to;
}

float dot(const float* a, const float* b, std::size_t n) {
  constexpr std::size_t kSums = 8;
  float sums[kSums] = {};
  std::size_t i = 0;
  for (; i + kSums <= n; i += kSums)
    for (std::size_t j = 0; j < kSums; ++j) sums[j] += a[i + j] * b[i + j];
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  float sum = 0;
  for (const float s : sums) sum += s;
  return sum;
}

// c = scale * left * right + keep * c
struct Product {
  Matrix left, right;
  int m, n, k;
  float scale, keep;
  float* c;
  std::size_t pitch;
  bool tf32;
};

void compute(const Product& p) {
  const auto rows = static_cast<std::size_t>(p.m), columns = static_cast<std::size_t>(p.n),
             depth = static_cast<std::size_t>(p.k);
  const std::vector<float> of_a = packed(p.left, false, p.m, p.k, p.tf32);
  const std::vector<float> of_b = packed(p.right, true, p.n, p.k, p.tf32);
  for (std::size_t j = 0; j < columns; ++j)
    for (std::size_t i = 0; i < rows; ++i) {
      float& to = p.c[j * p.pitch + i];
      const float product = p.scale * dot(&of_a[i * depth], &of_b[j * depth], depth);
      to = p.keep == 0 ? product : product + p.keep * to;  // what is there may be no number
    }
}

bool supported(cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute) {
  return a == b && c == CUDA_R_32F && (compute != CUBLAS_COMPUTE_32F_FAST_TF32 || a == CUDA_R_32F);
}

}  // namespace
}  // namespace pc::cuda::standin

namespace standin = pc::cuda::standin;

const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "<unknown>";
}

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  if (standin::begin_call() != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new (std::nothrow) cublasContext;
  return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

// Also where calls fail.
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const cudaError_t refused = standin::begin_call();
  standin::carry_out_all();
  delete handle;
  return standin::status_of(refused);
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return standin::status_of(standin::begin_call());
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->math = mode;
  return standin::status_of(standin::begin_call());
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, std::size_t bytes) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0 ||
      (bytes != 0 && !standin::on_device(workspace, bytes)))
    return CUBLAS_STATUS_INVALID_VALUE;
  return standin::status_of(standin::begin_call());
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                            int m, int n, int k, const void* alpha, const void* a,
                            cudaDataType a_type, int a_pitch, const void* b, cudaDataType b_type,
                            int b_pitch, const void* beta, void* c, cudaDataType c_type,
                            int c_pitch, cublasComputeType_t compute, cublasGemmAlgo_t) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (standin::begin_call() != cudaSuccess) return CUBLAS_STATUS_EXECUTION_FAILED;
  const bool a_turned = op_a == CUBLAS_OP_T, b_turned = op_b == CUBLAS_OP_T;
  if (m < 0 || n < 0 || k < 0 || !alpha || !beta || a_pitch < (a_turned ? k : m) ||
      b_pitch < (b_turned ? n : k) || c_pitch < m || a_pitch < 1 || b_pitch < 1 || c_pitch < 1)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!standin::supported(a_type, b_type, c_type, compute)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;

  const auto rows = static_cast<std::size_t>(m), columns = static_cast<std::size_t>(n),
             depth = static_cast<std::size_t>(k), pitch = static_cast<std::size_t>(c_pitch);
  const standin::Matrix left{a, a_type, static_cast<std::size_t>(a_pitch), a_turned};
  const standin::Matrix right{b, b_type, static_cast<std::size_t>(b_pitch), b_turned};
  const std::size_t size = standin::element_bytes(a_type);
  if (!standin::on_device(a, a_turned ? standin::bytes_of(depth, rows, left.pitch, size)
                                      : standin::bytes_of(rows, depth, left.pitch, size)) ||
      !standin::on_device(b, b_turned ? standin::bytes_of(columns, depth, right.pitch, size)
                                      : standin::bytes_of(depth, columns, right.pitch, size)) ||
      !standin::on_device(c, standin::bytes_of(rows, columns, pitch, sizeof(float))))
    return CUBLAS_STATUS_EXECUTION_FAILED;

  const bool tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
                    (compute == CUBLAS_COMPUTE_32F && handle->math == CUBLAS_TF32_TENSOR_OP_MATH);
  standin::queue(handle->stream,
                 [p = standin::Product{left, right, m, n, k, *static_cast<const float*>(alpha),
                                       *static_cast<const float*>(beta), static_cast<float*>(c),
                                       pitch, tf32}] { standin::compute(p); });
  return CUBLAS_STATUS_SUCCESS;
}
