// GGUF's quantised types as model files have them: rows of blocks (simd/types.h,
// simd/scalar_quant.cc), and what of a block is laid out on the device.
//
// An element is scale * (code - offset) + low, its code an unsigned number, and `low` what its
// type subtracts or adds, if any. Constant data and pure functions of the device.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/device/device.h"
#include "runtime/backend/backend.h"

namespace pc::cuda {

// Columns whose codes one thread reads at once: a block of the types of 32, and of those of 256
// elements what shares a scale, or two neighbours that do.
inline constexpr std::uint32_t kUnit = 32;

struct QuantShape {
  std::uint32_t elements, bytes;      // a block
  std::uint32_t low_bits, high_bits;  // of a code, which types keep apart
  std::uint32_t offset;
  std::uint32_t scales;  // of a unit: 1, or 2 of 16 columns each
  std::uint32_t
      scale_at;  // byte of a block where its f16 begins, or two of them where it has minima
  bool minima;
};

__host__ __device__ constexpr QuantShape quant_shape(std::uint32_t dtype) {
  switch (dtype) {
    case PC_DTYPE_Q8_0:
      return {32, 34, 8, 0, 128, 1, 0, false};
    case PC_DTYPE_Q4_0:
      return {32, 18, 4, 0, 8, 1, 0, false};
    case PC_DTYPE_Q4_1:
      return {32, 20, 4, 0, 0, 1, 0, true};
    case PC_DTYPE_Q5_0:
      return {32, 22, 4, 1, 16, 1, 0, false};
    case PC_DTYPE_Q5_1:
      return {32, 24, 4, 1, 0, 1, 0, true};
    case PC_DTYPE_Q2_K:
      return {256, 84, 2, 0, 0, 2, 80, true};
    case PC_DTYPE_Q3_K:
      return {256, 110, 2, 1, 4, 2, 108, false};
    case PC_DTYPE_Q4_K:
      return {256, 144, 4, 0, 0, 1, 0, true};
    case PC_DTYPE_Q5_K:
      return {256, 176, 4, 1, 0, 1, 0, true};
    default:  // Q6_K
      return {256, 210, 4, 2, 32, 2, 208, false};
  }
}

// Calls f(std::integral_constant of the type). Precondition: a quantised type.
template <class F>
void with_blocks_of_32(std::uint32_t dtype, F f) {
  switch (dtype) {
    case PC_DTYPE_Q8_0:
      return f(std::integral_constant<std::uint32_t, PC_DTYPE_Q8_0>());
    case PC_DTYPE_Q4_0:
      return f(std::integral_constant<std::uint32_t, PC_DTYPE_Q4_0>());
    case PC_DTYPE_Q4_1:
      return f(std::integral_constant<std::uint32_t, PC_DTYPE_Q4_1>());
    case PC_DTYPE_Q5_0:
      return f(std::integral_constant<std::uint32_t, PC_DTYPE_Q5_0>());
    default:
      return f(std::integral_constant<std::uint32_t, PC_DTYPE_Q5_1>());
  }
}

template <class F>
void with_blocks_of_256(std::uint32_t dtype, F f) {
  switch (dtype) {
    case PC_DTYPE_Q2_K:
      return f(std::integral_constant<std::uint32_t, PC_DTYPE_Q2_K>());
    case PC_DTYPE_Q3_K:
      return f(std::integral_constant<std::uint32_t, PC_DTYPE_Q3_K>());
    case PC_DTYPE_Q4_K:
      return f(std::integral_constant<std::uint32_t, PC_DTYPE_Q4_K>());
    case PC_DTYPE_Q5_K:
      return f(std::integral_constant<std::uint32_t, PC_DTYPE_Q5_K>());
    default:
      return f(std::integral_constant<std::uint32_t, PC_DTYPE_Q6_K>());
  }
}

template <class F>
void with_blocks(std::uint32_t dtype, F f) {
  if (quant_shape(dtype).elements == 32)
    with_blocks_of_32(dtype, f);
  else
    with_blocks_of_256(dtype, f);
}

using StoredBlock = const std::uint8_t*;  // at any byte

__device__ inline std::uint32_t stored_bit(StoredBlock p, std::uint32_t i) {
  return p[i / 8] >> i % 8 & 1u;
}

// The types of 32 elements: bytes of two nibbles, the low ones first.
__device__ inline std::uint32_t stored_nibble(StoredBlock p, std::uint32_t i) {
  return i < 16 ? p[i] & 15u : std::uint32_t{p[i - 16]} >> 4;
}

// The types of 256 elements: byte l of each run of 32 bytes has an element of `bits` bits of
// several groups of 32, group after group from its lowest bits on.
__device__ inline std::uint32_t stored_of_group(StoredBlock p, std::uint32_t bits,
                                                std::uint32_t i) {
  const std::uint32_t group = i / 32, groups = 8 / bits;  // of a byte
  return p[group / groups * 32 + i % 32] >> group % groups * bits & ((1u << bits) - 1);
}

// Code of element i of a block.
template <std::uint32_t kType>
__device__ std::uint32_t stored_code(StoredBlock b, std::uint32_t i) {
  if constexpr (kType == PC_DTYPE_Q8_0) {
    return b[2 + i] ^ 0x80u;
  } else if constexpr (kType == PC_DTYPE_Q4_0) {
    return stored_nibble(b + 2, i);
  } else if constexpr (kType == PC_DTYPE_Q4_1) {
    return stored_nibble(b + 4, i);
  } else if constexpr (kType == PC_DTYPE_Q5_0) {
    return stored_nibble(b + 6, i) | stored_bit(b + 2, i) << 4;
  } else if constexpr (kType == PC_DTYPE_Q5_1) {
    return stored_nibble(b + 8, i) | stored_bit(b + 4, i) << 4;
  } else if constexpr (kType == PC_DTYPE_Q2_K) {
    return stored_of_group(b + 16, 2, i);
  } else if constexpr (kType == PC_DTYPE_Q3_K) {
    return stored_of_group(b + 32, 2, i) | stored_of_group(b, 1, i) << 2;
  } else if constexpr (kType == PC_DTYPE_Q4_K) {
    return stored_of_group(b + 16, 4, i);
  } else if constexpr (kType == PC_DTYPE_Q5_K) {
    return stored_of_group(b + 48, 4, i) | stored_of_group(b + 16, 1, i) << 4;
  } else {
    // Nibbles in an order of their own: groups 0 and 2, 1 and 3 of each half share bytes.
    const std::uint32_t group = i / 32;
    const std::uint32_t byte = b[group / 4 * 64 + group % 2 * 32 + i % 32];
    return (byte >> group % 4 / 2 * 4 & 15u) | stored_of_group(b + 128, 2, i) << 4;
  }
}

// Unit g of a block of 256, as two bytes: Q2_K a nibble of scale and one of minimum for each half;
// Q3_K and Q6_K an i8 of scale for each half; Q4_K and Q5_K the scale, then the minimum.
template <std::uint32_t kType>
__device__ std::uint32_t stored_scales(StoredBlock b, std::uint32_t g) {
  const auto pair = [](std::uint32_t first, std::uint32_t second) { return first | second << 8; };
  if constexpr (kType == PC_DTYPE_Q2_K) {
    return pair(b[2 * g], b[2 * g + 1]);
  } else if constexpr (kType == PC_DTYPE_Q3_K) {
    const StoredBlock p = b + 96;  // 16 x 4 low bits, then 16 x 2 high bits
    const auto scale = [p](std::uint32_t s) {
      const std::uint32_t low = p[s % 8] >> s / 8 * 4 & 15u, high = p[8 + s % 4] >> s / 4 * 2 & 3u;
      return ((low | high << 4) - 32) & 0xffu;
    };
    return pair(scale(2 * g), scale(2 * g + 1));
  } else if constexpr (kType == PC_DTYPE_Q6_K) {
    return pair(b[192 + 2 * g], b[193 + 2 * g]);
  } else {
    // The first four whole in 4 + 4 bytes; the others have low bits in the last 4 bytes, and
    // high bits above those of the first.
    const StoredBlock p = b + 4;
    if (g < 4) return pair(p[g] & 63u, p[4 + g] & 63u);
    return pair((p[4 + g] & 15u) | (p[g - 4] >> 6) << 4, p[4 + g] >> 4 | (p[g] >> 6) << 4);
  }
}

// A block's f16 scale, and above it its minimum where the type has them.
template <std::uint32_t kType>
__device__ std::uint32_t stored_halves(StoredBlock b) {
  constexpr QuantShape kShape = quant_shape(kType);
  const StoredBlock p = b + kShape.scale_at;
  std::uint32_t halves = p[0] | std::uint32_t{p[1]} << 8;
  if constexpr (kShape.minima) halves |= std::uint32_t{p[2]} << 16 | std::uint32_t{p[3]} << 24;
  return halves;
}

}  // namespace pc::cuda
