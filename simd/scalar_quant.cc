#include "simd/scalar_quant.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "simd/blocks/block_codes.h"
#include "simd/blocks/coded_element.h"

namespace pc::simd {
namespace {

using Block = const std::uint8_t*;

std::uint16_t u16(Block p) {
  return static_cast<std::uint16_t>(p[0] | p[1] << 8);
}

float f16(Block p) {
  return f32_from_f16(u16(p));
}

int bit(Block p, std::size_t i) {
  return p[i / 8] >> i % 8 & 1;
}

// The types of 32 elements: bytes of two nibbles, the low ones first.
int nibble(Block p, std::size_t i) {
  return i < 16 ? p[i] & 15 : p[i - 16] >> 4;
}

float q8_0(Block b, std::size_t i) {
  return f16(b) * static_cast<float>(static_cast<std::int8_t>(b[2 + i]));
}

float q4_0(Block b, std::size_t i) {
  return f16(b) * static_cast<float>(nibble(b + 2, i) - 8);
}

float q4_1(Block b, std::size_t i) {
  return f16(b) * static_cast<float>(nibble(b + 4, i)) + f16(b + 2);
}

float q5_0(Block b, std::size_t i) {
  return f16(b) * static_cast<float>((nibble(b + 6, i) | bit(b + 2, i) << 4) - 16);
}

float q5_1(Block b, std::size_t i) {
  return f16(b) * static_cast<float>(nibble(b + 8, i) | bit(b + 4, i) << 4) + f16(b + 2);
}

// The types of 256 elements. Byte l of each run of 32 bytes holds one element
// of several groups of 32, group after group in its bits from the lowest on.

float q2_k(Block b, std::size_t i) {
  const std::size_t group = i / 32;
  const int q = b[16 + group / 4 * 32 + i % 32] >> group % 4 * 2 & 3;
  const int scales = b[i / 16];
  return f16(b + 80) * static_cast<float>(scales & 15) * static_cast<float>(q) -
         f16(b + 82) * static_cast<float>(scales >> 4);
}

float q3_k(Block b, std::size_t i) {
  const std::size_t group = i / 32, s = i / 16;
  const int low = b[32 + group / 4 * 32 + i % 32] >> group % 4 * 2 & 3;
  const int q = low - (b[i % 32] >> group & 1 ? 0 : 4);
  const Block scales = b + 96;  // 16 x 4 low bits, then 16 x 2 high bits
  const int scale = (scales[s % 8] >> s / 8 * 4 & 15) | (scales[8 + s % 4] >> s / 4 * 2 & 3) << 4;
  return f16(b + 108) * static_cast<float>(scale - 32) * static_cast<float>(q);
}

// Scale and minimum of group g of Q4_K and Q5_K, 6 bits each: those of the
// first four groups whole in 4 + 4 bytes; those of the others have their low
// bits in the last 4 bytes and their high bits above those of the first.
struct ScaleMin {
  int scale, min;
};

ScaleMin scale_min(Block p, std::size_t g) {
  if (g < 4) return {p[g] & 63, p[4 + g] & 63};
  return {(p[4 + g] & 15) | (p[g - 4] >> 6) << 4, p[4 + g] >> 4 | (p[g] >> 6) << 4};
}

float with_min(Block b, std::size_t group, int q) {
  const ScaleMin s = scale_min(b + 4, group);
  return f16(b) * static_cast<float>(s.scale) * static_cast<float>(q) -
         f16(b + 2) * static_cast<float>(s.min);
}

float q4_k(Block b, std::size_t i) {
  const std::size_t group = i / 32;
  return with_min(b, group, b[16 + group / 2 * 32 + i % 32] >> group % 2 * 4 & 15);
}

float q5_k(Block b, std::size_t i) {
  const std::size_t group = i / 32;
  const int low = b[48 + group / 2 * 32 + i % 32] >> group % 2 * 4 & 15;
  return with_min(b, group, low | (b[16 + i % 32] >> group & 1) << 4);
}

float q6_k(Block b, std::size_t i) {
  const std::size_t group = i / 32;
  const int low = b[group / 4 * 64 + group % 2 * 32 + i % 32] >> group % 4 / 2 * 4 & 15;
  const int high = b[128 + group / 4 * 32 + i % 32] >> group % 4 * 2 & 3;
  const auto scale = static_cast<std::int8_t>(b[192 + i / 16]);
  return f16(b + 208) * static_cast<float>(scale) * static_cast<float>((low | high << 4) - 32);
}

}  // namespace

float f32_from_f16(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int mantissa = half & 1023;
  float magnitude;
  if (exponent == 0)
    magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  else if (exponent == 31)
    magnitude =
        mantissa ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
  else
    magnitude = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

float quantised_element(const void* data, Type type, std::size_t i) {
  const TypeShape& shape = shape_of(type);
  const Block b = static_cast<Block>(data) + i / shape.elements * shape.bytes;
  i %= shape.elements;
  switch (type) {
    case Type::kQ8_0:
      return q8_0(b, i);
    case Type::kQ4_0:
      return q4_0(b, i);
    case Type::kQ4_1:
      return q4_1(b, i);
    case Type::kQ5_0:
      return q5_0(b, i);
    case Type::kQ5_1:
      return q5_1(b, i);
    case Type::kQ2_K:
      return q2_k(b, i);
    case Type::kQ3_K:
      return q3_k(b, i);
    case Type::kQ4_K:
      return q4_k(b, i);
    case Type::kQ5_K:
      return q5_k(b, i);
    case Type::kQ6_K:
      return q6_k(b, i);
    default:
      return is_coded(type) ? coded_element(b, type, i) : 0.0f;
  }
}

namespace {

// An exponent of all ones carries into bit 15.
std::uint32_t carry_of(std::uint16_t half) {
  return (half & 0x7fffu) + 0x400u;
}

// From 2^125 on, twelve times the scale is no float; the last one is OCP's NaN.
constexpr std::uint8_t kLargestE8m0 = 252;

template <class IsFinite>
bool every_block(Block first, std::size_t n_blocks, std::size_t bytes, IsFinite is_finite) {
  bool all = true;
  for (std::size_t block = 0; block < n_blocks; ++block) all &= is_finite(first + block * bytes);
  return all;
}

}  // namespace

bool scales_finite(const void* data, Type type, std::size_t n) {
  const TypeShape& shape = shape_of(type);
  auto first = static_cast<Block>(data) + shape.scale_at;
  const std::size_t n_blocks = n / shape.elements;
  if (type == Type::kNVFP4) return true;
  if (type == Type::kMXFP4)
    return every_block(first, n_blocks, shape.bytes, [](Block b) { return *b <= kLargestE8m0; });
  if (type == Type::kIQ1_M)
    return every_block(first, n_blocks, shape.bytes,
                       [](Block b) { return (carry_of(iq1_m_scale(b)) & 0x8000u) == 0; });
  const std::size_t second = 2 * (shape.scales - 1);
  std::uint32_t bad = 0;
  for (std::size_t block = 0; block < n_blocks; ++block, first += shape.bytes) {
    std::uint16_t a, b;
    std::memcpy(&a, first, 2);
    std::memcpy(&b, first + second, 2);
    bad |= carry_of(a) | carry_of(b);
  }
  return (bad & 0x8000u) == 0;
}

}  // namespace pc::simd
