// Weights to tiles of bf16, with AVX-512 F and BW: 32 columns of a panel's 16 rows
// become [16 pairs of columns][16 rows][2], the right operand of tdpbf16ps, the pairs in the order
// of simd/packed/amx_rows.h.
//
// A code is moved to the top of an f32's mantissa under the exponent of 1, so
// that one fma makes the weight of it without a conversion:
//
//   1 + code / 2^bits;  weight = that * (scale * 2^bits) + (minimum - scale * (2^bits + zero))
//
// A code of a table becomes its number by a shuffle of bytes, and the number an f32 by a
// conversion.
//
// Scales have at most 19 bits, so the factors are exact, and where there are no
// minima the weight is. Rounded to nearest bf16, ties away from zero: an
// addition, where ties to even would take four instructions a weight.
// Weights are finite (the models that are loaded have no others).

#pragma once

#include "simd/packed/amx_scales-inl.h"

namespace pc::simd {
namespace {

// 1 + code / 2^bits of column kColumn of 32, all 16 rows. raw: as they are stored.
template <std::uint32_t kBits, int kColumn>
PC_INLINE F unit_of(const I* raw) {
  constexpr int kQuad = kColumn / 4, kByte = 8 * (kColumn % 4);
  const I one = mask32(0x3f800000);
  if constexpr (kBits == 8) {
    return _mm512_castsi512_ps(merge(shift<15 - kByte>(raw[kQuad]), 0xffu << 15, one));
  } else {
    constexpr int kTop = kBits == 4 ? 19 : 17;  // bit of the mantissa where a nibble goes
    const I low = shift<kTop - kByte - 4 * (kQuad / 4)>(raw[kQuad % 4]);
    I unit = merge(low, 15u << kTop, one);
    if constexpr (kBits == 6) {
      const I high = shift<21 - kByte - 2 * (kQuad % 4)>(raw[4 + kQuad / 4]);
      unit = merge(high, 3u << 21, unit);
    }
    return _mm512_castsi512_ps(unit);
  }
}

// The number of column kColumn of 32, all 16 rows. raw: bytes, quad after quad.
template <int kColumn>
PC_INLINE F number_of(const I* raw) {
  const I top = shift<24 - 8 * (kColumn % 4)>(raw[kColumn / 4]);
  return _mm512_cvtepi32_ps(_mm512_srai_epi32(top, 24));
}

// 4 vectors of codes of a table to 8 of its numbers, in place.
PC_INLINE void look_up(const Numbers16& numbers, I* raw) {
  const I table =
      _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(numbers.of)));
  const I nibble = _mm512_set1_epi8(15);
  for (int v = 0; v < 4; ++v) {
    raw[v + 4] = _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(raw[v], 4), nibble));
    raw[v] = _mm512_shuffle_epi8(table, _mm512_and_si512(raw[v], nibble));
  }
}

struct Line {
  F factor, offset;
  PC_INLINE I of(F unit) const {
    const I bits = _mm512_castps_si512(_mm512_fmadd_ps(unit, factor, offset));
    return _mm512_add_epi32(bits, mask32(0x8000));  // bf16 is the upper half
  }
};

// What a column's weights are made of: units, or numbers where kBits is 0.
template <std::uint32_t kBits, int kColumn>
PC_INLINE F column_of(const I* raw) {
  if constexpr (kBits == 0)
    return number_of<kColumn>(raw);
  else
    return unit_of<kBits, kColumn>(raw);
}

// Pairs kPair.. of 16.
template <std::uint32_t kBits, int kScales, int kPair = 0>
PC_INLINE void widen_pairs(const I* raw, const Line* line, std::uint8_t* dst) {
  constexpr int kColumn = 4 * (kPair / 2) + kPair % 2;
  const Line& l = line[kPair * kScales / 16];
  const I even = l.of(column_of<kBits, kColumn>(raw));
  const I odd = l.of(column_of<kBits, kColumn + 2>(raw));
  _mm512_storeu_si512(dst + 64 * kPair, merge(odd, 0xffff0000, _mm512_srli_epi32(even, 16)));
  if constexpr (kPair < 15) widen_pairs<kBits, kScales, kPair + 1>(raw, line, dst);
}

// 32 columns to a tile.
template <Type kType>
PC_INLINE void widen_group(Scales<kType>& scales, Bytes codes, std::uint8_t* dst) {
  constexpr PackedShape kShape = packed_shape_of(kType);
  constexpr std::uint32_t kBits = kShape.table ? 0 : kShape.bits;
  constexpr float kUnits = 1u << kBits;  // codes in the unit
  constexpr float kZero = kShape.table ? 0 : kUnits + (kShape.minima ? 0 : 1u << kShape.zero);
  Line line[Scales<kType>::kEach];
  for (Line& l : line) {
    F scale, minimum;
    scales.next_group(scale, minimum);
    l.factor = _mm512_mul_ps(scale, _mm512_set1_ps(kUnits));
    l.offset = _mm512_fnmadd_ps(scale, _mm512_set1_ps(kZero), minimum);
  }
  I raw[8];
  for (std::size_t v = 0; v < packed_code_bytes(kShape) / 64; ++v) raw[v] = load(codes + 64 * v);
  if constexpr (kShape.table) look_up(kShape.numbers, raw);
  widen_pairs<kBits, Scales<kType>::kEach>(raw, line, dst);
}

// Columns [k0, k0 + n) of a panel to n / 32 tiles. k0 and n: multiples of the type's block.
template <Type kType>
void widen_panel(Bytes panel, std::size_t k, std::size_t k0, std::size_t n, std::uint8_t* dst) {
  constexpr PackedShape kShape = packed_shape_of(kType);
  constexpr std::size_t kCode = packed_code_bytes(kShape);
  Scales<kType> scales(panel + k0 / kShape.block * Scales<kType>::kHead);
  Bytes codes = panel + codes_at<kType>(k) + k0 / 32 * kCode;
  for (std::size_t b = 0; b < n; b += kShape.block) {
    scales.next_block();
    for (std::size_t c = 0; c < kShape.block; c += 32, codes += kCode, dst += 1024)
      widen_group<kType>(scales, codes, dst);
  }
}

// Columns [c, c + 32) alone. Asks for the same of the next span (simd/packed/amx_few-inl.h).
template <Type kType>
PC_INLINE void widen_columns(Bytes panel, std::size_t k, std::size_t c, std::uint8_t* dst) {
  constexpr PackedShape kShape = packed_shape_of(kType);
  constexpr std::size_t kCode = packed_code_bytes(kShape), kHead = Scales<kType>::kHead;
  Bytes head = panel + c / kShape.block * kHead;
  Bytes codes = panel + codes_at<kType>(k) + c / 32 * kCode;
  ask_for<kCode>(codes + kAmxFewSpan / 32 * kCode);
  if (c % kShape.block == 0)
    ask_for<kHead>(head + (kAmxFewSpan + kShape.block - 1) / kShape.block * kHead);
  Scales<kType> scales(head);
  scales.next_block();
  scales.skip(c % kShape.block);
  widen_group<kType>(scales, codes, dst);
}

// 16 rows of 16 pairs to 16 pairs of 16 rows, in place.
PC_INLINE void transpose_pairs(I* r) {
  I t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {  // r[i + j]: pair 4 * lane + j of rows i..i+3
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int j = 0; j < 4; ++j) {  // lanes: 4 x 4 of them
    const I low0 = _mm512_shuffle_i32x4(r[j], r[4 + j], 0x88);
    const I low1 = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], 0x88);
    const I high0 = _mm512_shuffle_i32x4(r[j], r[4 + j], 0xdd);
    const I high1 = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], 0xdd);
    t[j] = _mm512_shuffle_i32x4(low0, low1, 0x88);
    t[4 + j] = _mm512_shuffle_i32x4(high0, high1, 0x88);
    t[8 + j] = _mm512_shuffle_i32x4(low0, low1, 0xdd);
    t[12 + j] = _mm512_shuffle_i32x4(high0, high1, 0xdd);
  }
  for (int i = 0; i < 16; ++i) r[i] = t[i];
}

// Pairs of neighbours, (0, 1) and (2, 3) of each quad, to (0, 2) and (1, 3), in place.
PC_INLINE void pair_within_quads(I* r) {
  const I upper = mask32(0xffff0000);
  for (int i = 0; i < 16; i += 2) {
    const I first = choose(upper, _mm512_slli_epi32(r[i + 1], 16), r[i]);
    r[i + 1] = choose(upper, r[i + 1], _mm512_srli_epi32(r[i], 16));
    r[i] = first;
  }
}

// Columns [k0, k0 + n) of `rows` rows of bf16, up to 16, to tiles; zeros beyond.
void arrange_panel(Bytes w, std::size_t rows, std::size_t k, std::size_t k0, std::size_t n,
                   std::uint8_t* dst) {
  for (std::size_t c = 0; c < n; c += 32, dst += 1024) {
    const std::size_t bytes = 2 * (n - c < 32 ? n - c : 32);
    I r[16];
    for (std::size_t i = 0; i < 16; ++i) {
      alignas(64) std::uint8_t part[64] = {};
      Bytes at = w + 2 * (i * k + k0 + c);
      if (i < rows && bytes < 64) __builtin_memcpy(part, at, bytes);
      r[i] = load(i < rows && bytes == 64 ? at : part);
    }
    transpose_pairs(r);
    pair_within_quads(r);
    for (int i = 0; i < 16; ++i) _mm512_storeu_si512(dst + 64 * i, r[i]);
  }
}

}  // namespace
}  // namespace pc::simd
