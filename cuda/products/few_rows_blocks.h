// The quantised types as formats of the kernel for few rows (cuda/products/few_rows.h).
//
// Constant data and functions of the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/products/few_rows.h"
#include "cuda/products/quant_units.h"

namespace pc::cuda::few_rows {

template <std::uint32_t kType>
struct Blocks {
  static constexpr QuantShape kShape = quant_shape(kType);
  static constexpr std::uint32_t kColumns = kUnit;
  static constexpr bool kWide = kShape.low_bits == 8 || kShape.high_bits == 2;
  static constexpr std::uint32_t kScales = kShape.scales;
  static constexpr bool kMinima = kShape.minima;

  using Source = Planes<const std::byte>;

  struct Unit {
    std::uint32_t low[kShape.low_bits];
    std::uint32_t high[2];
    UnitScales scales;
  };

  static __device__ Unit load(const Source& p, std::uint32_t unit) {
    Unit u{};
    if constexpr (kShape.low_bits == 2) {
      const uint2 low = load_from<uint2>(p.low, unit);
      u.low[0] = low.x, u.low[1] = low.y;
    } else {
      load_16(p.low, unit, u.low);
    }
    if constexpr (kShape.low_bits == 8) load_16(p.low_16, unit, u.low + 4);
    if constexpr (kShape.high_bits == 1) u.high[0] = load_from<std::uint32_t>(p.high, unit);
    if constexpr (kShape.high_bits == 2) {
      const uint2 high = load_from<uint2>(p.high, unit);
      u.high[0] = high.x, u.high[1] = high.y;
    }
    u.scales = load_scales<kType>(p, unit);
    return u;
  }

  static __device__ void values(const Unit& u, std::uint32_t quad, float (&v)[4]) {
    const std::uint32_t low = kShape.low_bits == 8 ? quad : low_word<kType>(quad);
    const std::uint32_t codes =
        codes_of_quad<kType>(u.low[low], u.high[high_word<kType>(quad)], quad);
    PC_CUDA_UNROLL
    for (std::uint32_t k = 0; k < 4; ++k) v[k] = number_of_code<kType>(codes, k);
  }

  static __device__ float scale(const Unit& u, std::uint32_t i) {
    return scale_of<kType>(u.scales, i);
  }
  static __device__ float low(const Unit& u, std::uint32_t i) { return low_of<kType>(u.scales, i); }

 private:
  static __device__ void load_16(const std::byte* plane, std::uint32_t piece,
                                 std::uint32_t* words) {
    const uint4 loaded = load_from<uint4>(plane, piece);
    words[0] = loaded.x, words[1] = loaded.y, words[2] = loaded.z, words[3] = loaded.w;
  }
};

inline Planes<const std::byte> planes_of(const Weight& w) {
  return planes(w.dtype, w.rows, w.cols, static_cast<const std::byte*>(w.data));
}

}  // namespace pc::cuda::few_rows
