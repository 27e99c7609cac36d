// The bits of each type: simd/scalar_quant.cc.

#include "simd/packed/unpacked.h"

#include <cmath>
#include <cstring>

#include "simd/blocks/block_codes.h"
#include "simd/packed/packed_shape.h"

namespace pc::simd {
namespace {

using Block = const std::uint8_t*;

std::uint16_t u16(Block p) {
  std::uint16_t value;
  std::memcpy(&value, p, 2);
  return value;
}

// 32 elements: nibbles at p, high bits where there are.
void nibbles(Block p, std::uint8_t* codes) {
  for (std::size_t i = 0; i < 16; ++i) {
    codes[i] = p[i] & 15;
    codes[16 + i] = p[i] >> 4;
  }
}

void fifth_bits(Block p, std::uint8_t* codes) {
  for (std::size_t i = 0; i < 32; ++i)
    codes[i] = static_cast<std::uint8_t>(codes[i] | (p[i / 8] >> i % 8 & 1) << 4);
}

void simple_block(Type type, Block b, Unpacked& u) {
  u.scale = u16(b);
  std::uint8_t* codes = u.codes.data();
  switch (type) {
    case Type::kQ8_0:
      for (std::size_t i = 0; i < 32; ++i) codes[i] = b[2 + i] ^ 0x80;  // i8 + 128
      return;
    case Type::kQ4_0:
      return nibbles(b + 2, codes);
    case Type::kQ4_1:
      u.minimum = u16(b + 2);
      return nibbles(b + 4, codes);
    case Type::kQ5_0:
      nibbles(b + 6, codes);
      return fifth_bits(b + 2, codes);
    default:  // kQ5_1
      u.minimum = u16(b + 2);
      nibbles(b + 8, codes);
      return fifth_bits(b + 4, codes);
  }
}

constexpr std::uint16_t kSign = 0x8000;  // GGUF subtracts these minima

void q2_k(Block b, Unpacked& u) {
  u.scale = u16(b + 80);
  u.minimum = u16(b + 82) ^ kSign;
  for (std::size_t s = 0; s < 16; ++s) {
    u.factors[s] = b[s] & 15;
    u.minimums[s] = static_cast<std::int8_t>(b[s] >> 4);
  }
  for (std::size_t group = 0; group < 8; ++group)
    for (std::size_t i = 0; i < 32; ++i)
      u.codes[32 * group + i] = b[16 + group / 4 * 32 + i] >> group % 4 * 2 & 3;
}

void q3_k(Block b, Unpacked& u) {
  u.scale = u16(b + 108);
  const Block scales = b + 96;
  for (std::size_t s = 0; s < 16; ++s) {
    const int factor = (scales[s % 8] >> s / 8 * 4 & 15) | (scales[8 + s % 4] >> s / 4 * 2 & 3)
                                                               << 4;
    u.factors[s] = static_cast<std::int8_t>(factor - 32);
  }
  for (std::size_t group = 0; group < 8; ++group)
    for (std::size_t i = 0; i < 32; ++i)
      u.codes[32 * group + i] = static_cast<std::uint8_t>(
          (b[32 + group / 4 * 32 + i] >> group % 4 * 2 & 3) | (b[i] >> group & 1) << 2);
}

void q4_or_q5_k(Type type, Block b, Unpacked& u) {
  u.scale = u16(b);
  u.minimum = u16(b + 2) ^ kSign;
  const Block p = b + 4;
  for (std::size_t g = 0; g < 4; ++g) {
    u.factors[g] = p[g] & 63;
    u.minimums[g] = p[4 + g] & 63;
    u.factors[4 + g] = static_cast<std::int8_t>((p[8 + g] & 15) | (p[g] >> 6) << 4);
    u.minimums[4 + g] = static_cast<std::int8_t>(p[8 + g] >> 4 | (p[4 + g] >> 6) << 4);
  }
  const Block low = b + (type == Type::kQ4_K ? 16 : 48);
  for (std::size_t group = 0; group < 8; ++group)
    for (std::size_t i = 0; i < 32; ++i)
      u.codes[32 * group + i] = low[group / 2 * 32 + i] >> group % 2 * 4 & 15;
  if (type == Type::kQ4_K) return;
  for (std::size_t group = 0; group < 8; ++group)
    for (std::size_t i = 0; i < 32; ++i)
      u.codes[32 * group + i] =
          static_cast<std::uint8_t>(u.codes[32 * group + i] | (b[16 + i] >> group & 1) << 4);
}

void q6_k(Block b, Unpacked& u) {
  u.scale = u16(b + 208);
  std::memcpy(u.factors.data(), b + 192, 16);
  for (std::size_t group = 0; group < 8; ++group) {
    const Block low = b + group / 4 * 64 + group % 2 * 32, high = b + 128 + group / 4 * 32;
    for (std::size_t i = 0; i < 32; ++i)
      u.codes[32 * group + i] = static_cast<std::uint8_t>((low[i] >> group % 4 / 2 * 4 & 15) |
                                                          (high[i] >> group % 4 * 2 & 3) << 4);
  }
}

// Of half an E4M3: four significant bits, 2^-10 and up, so that it is exact.
std::uint16_t f16_of_half_e4m3(std::uint8_t bits) {
  const float number = half_e4m3(bits);
  if (number == 0.0f) return 0;
  int exponent;
  const float mantissa = std::frexp(number, &exponent);  // [0.5, 1)
  return static_cast<std::uint16_t>((exponent + 14) << 10 |
                                    (static_cast<int>(mantissa * 2048.0f) & 1023));
}

void put_scales(Type type, Block b, Unpacked& u) {
  switch (type) {
    case Type::kIQ1_M:
      u.scale = iq1_m_scale(b);
      return;
    case Type::kMXFP4:
      u.scale = b[0];
      return;
    case Type::kNVFP4:
      for (std::size_t s = 0; s < 4; ++s) u.scales[s] = f16_of_half_e4m3(b[s]);
      return;
    default:
      u.scale = u16(b + shape_of(type).scale_at);
  }
}

// What simd/blocks takes apart: its integers as places in the type's table, or, of three numbers,
// above their zero.
void coded(Type type, Block b, const CodesOfNumbers& codes, Unpacked& u) {
  const PackedShape shape = packed_shape_of(type);
  BlockCodes block;
  unpack_block(type, b, block);
  put_scales(type, b, u);
  for (std::size_t g = 0; shape.block == 256 && g < 256 / shape.group; ++g)
    u.factors[g] = static_cast<std::int8_t>(block.factors[g * shape.group / 16]);
  for (std::size_t i = 0; i < shape.block; ++i) {
    const auto number = static_cast<std::uint8_t>(block.codes[i]);
    u.codes[i] = shape.table ? codes[number] : static_cast<std::uint8_t>(number + 1);
  }
}

}  // namespace

CodesOfNumbers codes_of(const Numbers16& numbers) {
  CodesOfNumbers codes{};
  for (std::uint8_t code = 16; code-- > 0;) codes[static_cast<std::uint8_t>(numbers[code])] = code;
  return codes;
}

void unpack(Type type, Block b, const CodesOfNumbers& codes, Unpacked& u) {
  if (is_coded(type)) return coded(type, b, codes, u);
  switch (type) {
    case Type::kQ2_K:
      return q2_k(b, u);
    case Type::kQ3_K:
      return q3_k(b, u);
    case Type::kQ4_K:
    case Type::kQ5_K:
      return q4_or_q5_k(type, b, u);
    case Type::kQ6_K:
      return q6_k(b, u);
    default:
      return simple_block(type, b, u);
  }
}

}  // namespace pc::simd
