// Codes to tiles of bf16, with AVX-512 F and BW: 32 columns of a panel's 16 rows become
// [16 pairs of columns][16 rows][2], the right operand of tdpbf16ps, the pairs in the order of
// simd/packed/amx_rows.h. What stands there is the numbers that codes mean, unscaled and exact;
// scales stay apart, f32, for the sums of their 16 or 32 columns.
//
// A word of packed codes holds nibbles of two columns that make a pair. Shifted by 0, 4, 8 or 12
// bits it is a place in a table of bf16, of which the shuffle reads the low bits alone: two
// instructions for 32 numbers. 6 bits take a merge more, with the bits that lie elsewhere, and a
// table of 64. The numbers of 8 bits are the sums of two, one a nibble, and so are their products.
#pragma once

#include "simd/packed/amx_scales-inl.h"

namespace pc::simd {
namespace {

// 256 columns of a panel, and what a product of it needs.
struct CodeSpan {
  std::uint8_t tiles[kAmxSpan / 32 * 2][kAmxTileBytes];  // group after group
  float scales[kAmxSpan / 16][kAmxRows];                 // likewise
  std::uint32_t minima[2][kAmxSpan / 32][kAmxRows];      // pairs of bf16: the tile for x's sums
  float sums[4][kAmxRows][16];                           // of four groups, unscaled
};
static_assert(sizeof(CodeSpan) % 64 == 0);

template <Type kType>
struct Codes {
  static constexpr PackedShape kShape = packed_shape_of(kType);
  static constexpr int kParts = kShape.bits == 8 ? 2 : 1;  // numbers that add up to a code's
  static constexpr bool kHalf = kShape.group == 16;        // tiles of 8 pairs of columns
  static constexpr std::size_t kTileBytes = kAmxTileBytes / (kHalf ? 2 : 1);
};

struct CodeTable {
  alignas(64) std::uint16_t of[2][32];
};

// 4 bits: twice 16 numbers, so that a place's fifth bit means nothing. 6: 64 of them. 8: of the
// lower nibble, and of the upper one.
template <Type kType>
constexpr CodeTable make_code_table() {
  constexpr PackedShape kShape = packed_shape_of(kType);
  CodeTable table = {};
  for (int i = 0; i < 64; ++i) {
    const int code = kShape.bits == 6 ? i : i % 16;
    int number = kShape.minima ? code : code - (1 << kShape.zero);
    if (kShape.table) number = kShape.numbers.of[code];
    if (kShape.bits == 8) number = i < 32 ? code : 16 * code - (1 << kShape.zero);
    const auto bits = __builtin_bit_cast(std::uint32_t, static_cast<float>(number));
    table.of[i / 32][i % 32] = static_cast<std::uint16_t>(bits >> 16);
  }
  return table;
}
template <Type kType>
inline constexpr CodeTable kCodeTable = make_code_table<kType>();

template <int kRight>
PC_INLINE I shift_words(I v) {
  if constexpr (kRight > 0) return _mm512_srli_epi16(v, kRight);
  if constexpr (kRight < 0) return _mm512_slli_epi16(v, -kRight);
  return v;
}

// Vectors of nibbles kAt.. of raw, as they are stored, to their rows of tiles.
template <std::uint32_t kBits, int kAt = 0>
PC_INLINE void put_numbers(const I* raw, const I* table, std::uint8_t* dst) {
  constexpr int kVector = kAt / 4, kByte = kAt / 2 % 2, kUpper = kAt % 2;
  constexpr int kQuad = kBits == 8 ? kVector : kVector + 4 * kUpper;
  std::uint8_t* const row = dst + 64 * (2 * kQuad + kByte);
  const I place = shift_words<4 * (kAt % 4)>(raw[kVector]);
  if constexpr (kBits == 8) {
    _mm512_storeu_si512(row + kUpper * kAmxTileBytes,
                        _mm512_permutexvar_epi16(place, table[kUpper]));
  } else if constexpr (kBits == 6) {
    const I high = shift_words<8 * kByte + 2 * kVector - 4>(raw[4 + kUpper]);
    const I both = choose(mask32(0x000f000f), place, high);
    _mm512_storeu_si512(row, _mm512_permutex2var_epi16(table[0], both, table[1]));
  } else {
    _mm512_storeu_si512(row, _mm512_permutexvar_epi16(place, table[0]));
  }
  if constexpr (kAt + 1 < (kBits == 8 ? 32 : 16)) put_numbers<kBits, kAt + 1>(raw, table, dst);
}

// 16 minima as two pairs of equal bf16, which add up to them within 2^-16.
PC_INLINE void put_minima(F minima, std::uint32_t* first, std::uint32_t* second) {
  const I bits = _mm512_castps_si512(minima);
  const I rest = _mm512_castps_si512(_mm512_sub_ps(minima, f32_of_upper(bits)));
  const I rounded = _mm512_add_epi32(rest, mask32(0x8000));
  _mm512_storeu_si512(first, merge(bits, 0xffff0000, _mm512_srli_epi32(bits, 16)));
  _mm512_storeu_si512(second, merge(rounded, 0xffff0000, _mm512_srli_epi32(rounded, 16)));
}

// Columns [k0, k0 + n) of a panel, n at most kAmxSpan; k0 and n multiples of the type's block.
// Asks for the next as many, which this task comes to after its other panels.
template <Type kType>
void arrange_codes(Bytes panel, std::size_t k, std::size_t k0, std::size_t n, CodeSpan& span) {
  constexpr PackedShape kShape = packed_shape_of(kType);
  constexpr std::size_t kCode = packed_code_bytes(kShape), kHead = Scales<kType>::kHead;
  Bytes head = panel + k0 / kShape.block * kHead;
  Bytes codes = panel + codes_at<kType>(k) + k0 / 32 * kCode;
  Scales<kType> scales(head);
  ask_for<kAmxSpan / kShape.block * kHead>(head + kAmxSpan / kShape.block * kHead);
  const I table[2] = {load(kCodeTable<kType>.of[0]), load(kCodeTable<kType>.of[1])};
  float(*scale_to)[kAmxRows] = span.scales;
  std::uint8_t* tile = span.tiles[0];
  if (kShape.minima && n < kAmxSpan) __builtin_memset(span.minima, 0, sizeof span.minima);
  for (std::size_t c = 0; c < n;
       c += 32, codes += kCode, tile += kAmxTileBytes * Codes<kType>::kParts) {
    if (c % kShape.block == 0) scales.next_block();
    for (int s = 0; s < Scales<kType>::kEach; ++s) {
      F scale, minimum;
      scales.next_group(scale, minimum);
      _mm512_storeu_ps(*scale_to++, scale);
      if constexpr (kShape.minima)
        put_minima(minimum, span.minima[0][c / 32], span.minima[1][c / 32]);
    }
    ask_for<kCode>(codes + kAmxSpan / 32 * kCode);
    I raw[8];
    for (std::size_t v = 0; v < kCode / 64; ++v) raw[v] = load(codes + 64 * v);
    put_numbers<kShape.bits>(raw, table, tile);
  }
}

}  // namespace
}  // namespace pc::simd
