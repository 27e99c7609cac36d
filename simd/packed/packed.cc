#include "simd/packed/packed.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "simd/scalar_quant.h"

namespace pc::simd {
namespace {

using Block = const std::uint8_t*;

// One block of one row, in integers. The bits of each type: simd/scalar_quant.cc.
struct Unpacked {
  std::uint16_t scale = 0, minimum = 0;    // f16
  std::array<std::int8_t, 16> factors{};   // of the scale, a group each
  std::array<std::int8_t, 16> minimums{};  // of the minimum
  std::array<std::uint8_t, 256> codes{};   // the first `block` count
};

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

void unpack(Type type, Block b, Unpacked& u) {
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

// Row `row` of a block's head.
void put_head(const PackedShape& shape, const Unpacked& u, std::size_t row, std::uint8_t* head) {
  const auto next = [&head](std::size_t bytes) {
    std::uint8_t* here = head;
    head += kPanelRows * bytes;
    return here;
  };
  std::memcpy(next(2) + 2 * row, &u.scale, 2);
  if (shape.minima) std::memcpy(next(2) + 2 * row, &u.minimum, 2);
  for (std::size_t g = 0; shape.block == 256 && g < 256 / shape.group; ++g) {
    next(1)[row] = static_cast<std::uint8_t>(u.factors[g]);
    if (shape.minima) next(1)[row] = static_cast<std::uint8_t>(u.minimums[g]);
  }
}

// Row `row` of the codes of 32 columns, four columns at a time.
void put_codes(std::uint32_t bits, const std::uint8_t* codes, std::size_t row, std::uint8_t* dst) {
  std::array<std::uint32_t, 8> quads;
  std::memcpy(quads.data(), codes, sizeof quads);
  const auto put = [&](std::size_t vector, std::uint32_t value) {
    std::memcpy(dst + 64 * vector + 4 * row, &value, 4);
  };
  if (bits == 8) {
    for (std::size_t q = 0; q < 8; ++q) put(q, quads[q]);
    return;
  }
  constexpr std::uint32_t kLow = 0x0f0f0f0f;
  for (std::size_t q = 0; q < 4; ++q) put(q, (quads[q] & kLow) | (quads[q + 4] & kLow) << 4);
  for (std::size_t h = 0; bits == 6 && h < 2; ++h) {
    std::uint32_t high = 0;
    for (std::size_t f = 0; f < 4; ++f) high |= (quads[4 * h + f] >> 4 & 0x03030303u) << 2 * f;
    put(4 + h, high);
  }
}

}  // namespace

void pack_panel(Type type, const void* w, std::size_t rows, std::size_t cols, std::size_t panel,
                std::byte* dst) {
  const PackedShape shape = packed_shape_of(type);
  const std::size_t bytes = packed_panel_bytes(type, cols), head_bytes = packed_head_bytes(shape);
  auto* heads = reinterpret_cast<std::uint8_t*>(dst) + panel * bytes;
  std::uint8_t* codes = heads + packed_codes_at(shape, cols);
  std::memset(heads, 0, bytes);  // rows past the last, and what aligns the codes
  const std::size_t first = panel * kPanelRows, last = std::min(rows, first + kPanelRows);
  const std::size_t groups = shape.block / kPackGroup;
  Unpacked u;
  for (std::size_t row = first; row < last; ++row) {
    Block block = static_cast<Block>(w) + row * bytes_of(type, cols);
    for (std::size_t b = 0; b < cols / shape.block; ++b, block += shape_of(type).bytes) {
      unpack(type, block, u);
      put_head(shape, u, row - first, heads + b * head_bytes);
      for (std::size_t g = 0; g < groups; ++g)
        put_codes(shape.bits, u.codes.data() + kPackGroup * g, row - first,
                  codes + (b * groups + g) * packed_code_bytes(shape));
    }
  }
}

float packed_element(Type type, const std::byte* packed, std::size_t cols, std::size_t row,
                     std::size_t col) {
  const PackedShape shape = packed_shape_of(type);
  const auto* panel = reinterpret_cast<const std::uint8_t*>(packed) +
                      row / kPanelRows * packed_panel_bytes(type, cols);
  row %= kPanelRows;
  const std::uint8_t* head = panel + col / shape.block * packed_head_bytes(shape);
  float scale = f32_from_f16(u16(head + 2 * row)), minimum = 0.0f;
  if (shape.minima) minimum = f32_from_f16(u16(head + 2 * kPanelRows + 2 * row));
  if (shape.block == 256) {
    const std::size_t streams = shape.minima ? 2 : 1;
    const std::uint8_t* factors = head + streams * kPanelRows * (2 + col % 256 / shape.group) + row;
    scale *= static_cast<float>(static_cast<std::int8_t>(*factors));
    if (shape.minima) minimum *= static_cast<float>(static_cast<std::int8_t>(factors[kPanelRows]));
  }
  const std::uint8_t* codes = panel + packed_codes_at(shape, cols) +
                              col / kPackGroup * packed_code_bytes(shape) + 4 * row + col % 4;
  const std::size_t quad = col % kPackGroup / 4;
  int code = 0;
  if (shape.bits == 8) {
    code = codes[64 * quad];
  } else {
    code = codes[64 * (quad % 4)] >> quad / 4 * 4 & 15;
    if (shape.bits == 6) code |= (codes[64 * (4 + quad / 4)] >> 2 * (quad % 4) & 3) << 4;
  }
  if (shape.minima) return scale * static_cast<float>(code) + minimum;
  return scale * static_cast<float>(code - (1 << shape.zero));  // of GGUF's sign where it is zero
}

}  // namespace pc::simd
