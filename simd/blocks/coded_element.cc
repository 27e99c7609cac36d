#include "simd/blocks/coded_element.h"

#include "simd/blocks/block_codes.h"
#include "simd/blocks/codebooks.h"
#include "simd/scalar_quant.h"

namespace pc::simd {
namespace {

using Block = const std::uint8_t*;

std::uint32_t u16(Block p) {
  return p[0] | p[1] << 8;
}

std::uint32_t u32(Block p) {
  return u16(p) | u16(p + 2) << 16;
}

float scale_at(Block p) {
  return f32_from_f16(static_cast<std::uint16_t>(u16(p)));
}

int bit(Block p, std::size_t i) {
  return p[i / 8] >> i % 8 & 1;
}

// Nibble i of bytes whose low one comes first.
int nibble(Block p, std::size_t i) {
  return p[i / 2] >> i % 2 * 4 & 15;
}

// Nibble i of n bytes whose low ones are the first n.
int parted_nibble(Block p, std::size_t n, std::size_t i) {
  return i < n ? p[i] & 15 : p[i - n] >> 4;
}

// Byte i of a row of a codebook; its sign, of eight signs.
template <class Row>
int of_row(Row row, std::size_t i) {
  return static_cast<std::int8_t>(row >> 8 * i);
}

float signed_by(std::uint8_t signs, std::size_t i, int magnitude) {
  return static_cast<float>(signs >> i % 8 & 1 ? -magnitude : magnitude);
}

float half_more(std::uint32_t scale) {
  return 0.5f + static_cast<float>(scale);
}

// The types of codebooks: a row of eight elements, or of four, from its number.

float iq2_xxs(Block b, std::size_t i) {
  const Block group = b + 2 + i / 32 * 8;  // numbers of 4 rows; 4 x 7 bits of signs, a scale
  const std::uint32_t tail = u32(group + 4);
  const std::uint8_t signs = even_signs(tail >> i % 32 / 8 * 7 & 127);
  return scale_at(b) * half_more(tail >> 28) * 0.25f *
         signed_by(signs, i, of_row(kIq2XxsBook[group[i % 32 / 8]], i % 8));
}

float iq2_xs(Block b, std::size_t i) {
  const std::uint32_t row = u16(b + 2 + i / 8 * 2);  // 9 bits, 7 of signs
  const auto scale = static_cast<std::uint32_t>(nibble(b + 66, i / 16));
  return scale_at(b) * half_more(scale) * 0.25f *
         signed_by(even_signs(row >> 9), i, of_row(kIq2XsBook[row & 511], i % 8));
}

float iq2_s(Block b, std::size_t i) {
  const std::size_t r = i / 8;  // its number: 8 bits, and 2 high ones elsewhere
  const std::size_t row = b[2 + r] | (b[66 + r / 4] >> r % 4 * 2 & 3) << 8;
  const auto scale = static_cast<std::uint32_t>(nibble(b + 74, i / 16));
  return scale_at(b) * half_more(scale) * 0.25f *
         signed_by(b[34 + r], i, of_row(kIq2SBook[row], i % 8));
}

float iq3_xxs(Block b, std::size_t i) {
  const std::uint32_t tail = u32(b + 66 + i / 32 * 4);  // 4 x 7 bits of signs, a scale
  const std::uint8_t signs = even_signs(tail >> i % 32 / 8 * 7 & 127);
  return scale_at(b) * half_more(tail >> 28) * 0.5f *
         signed_by(signs, i, of_row(kIq3XxsBook[b[2 + i / 4]], i % 4));
}

float iq3_s(Block b, std::size_t i) {
  const std::size_t row = b[2 + i / 4] | bit(b + 66, i / 4) << 8;
  const auto scale = static_cast<float>(1 + 2 * nibble(b + 106, i / 32));
  return scale_at(b) * scale * signed_by(b[74 + i / 8], i, of_row(kIq3SBook[row], i % 4));
}

// 8 * grid, which the codebook has, and an eighth more or less.
float eighths(std::size_t row, std::size_t i, bool less) {
  return static_cast<float>(of_row(kIq1Book[row], i % 8) + (less ? -1 : 1)) * 0.125f;
}

float iq1_s(Block b, std::size_t i) {
  const std::uint32_t high = u16(b + 34 + i / 32 * 2);  // 4 x 3 bits of rows, a scale, a sign
  const std::size_t row = b[2 + i / 8] | (high >> i % 32 / 8 * 3 & 7) << 8;
  return scale_at(b) * static_cast<float>(2 * (high >> 12 & 7) + 1) *
         eighths(row, i, (high & 0x8000) != 0);
}

float iq1_m(Block b, std::size_t i) {
  const int high = nibble(b + 32, i / 8);  // 3 bits of a row, a sign
  const std::uint32_t scale = u16(b + 48 + i / 64 * 2) >> i % 64 / 16 * 3 & 7;
  return f32_from_f16(iq1_m_scale(b)) * static_cast<float>(2 * scale + 1) *
         eighths(static_cast<std::size_t>(b[i / 8] | (high & 7) << 8), i, (high & 8) != 0);
}

// The types of tables.

float iq4_nl(Block b, std::size_t i) {
  return scale_at(b) * kIq4Numbers[static_cast<std::size_t>(parted_nibble(b + 2, 16, i))];
}

float iq4_xs(Block b, std::size_t i) {
  const std::size_t group = i / 32;
  const int scale = nibble(b + 4, group) | (u16(b + 2) >> group * 2 & 3) << 4;
  const int code = parted_nibble(b + 8 + 16 * group, 16, i % 32);
  return scale_at(b) * static_cast<float>(scale - 32) * kIq4Numbers[static_cast<std::size_t>(code)];
}

float mxfp4(Block b, std::size_t i) {
  return half_e8m0(b[0]) * kE2m1Numbers[static_cast<std::size_t>(parted_nibble(b + 1, 16, i))];
}

float nvfp4(Block b, std::size_t i) {
  const std::size_t group = i / 16;
  const int code = parted_nibble(b + 4 + 8 * group, 8, i % 16);
  return half_e4m3(b[group]) * kE2m1Numbers[static_cast<std::size_t>(code)];
}

// The types of -1, 0 and 1.

// Bytes are fractions of 256 whose digits of base 3 are elements, one in each of n bytes.
float digit(Block p, std::size_t n, std::size_t i) {
  std::uint8_t fraction = p[i % n];
  for (std::size_t d = 0; d < i / n; ++d) fraction = static_cast<std::uint8_t>(fraction * 3);
  return static_cast<float>((fraction * 3 >> 8) - 1);
}

float tq1_0(Block b, std::size_t i) {
  const float q = i < 160   ? digit(b, 32, i)
                  : i < 240 ? digit(b + 32, 16, i - 160)
                            : digit(b + 48, 4, i - 240);
  return scale_at(b + 52) * q;
}

float tq2_0(Block b, std::size_t i) {
  const int q = b[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
  return scale_at(b + 64) * static_cast<float>(q - 1);
}

}  // namespace

float coded_element(const std::uint8_t* block, Type type, std::size_t i) {
  switch (type) {
    case Type::kIQ2_XXS:
      return iq2_xxs(block, i);
    case Type::kIQ2_XS:
      return iq2_xs(block, i);
    case Type::kIQ3_XXS:
      return iq3_xxs(block, i);
    case Type::kIQ1_S:
      return iq1_s(block, i);
    case Type::kIQ4_NL:
      return iq4_nl(block, i);
    case Type::kIQ3_S:
      return iq3_s(block, i);
    case Type::kIQ2_S:
      return iq2_s(block, i);
    case Type::kIQ4_XS:
      return iq4_xs(block, i);
    case Type::kIQ1_M:
      return iq1_m(block, i);
    case Type::kTQ1_0:
      return tq1_0(block, i);
    case Type::kTQ2_0:
      return tq2_0(block, i);
    case Type::kMXFP4:
      return mxfp4(block, i);
    case Type::kNVFP4:
      return nvfp4(block, i);
    default:
      return 0.0f;
  }
}

}  // namespace pc::simd
