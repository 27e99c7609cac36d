// The element types that weights are stored in, and how many bytes they take.
//
// Quantised types are GGUF's: rows of blocks, each with scales of its own
// (their bits: simd/scalar_quant.cc). Constant data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pc::simd {

// The numbers are pc_dtype's.
enum class Type : std::uint32_t {
  kF32 = 1,
  kF16 = 2,
  kBf16 = 3,
  kQ8_0 = 4,
  kQ4_0 = 5,
  kQ4_1 = 6,
  kQ5_0 = 7,
  kQ5_1 = 8,
  kQ2_K = 9,
  kQ3_K = 10,
  kQ4_K = 11,
  kQ5_K = 12,
  kQ6_K = 13,
};

struct TypeShape {
  const char* name;         // as GGUF and safetensors spell it
  std::uint32_t elements;   // a block
  std::uint32_t bytes;      // a block
  std::uint32_t alignment;  // of the first byte, for kernels that load whole elements
  std::uint32_t scale_at;   // byte of a block where its f16 values begin: the scale, then
  std::uint32_t scales;     // the minimum where there are two; 0: not quantised
};

// [type]; entry 0 is unused.
inline constexpr std::array<TypeShape, 14> kTypeShapes{{
    {"", 0, 0, 0, 0, 0},
    {"F32", 1, 4, 4, 0, 0},
    {"F16", 1, 2, 2, 0, 0},
    {"BF16", 1, 2, 2, 0, 0},
    {"Q8_0", 32, 34, 1, 0, 1},      // f16 scale, 32 x i8
    {"Q4_0", 32, 18, 1, 0, 1},      // f16 scale, 32 x 4 bits
    {"Q4_1", 32, 20, 1, 0, 2},      // f16 scale and minimum, 32 x 4 bits
    {"Q5_0", 32, 22, 1, 0, 1},      // f16 scale, 32 high bits, 32 x 4 bits
    {"Q5_1", 32, 24, 1, 0, 2},      // f16 scale and minimum, 32 high bits, 32 x 4 bits
    {"Q2_K", 256, 84, 1, 80, 2},    // 16 x (4-bit scale, minimum), 256 x 2 bits, f16 scale, minimum
    {"Q3_K", 256, 110, 1, 108, 1},  // 256 high bits, 256 x 2 bits, 16 x 6-bit scale, f16 scale
    {"Q4_K", 256, 144, 1, 0, 2},    // f16 scale, minimum, 8 x (6-bit scale, minimum), 256 x 4 bits
    {"Q5_K", 256, 176, 1, 0, 2},    // the same, 256 high bits, 256 x 4 bits
    {"Q6_K", 256, 210, 1, 208, 1},  // 256 x 4 low, 256 x 2 high bits, 16 x i8 scale, f16 scale
}};

constexpr const TypeShape& shape_of(Type type) {
  return kTypeShapes[static_cast<std::uint32_t>(type)];
}

// Bytes of n elements. Precondition: n is a multiple of the block.
constexpr std::size_t bytes_of(Type type, std::size_t n) {
  return n / shape_of(type).elements * shape_of(type).bytes;
}

constexpr bool is_quantised(Type type) {
  return shape_of(type).elements > 1;
}

}  // namespace pc::simd
