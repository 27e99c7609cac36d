#include "simd/packed/packed.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "simd/blocks/block_codes.h"
#include "simd/packed/unpacked.h"
#include "simd/scalar_quant.h"

namespace pc::simd {
namespace {

using Block = const std::uint8_t*;

std::uint16_t u16(Block p) {
  std::uint16_t value;
  std::memcpy(&value, p, 2);
  return value;
}

// Row `row` of a block's head.
void put_head(const PackedShape& shape, const Unpacked& u, std::size_t row, std::uint8_t* head) {
  const auto next = [&head](std::size_t bytes) {
    std::uint8_t* here = head;
    head += kPanelRows * bytes;
    return here;
  };
  if (shape.scale == PackedScale::kE8m0) {
    next(1)[row] = static_cast<std::uint8_t>(u.scale);
    return;
  }
  if (shape.scale == PackedScale::kF16Each) {
    for (const std::uint16_t scale : u.scales) std::memcpy(next(2) + 2 * row, &scale, 2);
    return;
  }
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
  const CodesOfNumbers of_numbers = codes_of(shape.numbers);
  Unpacked u;
  for (std::size_t row = first; row < last; ++row) {
    Block block = static_cast<Block>(w) + row * bytes_of(type, cols);
    for (std::size_t b = 0; b < cols / shape.block; ++b, block += shape_of(type).bytes) {
      unpack(type, block, of_numbers, u);
      put_head(shape, u, row - first, heads + b * head_bytes);
      for (std::size_t g = 0; g < groups; ++g)
        put_codes(shape.bits, u.codes.data() + kPackGroup * g, row - first,
                  codes + (b * groups + g) * packed_code_bytes(shape));
    }
  }
}

namespace {

// Of the block whose head it is; in_block: a column of it.
float packed_scale(const PackedShape& shape, Block head, std::size_t row, std::size_t in_block) {
  switch (shape.scale) {
    case PackedScale::kE8m0:
      return half_e8m0(head[row]);
    case PackedScale::kF16Each:
      return f32_from_f16(u16(head + 2 * (in_block / shape.group * kPanelRows + row)));
    default:
      return std::ldexp(f32_from_f16(u16(head + 2 * row)), -static_cast<int>(shape.fraction));
  }
}

}  // namespace

float packed_element(Type type, const std::byte* packed, std::size_t cols, std::size_t row,
                     std::size_t col) {
  const PackedShape shape = packed_shape_of(type);
  const auto* panel = reinterpret_cast<const std::uint8_t*>(packed) +
                      row / kPanelRows * packed_panel_bytes(type, cols);
  row %= kPanelRows;
  const std::uint8_t* head = panel + col / shape.block * packed_head_bytes(shape);
  float scale = packed_scale(shape, head, row, col % shape.block), minimum = 0.0f;
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
  if (shape.table) return scale * shape.numbers[static_cast<std::size_t>(code)];
  if (shape.minima) return scale * static_cast<float>(code) + minimum;
  return scale * static_cast<float>(code - (1 << shape.zero));  // of GGUF's sign where it is zero
}

}  // namespace pc::simd
