#include "cuda/products/quant_units.h"
#include "cuda/products/weights.h"

namespace pc::cuda {
namespace {

constexpr std::uint32_t kThreads = 256;

std::size_t element_bytes(std::uint32_t dtype) {
  return dtype == PC_DTYPE_F32 ? 4 : 2;
}

template <class T>
__device__ void store_to(std::byte* plane, std::size_t piece, T value) {
  reinterpret_cast<T*>(plane)[piece] = value;
}

__device__ void store_words(std::byte* plane, std::size_t piece, const std::uint32_t (&words)[2]) {
  store_to(plane, piece, make_uint2(words[0], words[1]));
}
__device__ void store_words(std::byte* plane, std::size_t piece, const std::uint32_t (&words)[4]) {
  store_to(plane, piece, make_uint4(words[0], words[1], words[2], words[3]));
}

// The codes of a unit that begins at element `first` of a block, a byte each.
template <std::uint32_t kType>
__device__ void read_codes(StoredBlock block, std::uint32_t first, std::uint32_t (&quads)[kQuads]) {
  for (std::uint32_t j = 0; j < kQuads; ++j) {
    quads[j] = 0;
    for (std::uint32_t b = 0; b < 4; ++b)
      quads[j] |= stored_code<kType>(block, first + 4 * j + b) << 8 * b;
  }
}

template <std::uint32_t kType>
__device__ void write_codes(const std::uint32_t (&quads)[kQuads], const Planes<std::byte>& p,
                            std::size_t unit) {
  constexpr QuantShape kShape = quant_shape(kType);
  constexpr std::uint32_t kLowMask = 0x01010101u * ((1u << kShape.low_bits) - 1);
  if constexpr (kShape.low_bits == 8) {
    store_words(p.low, unit, {quads[0], quads[1], quads[2], quads[3]});
    store_words(p.low_16, unit, {quads[4], quads[5], quads[6], quads[7]});
  } else {
    std::uint32_t low[kShape.low_bits] = {};
    for (std::uint32_t j = 0; j < kQuads; ++j) {
      const std::uint32_t at = kShape.low_bits == 4 ? j / 4 * 4 : j % 4 * 2;
      low[low_word<kType>(j)] |= (quads[j] & kLowMask) << at;
    }
    store_words(p.low, unit, low);
  }
  if constexpr (kShape.high_bits > 0) {
    constexpr std::uint32_t kHighMask = 0x01010101u * ((1u << kShape.high_bits) - 1);
    std::uint32_t high[2] = {};
    for (std::uint32_t j = 0; j < kQuads; ++j) {
      const std::uint32_t at = kShape.high_bits == 1 ? j : j % 4 * 2;
      high[high_word<kType>(j)] |= (quads[j] >> kShape.low_bits & kHighMask) << at;
    }
    if constexpr (kShape.high_bits == 1)
      store_to(p.high, unit, high[0]);
    else
      store_words(p.high, unit, high);
  }
}

// A thread for each unit of the rows; first_unit: that of the first in the matrix.
template <std::uint32_t kType>
__global__ __launch_bounds__(kThreads) void lay_out_kernel(const std::uint8_t* stored,
                                                           std::size_t n_units,
                                                           std::size_t first_unit,
                                                           Planes<std::byte> p) {
  constexpr QuantShape kShape = quant_shape(kType);
  constexpr std::uint32_t kUnits = kShape.elements / kUnit;  // of a block
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= n_units) return;
  const StoredBlock block = stored + i / kUnits * kShape.bytes;
  const auto number = static_cast<std::uint32_t>(i % kUnits);
  const std::size_t unit = first_unit + i;

  std::uint32_t quads[kQuads];
  read_codes<kType>(block, number * kUnit, quads);
  write_codes<kType>(quads, p, unit);
  if constexpr (kUnits > 1)
    store_to(p.scales, unit, static_cast<std::uint16_t>(stored_scales<kType>(block, number)));
  if (number != 0) return;
  const std::uint32_t halves = stored_halves<kType>(block);
  if constexpr (kShape.minima)
    store_to(p.halves, unit / kUnits, halves);
  else
    store_to(p.halves, unit / kUnits, static_cast<std::uint16_t>(halves));
}

}  // namespace

std::size_t weight_bytes(std::uint32_t dtype, std::uint32_t rows, std::uint32_t cols) {
  if (dtype < PC_DTYPE_Q8_0) return std::size_t{rows} * cols * element_bytes(dtype);
  return planes<const std::byte>(dtype, rows, cols, nullptr).bytes;
}

void lay_out(std::uint32_t dtype, std::uint32_t rows, std::uint32_t cols, std::uint32_t first_row,
             std::uint32_t n_rows, const void* stored, void* data, cudaStream_t stream) {
  auto* const bytes = static_cast<std::byte*>(data);
  if (dtype < PC_DTYPE_Q8_0) {
    const std::size_t row = cols * element_bytes(dtype);
    cudaMemcpyAsync(bytes + first_row * row, stored, n_rows * row, cudaMemcpyDeviceToDevice,
                    stream);
    return;
  }
  const std::size_t first = std::size_t{first_row} * (cols / kUnit);
  const std::size_t n = std::size_t{n_rows} * (cols / kUnit);
  if (n == 0) return;
  const auto blocks = static_cast<unsigned>((n + kThreads - 1) / kThreads);
  const Planes<std::byte> p = planes(dtype, rows, cols, bytes);
  with_blocks(dtype, [&](auto type) {
    launch(lay_out_kernel<type()>, blocks, kThreads, 0, stream,
           static_cast<const std::uint8_t*>(stored), n, first, p);
  });
}

}  // namespace pc::cuda
