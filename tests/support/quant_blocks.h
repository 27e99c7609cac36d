// Random blocks of quantised weights.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "simd/blocks/block_codes.h"
#include "simd/types.h"
#include "tests/support/random.h"

namespace pc::test {

inline constexpr simd::Type kQuantisedTypes[] = {
    simd::Type::kQ8_0,    simd::Type::kQ4_0,    simd::Type::kQ4_1,   simd::Type::kQ5_0,
    simd::Type::kQ5_1,    simd::Type::kQ2_K,    simd::Type::kQ3_K,   simd::Type::kQ4_K,
    simd::Type::kQ5_K,    simd::Type::kQ6_K,    simd::Type::kIQ4_NL, simd::Type::kIQ4_XS,
    simd::Type::kMXFP4,   simd::Type::kIQ2_XXS, simd::Type::kIQ2_XS, simd::Type::kIQ2_S,
    simd::Type::kIQ3_XXS, simd::Type::kIQ3_S,   simd::Type::kIQ1_S,  simd::Type::kIQ1_M,
    simd::Type::kTQ1_0,   simd::Type::kTQ2_0,   simd::Type::kNVFP4};

// The largest f16 that is at most `limit`, as bits. 0 < limit < 65536.
inline std::uint16_t f16_below(float limit) {
  int exponent;
  const float mantissa = std::frexp(limit, &exponent);  // [0.5, 1)
  if (exponent < -13) return static_cast<std::uint16_t>(std::ldexp(limit, 24));
  return static_cast<std::uint16_t>((exponent + 14) << 10 |
                                    (static_cast<int>(std::ldexp(mantissa, 11)) & 1023));
}

// The f16 scale of a block of IQ1_M: the upper nibbles of four words.
inline void put_iq1_m_scale(std::uint8_t* block, std::uint16_t half) {
  for (int i = 0; i < 4; ++i) {
    std::uint8_t& byte = block[49 + 2 * i];
    byte = static_cast<std::uint8_t>((byte & 15) | (half >> 4 * i & 15) << 4);
  }
}

// The scales of one block that are no f16, or none that lies whole, up to `largest`.
inline void put_other_scales(Random& random, simd::Type type, float largest, std::uint8_t* block) {
  if (type == simd::Type::kIQ1_M) {
    const auto magnitude = random.below(f16_below(largest) + 1u);
    put_iq1_m_scale(block, static_cast<std::uint16_t>(magnitude | (random.next() >> 63) << 15));
  } else if (type == simd::Type::kMXFP4) {  // over as many powers of two as an f16 has
    block[0] =
        static_cast<std::uint8_t>(128 + std::ilogb(largest) - static_cast<int>(random.below(24)));
  } else if (type == simd::Type::kNVFP4) {
    for (int i = 0; i < 4; ++i) {
      while (simd::half_e4m3(block[i]) > largest)
        block[i] = static_cast<std::uint8_t>(random.next() >> 32);
    }
  }
}

// n elements: any bytes, but scales and minima of any finite f16 up to `largest`.
inline std::vector<std::uint8_t> random_blocks(Random& random, simd::Type type, std::size_t n,
                                               float largest) {
  const simd::TypeShape& shape = simd::shape_of(type);
  std::vector<std::uint8_t> bytes(simd::bytes_of(type, n));
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.next() >> 32);
  for (std::size_t b = 0; b < n / shape.elements; ++b) {
    for (std::size_t s = 0; s < shape.scales; ++s) {
      const auto magnitude = random.below(f16_below(largest) + 1u);
      const auto half = static_cast<std::uint16_t>(magnitude | (random.next() >> 63) << 15);
      std::memcpy(bytes.data() + b * shape.bytes + shape.scale_at + 2 * s, &half, 2);
    }
    put_other_scales(random, type, largest, bytes.data() + b * shape.bytes);
  }
  return bytes;
}

}  // namespace pc::test
