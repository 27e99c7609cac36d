// Random blocks of quantised weights.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "simd/types.h"
#include "tests/support/random.h"

namespace pc::test {

inline constexpr simd::Type kQuantisedTypes[] = {
    simd::Type::kQ8_0, simd::Type::kQ4_0, simd::Type::kQ4_1, simd::Type::kQ5_0, simd::Type::kQ5_1,
    simd::Type::kQ2_K, simd::Type::kQ3_K, simd::Type::kQ4_K, simd::Type::kQ5_K, simd::Type::kQ6_K};

// The largest f16 that is at most `limit`, as bits. 0 < limit < 65536.
inline std::uint16_t f16_below(float limit) {
  int exponent;
  const float mantissa = std::frexp(limit, &exponent);  // [0.5, 1)
  if (exponent < -13) return static_cast<std::uint16_t>(std::ldexp(limit, 24));
  return static_cast<std::uint16_t>((exponent + 14) << 10 |
                                    (static_cast<int>(std::ldexp(mantissa, 11)) & 1023));
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
  }
  return bytes;
}

}  // namespace pc::test
