// The element types that weights are stored in, and how many bytes they take.
//
// Quantised types are GGUF's: rows of blocks, each with scales of its own
// (their bits: simd/scalar_quant.cc, simd/blocks/coded_element.cc). Constant data.
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
  kIQ2_XXS = 14,
  kIQ2_XS = 15,
  kIQ3_XXS = 16,
  kIQ1_S = 17,
  kIQ4_NL = 18,
  kIQ3_S = 19,
  kIQ2_S = 20,
  kIQ4_XS = 21,
  kIQ1_M = 22,
  kTQ1_0 = 23,
  kTQ2_0 = 24,
  kMXFP4 = 25,
  kNVFP4 = 26,
};

struct TypeShape {
  const char* name;         // as GGUF and safetensors spell it
  std::uint32_t elements;   // a block
  std::uint32_t bytes;      // a block
  std::uint32_t alignment;  // of the first byte, for kernels that load whole elements
  std::uint32_t scale_at;   // byte of a block where its f16 values begin: the scale, then
  std::uint32_t scales;     // the minimum where there are two; 0: no f16 that lies whole
};

// [type]; entry 0 is unused.
inline constexpr std::array<TypeShape, 27> kTypeShapes{{
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
    // Rows of codebooks (simd/blocks/codebooks.h) and signs:
    {"IQ2_XXS", 256, 66, 1, 0, 1},  // f16 scale, 8 x (4 x 8 bits, 4 x 7 of signs, 4-bit scale)
    {"IQ2_XS", 256, 74, 1, 0, 1},   // f16 scale, 32 x (9 bits, 7 of signs), 16 x 4-bit scale
    {"IQ3_XXS", 256, 98, 1, 0, 1},  // f16 scale, 64 x 8 bits, 8 x (4 x 7 of signs, 4-bit scale)
    {"IQ1_S", 256, 50, 1, 0, 1},    // f16 scale, 32 x 8, 8 x (4 x 3 bits, 3-bit scale, a sign)
    {"IQ4_NL", 32, 18, 1, 0, 1},    // f16 scale, 32 x 4 bits of a table
    {"IQ3_S", 256, 110, 1, 0, 1},   // f16 scale, 64 x 8, 64 x 1 bits, 256 signs, 8 x 4-bit scale
    {"IQ2_S", 256, 82, 1, 0, 1},    // f16 scale, 32 x 8 bits, 256 signs, 32 x 2 bits, 16 scales
    {"IQ4_XS", 256, 136, 1, 0, 1},  // f16 scale, 8 x 6-bit scale, 256 x 4 bits of a table
    {"IQ1_M", 256, 56, 1, 0, 0},    // 32 x 8, 32 x (3 bits, a sign), 16 x 3-bit scale, f16 scale
    {"TQ1_0", 256, 54, 1, 52, 1},   // 256 digits of base 3, f16 scale
    {"TQ2_0", 256, 66, 1, 64, 1},   // 256 x 2 bits, f16 scale
    {"MXFP4", 32, 17, 1, 0, 0},     // E8M0 scale, 32 x E2M1
    {"NVFP4", 64, 36, 1, 0, 0},     // 4 x E4M3 scale, 64 x E2M1
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
