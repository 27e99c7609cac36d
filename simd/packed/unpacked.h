// One block of one row of a matrix, in the integers that a packed matrix keeps
// (simd/packed/packed.h).
//
// Pure functions. Blocks are read byte by byte: no alignment.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "simd/blocks/codebooks.h"
#include "simd/types.h"

namespace pc::simd {

struct Unpacked {
  std::uint16_t scale = 0, minimum = 0;    // f16; the scale's bits where it is E8M0
  std::array<std::uint16_t, 4> scales{};   // f16, of each group where they have their own
  std::array<std::int8_t, 16> factors{};   // of the scale, a group each
  std::array<std::int8_t, 16> minimums{};  // of the minimum
  std::array<std::uint8_t, 256> codes{};   // the first `block` count
};

// The code of a number of a table, by the number's byte; the first one of those that mean it.
using CodesOfNumbers = std::array<std::uint8_t, 256>;

CodesOfNumbers codes_of(const Numbers16& numbers);

// codes: those of the type's table, where it has one. Precondition: packs(type).
void unpack(Type type, const std::uint8_t* block, const CodesOfNumbers& codes, Unpacked& u);

}  // namespace pc::simd
