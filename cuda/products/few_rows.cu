#include <algorithm>

#include "cuda/products/few_rows.h"
#include "cuda/products/quant_units.h"
#include "runtime/backend/backend.h"

namespace pc::cuda {
namespace {

template <std::uint32_t kType>
__device__ float element(const void* data, std::size_t i) {
  if constexpr (kType == PC_DTYPE_F32) return static_cast<const float*>(data)[i];
  const std::uint16_t bits = static_cast<const std::uint16_t*>(data)[i];
  return kType == PC_DTYPE_BF16 ? from_bf16(bits) : number_of_f16(bits);
}

// F32, F16 and BF16 as formats of the kernel: units of 16 bytes.
template <std::uint32_t kType>
struct Elements {
  static constexpr std::uint32_t kColumns = kType == PC_DTYPE_F32 ? 4 : 8;
  static constexpr std::uint32_t kScales = 0;
  static constexpr bool kWide = false, kMinima = false;

  struct Source {
    const std::byte* data;
  };
  struct Unit {
    std::uint32_t words[4];
  };

  static __device__ Unit load(const Source& source, std::uint32_t unit) {
    const uint4 loaded = load_from<uint4>(source.data, unit);
    return {{loaded.x, loaded.y, loaded.z, loaded.w}};
  }

  static __device__ void values(const Unit& u, std::uint32_t quad, float (&v)[4]) {
    PC_CUDA_UNROLL
    for (std::uint32_t k = 0; k < 4; ++k) {
      const std::uint32_t word = u.words[kType == PC_DTYPE_F32 ? k : 2 * quad + k / 2];
      const std::uint32_t half = word >> k % 2 * 16;
      v[k] = kType == PC_DTYPE_F32    ? float_of(word)
             : kType == PC_DTYPE_BF16 ? float_of(half << 16)
                                      : number_of_f16(half & 0xffffu);
    }
  }

  static __device__ float scale(const Unit&, std::uint32_t) { return 1.0f; }
  static __device__ float low(const Unit&, std::uint32_t) { return 0.0f; }
};

constexpr std::uint32_t kUnevenThreads = 128;

// Rows that are not whole units: element by element, a warp for each row of the matrix, row
// blockIdx.y of x.
template <std::uint32_t kType>
__global__ __launch_bounds__(kUnevenThreads) void multiply_uneven_kernel(const void* data,
                                                                         FewRows a) {
  const std::uint32_t output = (blockIdx.x * kUnevenThreads + threadIdx.x) / kWarp;
  if (output >= a.rows) return;
  const float* const x = a.x + std::size_t{blockIdx.y} * a.x_stride;
  const std::size_t first = std::size_t{output} * a.cols;
  float sum = 0;
  for (std::uint32_t c = threadIdx.x % kWarp; c < a.cols; c += kWarp)
    sum += element<kType>(data, first + c) * x[c];
  sum = warp_sum(sum);
  if (threadIdx.x % kWarp != 0) return;
  float& y = a.y[std::size_t{blockIdx.y} * a.y_stride + output];
  y = a.add ? y + sum : sum;
}

template <std::uint32_t kType>
void multiply_elements(const Weight& w, const FewRows& a, cudaStream_t stream) {
  if (w.cols % Elements<kType>::kColumns == 0)
    return few_rows::multiply<Elements<kType>>({static_cast<const std::byte*>(w.data)}, a, stream);
  constexpr std::uint32_t kOutputs = kUnevenThreads / kWarp;
  launch(multiply_uneven_kernel<kType>, dim3((w.rows + kOutputs - 1) / kOutputs, a.n),
         kUnevenThreads, 0, stream, w.data, a);
}

void multiply_pass(const Weight& w, const FewRows& a, cudaStream_t stream) {
  if (w.dtype == PC_DTYPE_F32) return multiply_elements<PC_DTYPE_F32>(w, a, stream);
  if (w.dtype == PC_DTYPE_F16) return multiply_elements<PC_DTYPE_F16>(w, a, stream);
  if (w.dtype == PC_DTYPE_BF16) return multiply_elements<PC_DTYPE_BF16>(w, a, stream);
  if (quant_shape(w.dtype).elements == 32) return multiply_blocks_of_32(w, a, stream);
  multiply_blocks_of_256(w, a, stream);
}

}  // namespace

void multiply_few_rows(const Weight& w, const float* x, std::uint32_t x_stride, std::uint32_t n,
                       float* y, std::uint32_t y_stride, bool add, cudaStream_t stream) {
  if (w.rows == 0) return;
  const bool aligned = reinterpret_cast<std::uintptr_t>(x) % 16 == 0 && x_stride % 4 == 0;
  for (std::uint32_t first = 0; first < n; first += kMostFewRows) {
    multiply_pass(
        w,
        {x + std::size_t{first} * x_stride, y + std::size_t{first} * y_stride,
         std::min(kMostFewRows, n - first), w.rows, w.cols, x_stride, y_stride, add, aligned, 0},
        stream);
  }
}

}  // namespace pc::cuda
