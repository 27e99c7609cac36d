#include "cuda/products/quant_units.h"
#include "cuda/products/weights.h"

namespace pc::cuda {
namespace {

constexpr std::uint32_t kThreads = 128;

// Columns of a quantised row that a thread widens: in bf16 16 bytes to store.
constexpr std::uint32_t kQuantisedColumns = 8;

// Row blockIdx.x of the output is row `first`, or where there are ids row ids[first].
struct WantedRows {
  const std::int32_t* ids;  // null: rows one behind the other
  std::uint32_t first;

  __device__ std::uint32_t row() const {
    const std::uint32_t i = first + blockIdx.x;
    return ids ? static_cast<std::uint32_t>(ids[i]) : i;
  }
};

__device__ void store_8(const float (&v)[8], float* out) {
  auto* const to = reinterpret_cast<float4*>(out);
  to[0] = make_float4(v[0], v[1], v[2], v[3]);
  to[1] = make_float4(v[4], v[5], v[6], v[7]);
}
__device__ void store_8(const float (&v)[8], std::uint16_t* out) {
  *reinterpret_cast<uint4*>(out) = make_uint4(to_bf16_pair(v[0], v[1]), to_bf16_pair(v[2], v[3]),
                                              to_bf16_pair(v[4], v[5]), to_bf16_pair(v[6], v[7]));
}

// Codes of quad j of a unit.
template <std::uint32_t kType>
__device__ std::uint32_t load_codes(const Planes<const std::byte>& p, std::size_t unit,
                                    std::uint32_t j) {
  constexpr QuantShape kShape = quant_shape(kType);
  constexpr std::uint32_t kLowWords = kShape.low_bits == 8 ? 4 : kShape.low_bits;
  const std::byte* const low = kShape.low_bits == 8 && j >= 4 ? p.low_16 : p.low;
  std::uint32_t high = 0;
  if constexpr (kShape.high_bits > 0) {
    high = load_from<std::uint32_t>(p.high, unit * kShape.high_bits + high_word<kType>(j));
  }
  return codes_of_quad<kType>(load_from<std::uint32_t>(low, unit * kLowWords + low_word<kType>(j)),
                              high, j);
}

template <std::uint32_t kType, class Out>
__global__ __launch_bounds__(kThreads) void widen_blocks_kernel(Planes<const std::byte> p,
                                                                std::uint32_t cols, WantedRows rows,
                                                                Out* out) {
  const std::uint32_t column = (blockIdx.y * kThreads + threadIdx.x) * kQuantisedColumns;
  if (column >= cols) return;
  const std::uint32_t unit = rows.row() * (cols / kUnit) + column / kUnit;
  const std::uint32_t first = column % kUnit / 4;  // of two quads, which share a scale
  const UnitScales s = load_scales<kType>(p, unit);
  const float scale = scale_of<kType>(s, first / 4), low = low_of<kType>(s, first / 4);
  float v[kQuantisedColumns];
  for (std::uint32_t quad = 0; quad < 2; ++quad) {
    const std::uint32_t codes = load_codes<kType>(p, unit, first + quad);
    for (std::uint32_t k = 0; k < 4; ++k) {
      const float product = scale * number_of_code<kType>(codes, k);
      v[4 * quad + k] = quant_shape(kType).minima ? product + low : product;
    }
  }
  store_8(v, out + std::size_t{blockIdx.x} * cols + column);
}

template <std::uint32_t kType>
__device__ float element(const void* data, std::size_t i) {
  if constexpr (kType == PC_DTYPE_F32) return static_cast<const float*>(data)[i];
  const std::uint16_t bits = static_cast<const std::uint16_t*>(data)[i];
  return kType == PC_DTYPE_BF16 ? from_bf16(bits) : number_of_f16(bits);
}

__device__ void store(float x, float* out) {
  *out = x;
}
__device__ void store(float x, std::uint16_t* out) {
  *out = to_bf16(x);
}

template <std::uint32_t kType, class Out>
__global__ __launch_bounds__(kThreads) void widen_elements_kernel(const void* data,
                                                                  std::uint32_t cols,
                                                                  WantedRows rows, Out* out) {
  const std::uint32_t column = blockIdx.y * kThreads + threadIdx.x;
  if (column >= cols) return;
  store(element<kType>(data, std::size_t{rows.row()} * cols + column),
        out + std::size_t{blockIdx.x} * cols + column);
}

template <class Out>
void widen_rows(const Weight& w, const WantedRows& rows, std::uint32_t n, Out* out,
                cudaStream_t stream) {
  const bool quantised = w.dtype >= PC_DTYPE_Q8_0;
  const std::uint32_t columns = kThreads * (quantised ? kQuantisedColumns : 1);  // of a block
  const dim3 grid(n, (w.cols + columns - 1) / columns);
  if (n == 0 || w.cols == 0) return;
  if (quantised) {
    const auto p = planes(w.dtype, w.rows, w.cols, static_cast<const std::byte*>(w.data));
    with_blocks(w.dtype, [&](auto type) {
      launch(widen_blocks_kernel<type(), Out>, grid, kThreads, 0, stream, p, w.cols, rows, out);
    });
  } else if (w.dtype == PC_DTYPE_F32) {
    launch(widen_elements_kernel<PC_DTYPE_F32, Out>, grid, kThreads, 0, stream, w.data, w.cols,
           rows, out);
  } else if (w.dtype == PC_DTYPE_F16) {
    launch(widen_elements_kernel<PC_DTYPE_F16, Out>, grid, kThreads, 0, stream, w.data, w.cols,
           rows, out);
  } else {
    launch(widen_elements_kernel<PC_DTYPE_BF16, Out>, grid, kThreads, 0, stream, w.data, w.cols,
           rows, out);
  }
}

}  // namespace

void widen(const Weight& w, std::uint32_t first_row, std::uint32_t n_rows, Wide to, void* out,
           cudaStream_t stream) {
  if (to == Wide::kF32)
    widen_rows(w, {nullptr, first_row}, n_rows, static_cast<float*>(out), stream);
  else
    widen_rows(w, {nullptr, first_row}, n_rows, static_cast<std::uint16_t*>(out), stream);
}

void gather_rows(const Weight& w, const std::int32_t* ids, std::uint32_t n, float* out,
                 cudaStream_t stream) {
  widen_rows(w, {ids, 0}, n, out, stream);
}

}  // namespace pc::cuda
