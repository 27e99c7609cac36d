// Quantised weights as they lie on the device: units of 32 columns, taken apart into planes, so
// that neighbouring threads load neighbouring words of 4, 8 or 16 bytes.
//
// Each plane has a piece for each unit, unit u of row r at number r * (cols / 32) + u, and begins
// on 256 bytes; in this order:
//
//   low     the low 8, 4 or 2 bits of codes. Of 8: two planes, columns 0-15 and 16-31, a byte each
//   high    the others, 1 or 2 bits, where there are any
//   scales  types of 256 elements: two bytes (stored_scales)
//   halves  a piece for each block: f16 scale, and f16 minimum where the type has them
//
// A piece is little-endian words; of fewer than 8 bits, byte b of a word has bits of columns
// 4j + b, for several quads j:
//
//   4 bits  4 words, quad j in word j % 4, the low nibbles for j < 4
//   2 bits  2 words, quad j in word j / 4, at bit 2 * (j % 4) of each byte
//   1 bit   1 word, quad j at bit j of each byte
//
// Constant data and pure functions; planes() of the host, the others of the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/device/device.h"
#include "cuda/device/numbers.h"
#include "cuda/products/quant_blocks.h"

namespace pc::cuda {

inline constexpr std::uint32_t kQuads = kUnit / 4;  // of a unit

// Byte: std::byte or const std::byte. A plane that the type lacks is empty.
template <class Byte>
struct Planes {
  Byte *low, *low_16;  // low_16: of columns 16-31, types of 8 bits
  Byte *high, *scales, *halves;
  std::size_t bytes;  // of all
};

template <class Byte>
Planes<Byte> planes(std::uint32_t dtype, std::uint32_t rows, std::uint32_t cols, Byte* data) {
  const QuantShape shape = quant_shape(dtype);
  const std::size_t units = std::size_t{rows} * (cols / kUnit);
  const std::size_t blocks = std::size_t{rows} * (cols / shape.elements);
  std::size_t at = 0;
  const auto plane = [&](std::size_t bytes) {
    Byte* const begin = data + at;
    at += (bytes + 255) / 256 * 256;
    return begin;
  };
  Planes<Byte> p{};
  p.low = plane(units * (shape.low_bits == 8 ? 16 : shape.low_bits * kUnit / 8));
  p.low_16 = plane(shape.low_bits == 8 ? units * 16 : 0);
  p.high = plane(units * shape.high_bits * kUnit / 8);
  p.scales = plane(shape.elements == kUnit ? 0 : units * 2);
  p.halves = plane(blocks * (shape.minima ? 4 : 2));
  p.bytes = at;
  return p;
}

template <class T>
__device__ T load_from(const std::byte* plane, std::size_t piece) {
  return reinterpret_cast<const T*>(plane)[piece];
}

// Exact.
__device__ inline float number_of_f16(std::uint32_t half) {
#ifdef PC_CUDA_STANDIN
  return from_f16(static_cast<std::uint16_t>(half));
#else
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(static_cast<std::uint16_t>(half)));
  return x;
#endif
}

// x with its lowest byte taken from byte k of another word: one instruction.
__device__ inline std::uint32_t with_byte(std::uint32_t x, std::uint32_t word, std::uint32_t k) {
#ifdef PC_CUDA_STANDIN
  return (x & ~0xffu) | (word >> 8 * k & 0xffu);
#else
  return __byte_perm(word, x, 0x7650u + k);
#endif
}

// Numbers from the codes of a quad. 2^23 + code is the code in the mantissa of 2^23.
template <std::uint32_t kType>
__device__ float number_of_code(std::uint32_t codes, std::uint32_t k) {
  return float_of(with_byte(0x4b000000u, codes, k)) -
         (0x1p23f + static_cast<float>(quant_shape(kType).offset));
}

__device__ inline std::uint32_t shifted(std::uint32_t word, int left) {
  return left >= 0 ? word << left : word >> -left;
}

// Words of a unit that have bits of quad j; for the low bits of a type of 8, of either plane.
template <std::uint32_t kType>
__device__ constexpr std::uint32_t low_word(std::uint32_t j) {
  return quant_shape(kType).low_bits == 2 ? j / 4 : j % 4;
}
template <std::uint32_t kType>
__device__ constexpr std::uint32_t high_word(std::uint32_t j) {
  return quant_shape(kType).high_bits == 2 ? j / 4 : 0;
}

// Codes of quad j, a byte each, from those words.
template <std::uint32_t kType>
__device__ std::uint32_t codes_of_quad(std::uint32_t low, std::uint32_t high, std::uint32_t j) {
  constexpr QuantShape kShape = quant_shape(kType);
  if constexpr (kShape.low_bits == 8) return low;
  const std::uint32_t low_at = kShape.low_bits == 4 ? j / 4 * 4 : j % 4 * 2;
  std::uint32_t codes = low >> low_at & (0x01010101u * ((1u << kShape.low_bits) - 1));
  if constexpr (kShape.high_bits > 0) {
    const std::uint32_t high_at = kShape.high_bits == 1 ? j : j % 4 * 2;
    const int left = static_cast<int>(kShape.low_bits) - static_cast<int>(high_at);
    constexpr std::uint32_t kMask = 0x01010101u * ((1u << kShape.high_bits) - 1);
    codes |= shifted(high, left) & kMask << kShape.low_bits;
  }
  return codes;
}

// What makes numbers of a unit's codes: bytes as its planes have them.
struct UnitScales {
  std::uint32_t scales, halves;
};

template <std::uint32_t kType>
__device__ UnitScales load_scales(const Planes<const std::byte>& p, std::uint32_t unit) {
  constexpr QuantShape kShape = quant_shape(kType);
  const std::uint32_t block = unit / (kShape.elements / kUnit);
  UnitScales s{};
  if constexpr (kShape.elements != kUnit) s.scales = load_from<std::uint16_t>(p.scales, unit);
  s.halves = kShape.minima ? load_from<std::uint32_t>(p.halves, block)
                           : load_from<std::uint16_t>(p.halves, block);
  return s;
}

__device__ inline std::uint32_t byte_of(std::uint32_t word, std::uint32_t k) {
  return word >> 8 * k & 0xffu;
}

// Of columns 16 * half to 16 * half + 15 of a unit. All products of an f16, a scale and a code
// have at most 24 bits: they are exact in f32, and fused with a sum or not they give the same.
template <std::uint32_t kType>
__device__ float scale_of(const UnitScales& s, std::uint32_t half) {
  const float scale = number_of_f16(s.halves & 0xffffu);
  if constexpr (kType == PC_DTYPE_Q2_K) {
    return scale * static_cast<float>(byte_of(s.scales, half) & 15u);
  } else if constexpr (kType == PC_DTYPE_Q3_K || kType == PC_DTYPE_Q6_K) {
    return scale * static_cast<float>(static_cast<std::int8_t>(byte_of(s.scales, half)));
  } else if constexpr (kType == PC_DTYPE_Q4_K || kType == PC_DTYPE_Q5_K) {
    return scale * static_cast<float>(byte_of(s.scales, 0));
  } else {
    return scale;
  }
}

// What is added to scale * (code - offset); 0 of types without.
template <std::uint32_t kType>
__device__ float low_of(const UnitScales& s, std::uint32_t half) {
  if constexpr (!quant_shape(kType).minima) return 0.0f;
  const float minimum = number_of_f16(s.halves >> 16);
  if constexpr (kType == PC_DTYPE_Q2_K)
    return -(minimum * static_cast<float>(byte_of(s.scales, half) >> 4));
  if constexpr (kType == PC_DTYPE_Q4_K || kType == PC_DTYPE_Q5_K)
    return -(minimum * static_cast<float>(byte_of(s.scales, 1)));
  return minimum;
}

}  // namespace pc::cuda
