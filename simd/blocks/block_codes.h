// Blocks of GGUF's types of codebooks, of tables and of three numbers, taken apart into integers:
// IQ1, IQ2, IQ3, IQ4, TQ, MXFP4 and NVFP4 (simd/blocks/coded_element.cc: the bits of each).
//
//   element i = scale * factors[i / 16] * codes[i]
//
// and every product of that is exact in f32: a scale has 11 significant bits, a factor and a
// code together at most 12. What instruction sets widen and pack (simd/packed) are these
// integers, so that they take no type apart themselves.
//
// Pure functions. Blocks are read byte by byte: no alignment.
#pragma once

#include <cstdint>

#include "simd/types.h"

namespace pc::simd {

struct BlockCodes {
  alignas(64) std::int8_t codes[256];
  alignas(64) float factors[16];  // integers below 64; of NVFP4 the scales themselves
  float scale;
};

// Is it one of these types?
constexpr bool is_coded(Type type) {
  return type >= Type::kIQ2_XXS && type <= Type::kNVFP4;
}

// Fills the codes and factors that a block has; those past its elements stay as they were.
// Precondition: is_coded(type).
void unpack_block(Type type, const std::uint8_t* block, BlockCodes& out);

// Scales of 8 bits. E8M0: half a power of two, 2^(bits - 128); and half of an E4M3 whose sign is
// ignored, 0 where its bits are NaN's.
float half_e8m0(std::uint8_t bits);
float half_e4m3(std::uint8_t bits);

// The f16 scale of a block of IQ1_M, whose bits are the uppermost of four words.
std::uint16_t iq1_m_scale(const std::uint8_t* block);

}  // namespace pc::simd
