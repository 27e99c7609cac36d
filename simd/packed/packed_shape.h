// What a packed matrix keeps of each type's blocks: simd/packed/packed.h says what it means.
//
// Constant data.
#pragma once

#include <cstdint>

#include "simd/blocks/codebooks.h"
#include "simd/types.h"

namespace pc::simd {

enum class PackedScale : std::uint8_t {
  kF16,      // one a block
  kE8m0,     // one a block: half a power of two (simd/blocks/block_codes.h)
  kF16Each,  // one a group
};

struct PackedShape {
  std::uint32_t block;  // columns of one head: 32, 64 or 256; 0: a type that is not packed
  std::uint32_t group;  // columns of one scale: 16 or 32
  std::uint32_t bits;   // kept a code: 4, 6 or 8
  std::uint32_t zero;   // log2 of the code that means 0, or
  bool minima;          // there are minima instead
  // Where codes are places in a table: its numbers, all above -2^zero. With 2^zero added a number
  // is multiplied as codes of 6 bits are (zero: 4), or of 8 (7).
  bool table = false;
  Numbers16 numbers = {};
  PackedScale scale = PackedScale::kF16;
  std::uint32_t fraction = 0;  // the scale counts in units of 2^-fraction
};

// Bits of the codes that are multiplied: those that are kept, or what a table's numbers need.
constexpr std::uint32_t multiplied_bits(const PackedShape& shape) {
  return !shape.table ? shape.bits : shape.zero == 7 ? 8 : 6;
}

constexpr PackedShape packed_shape_of(Type type) {
  switch (type) {
    case Type::kQ8_0:
      return {32, 32, 8, 7, false};
    case Type::kQ4_0:
      return {32, 32, 4, 3, false};
    case Type::kQ4_1:
      return {32, 32, 4, 0, true};
    case Type::kQ5_0:
      return {32, 32, 6, 4, false};
    case Type::kQ5_1:
      return {32, 32, 6, 0, true};
    case Type::kQ2_K:
      return {256, 16, 4, 0, true};
    case Type::kQ3_K:
      return {256, 16, 4, 2, false};
    case Type::kQ4_K:
      return {256, 32, 4, 0, true};
    case Type::kQ5_K:
      return {256, 32, 6, 0, true};
    case Type::kQ6_K:
      return {256, 16, 6, 5, false};
    case Type::kIQ4_NL:
      return {32, 32, 4, 7, false, true, kIq4Numbers};
    case Type::kIQ4_XS:
      return {256, 32, 4, 7, false, true, kIq4Numbers};
    case Type::kMXFP4:
      return {32, 32, 4, 4, false, true, kE2m1Numbers, PackedScale::kE8m0};
    case Type::kNVFP4:
      return {64, 16, 4, 4, false, true, kE2m1Numbers, PackedScale::kF16Each};
    case Type::kIQ3_XXS:
      return {256, 32, 4, 7, false, true, kIq3XxsNumbers, PackedScale::kF16, 2};
    case Type::kIQ3_S:
      return {256, 32, 4, 4, false, true, kIq3SNumbers};
    case Type::kIQ2_XXS:
      return {256, 32, 4, 7, false, true, kIq2Numbers, PackedScale::kF16, 3};
    case Type::kIQ2_XS:
    case Type::kIQ2_S:
      return {256, 16, 4, 7, false, true, kIq2Numbers, PackedScale::kF16, 3};
    case Type::kIQ1_S:
      return {256, 32, 4, 4, false, true, kIq1Numbers, PackedScale::kF16, 3};
    case Type::kIQ1_M:
      return {256, 16, 4, 4, false, true, kIq1Numbers, PackedScale::kF16, 3};
    case Type::kTQ1_0:
    case Type::kTQ2_0:
      return {256, 32, 4, 0, false};
    default:
      return {};
  }
}

constexpr bool packs(Type type) {
  return packed_shape_of(type).block != 0;
}

}  // namespace pc::simd
