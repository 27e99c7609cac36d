#include "simd/blocks/block_codes.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "simd/blocks/codebooks.h"

namespace pc::simd {
namespace {

using Bytes = const std::uint8_t*;

template <class T>
T word(Bytes p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// Exponents differ by 127 - 15: one exact product rights them, subnormals too.
float number_of_f16(std::uint16_t half) {
  const std::uint32_t magnitude = (half & 0x7fffu) << 13;
  const bool finite = (half & 0x7c00) != 0x7c00;
  const float number = finite ? std::bit_cast<float>(magnitude) * 0x1p112f
                              : std::bit_cast<float>(magnitude | 0x7f800000u);
  return half & 0x8000 ? -number : number;
}

float f16(Bytes p) {
  return number_of_f16(word<std::uint16_t>(p));
}

float odd(std::uint32_t n) {
  return static_cast<float>(2 * n + 1);
}

// Nibble i, the low one of a byte first.
std::uint32_t nibble(Bytes p, std::size_t i) {
  return p[i / 2] >> i % 2 * 4 & 15u;
}

void put_row(std::uint64_t row, std::int8_t* codes) {
  std::memcpy(codes, &row, sizeof row);
}

// Eight magnitudes, none of them 0, a byte each, negated where the bit of `signs` is set.
std::uint64_t with_signs(std::uint64_t row, std::uint8_t signs) {
  constexpr std::uint64_t kOnes = 0x0101010101010101u;
  const std::uint64_t bits = (signs * kOnes) & 0x8040201008040201u;  // byte j: bit j
  const std::uint64_t negative = ((bits + 0x7f * kOnes) >> 7) & kOnes;
  return (row ^ negative * 0xff) + negative;
}

void iq2_xxs(Bytes b, BlockCodes& out) {
  out.scale = f16(b) * 0.125f;
  for (std::size_t group = 0; group < 8; ++group) {
    const Bytes rows = b + 2 + 8 * group;
    const auto signs = word<std::uint32_t>(rows + 4);
    out.factors[2 * group] = out.factors[2 * group + 1] = odd(signs >> 28);
    for (std::size_t r = 0; r < 4; ++r)
      put_row(with_signs(kIq2XxsBook[rows[r]], even_signs(signs >> 7 * r & 127)),
              out.codes + 32 * group + 8 * r);
  }
}

void iq2_xs(Bytes b, BlockCodes& out) {
  out.scale = f16(b) * 0.125f;
  for (std::size_t s = 0; s < 16; ++s) out.factors[s] = odd(nibble(b + 66, s));
  for (std::size_t r = 0; r < 32; ++r) {
    const auto row = word<std::uint16_t>(b + 2 + 2 * r);
    put_row(with_signs(kIq2XsBook[row & 511], even_signs(row >> 9)), out.codes + 8 * r);
  }
}

void iq2_s(Bytes b, BlockCodes& out) {
  out.scale = f16(b) * 0.125f;
  for (std::size_t s = 0; s < 16; ++s) out.factors[s] = odd(nibble(b + 74, s));
  for (std::size_t r = 0; r < 32; ++r) {
    const std::size_t high = b[66 + r / 4] >> r % 4 * 2 & 3;
    put_row(with_signs(kIq2SBook[b[2 + r] | high << 8], b[34 + r]), out.codes + 8 * r);
  }
}

std::uint64_t two_rows(std::uint32_t first, std::uint32_t second) {
  return first | std::uint64_t{second} << 32;
}

void iq3_xxs(Bytes b, BlockCodes& out) {
  out.scale = f16(b) * 0.25f;
  for (std::size_t group = 0; group < 8; ++group) {
    const Bytes rows = b + 2 + 8 * group;
    const auto signs = word<std::uint32_t>(b + 66 + 4 * group);
    out.factors[2 * group] = out.factors[2 * group + 1] = odd(signs >> 28);
    for (std::size_t r = 0; r < 4; ++r)
      put_row(with_signs(two_rows(kIq3XxsBook[rows[2 * r]], kIq3XxsBook[rows[2 * r + 1]]),
                         even_signs(signs >> 7 * r & 127)),
              out.codes + 32 * group + 8 * r);
  }
}

void iq3_s(Bytes b, BlockCodes& out) {
  out.scale = f16(b);
  for (std::size_t s = 0; s < 16; ++s) out.factors[s] = odd(nibble(b + 106, s / 2));
  for (std::size_t r = 0; r < 32; ++r) {
    const std::size_t high = b[66 + r / 4] >> r % 4 * 2;
    const std::uint64_t rows = two_rows(kIq3SBook[b[2 + 2 * r] | (high & 1) << 8],
                                        kIq3SBook[b[3 + 2 * r] | (high >> 1 & 1) << 8]);
    put_row(with_signs(rows, b[74 + r]), out.codes + 8 * r);
  }
}

// A row of eighths, and one eighth more or less.
void put_eighths(std::size_t row, bool less, std::int8_t* codes) {
  put_row(kIq1Book[row], codes);
  for (std::size_t j = 0; j < 8; ++j)
    codes[j] = static_cast<std::int8_t>(codes[j] + (less ? -1 : 1));
}

void iq1_s(Bytes b, BlockCodes& out) {
  out.scale = f16(b) * 0.125f;
  for (std::size_t group = 0; group < 8; ++group) {
    const auto high = word<std::uint16_t>(b + 34 + 2 * group);
    out.factors[2 * group] = out.factors[2 * group + 1] = odd(high >> 12 & 7);
    for (std::size_t r = 0; r < 4; ++r) {
      const std::size_t row = b[2 + 4 * group + r] | (high >> 3 * r & 7) << 8;
      put_eighths(row, (high & 0x8000) != 0, out.codes + 32 * group + 8 * r);
    }
  }
}

void iq1_m(Bytes b, BlockCodes& out) {
  out.scale = number_of_f16(iq1_m_scale(b)) * 0.125f;
  for (std::size_t s = 0; s < 16; ++s)
    out.factors[s] = odd(word<std::uint16_t>(b + 48 + s / 4 * 2) >> s % 4 * 3 & 7);
  for (std::size_t r = 0; r < 32; ++r) {
    const std::size_t high = nibble(b + 32, r);
    put_eighths(b[r] | (high & 7) << 8, (high & 8) != 0, out.codes + 8 * r);
  }
}

// `n` bytes of two nibbles each: the low ones, then the high ones.
void put_numbers(const Numbers16& numbers, Bytes p, std::size_t n, std::int8_t* codes) {
  for (std::size_t i = 0; i < n; ++i) {
    codes[i] = numbers[p[i] & 15];
    codes[n + i] = numbers[p[i] >> 4];
  }
}

void iq4_nl(Bytes b, BlockCodes& out) {
  out.scale = f16(b);
  out.factors[0] = out.factors[1] = 1.0f;
  put_numbers(kIq4Numbers, b + 2, 16, out.codes);
}

void iq4_xs(Bytes b, BlockCodes& out) {
  out.scale = f16(b);
  for (std::size_t s = 0; s < 16; ++s) {
    const std::uint32_t high = word<std::uint16_t>(b + 2) >> s / 2 * 2 & 3u;
    out.factors[s] = static_cast<float>(static_cast<int>(nibble(b + 4, s / 2) | high << 4) - 32);
  }
  for (std::size_t group = 0; group < 8; ++group)
    put_numbers(kIq4Numbers, b + 8 + 16 * group, 16, out.codes + 32 * group);
}

// Five digits of base 3 of each of n bytes, or the first of them: digit after digit.
void put_digits(Bytes p, std::size_t n, std::size_t digits, std::int8_t* codes) {
  std::uint32_t power = 1;
  for (std::size_t digit = 0; digit < digits; ++digit, power *= 3) {
    for (std::size_t i = 0; i < n; ++i) {
      const auto rest = static_cast<std::uint8_t>(p[i] * power);
      codes[digit * n + i] = static_cast<std::int8_t>((rest * 3 >> 8) - 1);
    }
  }
}

void all_ones(BlockCodes& out) {
  for (float& factor : out.factors) factor = 1.0f;
}

void tq1_0(Bytes b, BlockCodes& out) {
  out.scale = f16(b + 52);
  all_ones(out);
  put_digits(b, 32, 5, out.codes);
  put_digits(b + 32, 16, 5, out.codes + 160);
  put_digits(b + 48, 4, 4, out.codes + 240);
}

void tq2_0(Bytes b, BlockCodes& out) {
  out.scale = f16(b + 64);
  all_ones(out);
  for (std::size_t group = 0; group < 8; ++group)
    for (std::size_t i = 0; i < 32; ++i)
      out.codes[32 * group + i] =
          static_cast<std::int8_t>((b[group / 4 * 32 + i] >> group % 4 * 2 & 3) - 1);
}

void mxfp4(Bytes b, BlockCodes& out) {
  out.scale = half_e8m0(b[0]);
  out.factors[0] = out.factors[1] = 1.0f;
  put_numbers(kE2m1Numbers, b + 1, 16, out.codes);
}

void nvfp4(Bytes b, BlockCodes& out) {
  out.scale = 1.0f;
  for (std::size_t s = 0; s < 4; ++s) {
    out.factors[s] = half_e4m3(b[s]);
    put_numbers(kE2m1Numbers, b + 4 + 8 * s, 8, out.codes + 16 * s);
  }
}

}  // namespace

float half_e8m0(std::uint8_t bits) {
  return std::bit_cast<float>(bits < 2 ? 0x00200000u << bits : (bits - 1u) << 23);
}

float half_e4m3(std::uint8_t bits) {
  const int exponent = bits >> 3 & 15, mantissa = bits & 7;
  if (bits == 0x7f) return 0.0f;
  return exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -10)
                       : std::ldexp(static_cast<float>(8 + mantissa), exponent - 11);
}

std::uint16_t iq1_m_scale(const std::uint8_t* block) {
  const auto part = [block](std::size_t i) { return block[49 + 2 * i] >> 4; };
  return static_cast<std::uint16_t>(part(0) | part(1) << 4 | part(2) << 8 | part(3) << 12);
}

void unpack_block(Type type, const std::uint8_t* block, BlockCodes& out) {
  switch (type) {
    case Type::kIQ2_XXS:
      return iq2_xxs(block, out);
    case Type::kIQ2_XS:
      return iq2_xs(block, out);
    case Type::kIQ3_XXS:
      return iq3_xxs(block, out);
    case Type::kIQ1_S:
      return iq1_s(block, out);
    case Type::kIQ4_NL:
      return iq4_nl(block, out);
    case Type::kIQ3_S:
      return iq3_s(block, out);
    case Type::kIQ2_S:
      return iq2_s(block, out);
    case Type::kIQ4_XS:
      return iq4_xs(block, out);
    case Type::kIQ1_M:
      return iq1_m(block, out);
    case Type::kTQ1_0:
      return tq1_0(block, out);
    case Type::kTQ2_0:
      return tq2_0(block, out);
    case Type::kMXFP4:
      return mxfp4(block, out);
    case Type::kNVFP4:
      return nvfp4(block, out);
    default:
      return;
  }
}

}  // namespace pc::simd
