// Activations to tiles of bf16 (simd/packed/amx_rows.h), with AVX-512 F and BW.
#pragma once

#include "simd/packed/amx_scales-inl.h"

namespace pc::simd {
namespace {

// 16 floats to bf16 in the upper halves, to nearest even; NaN stays NaN. Below it: anything.
PC_INLINE I upper_bf16(const float* p) {
  const F v = _mm512_loadu_ps(p);
  const I bits = _mm512_castps_si512(v);
  const I tie = merge(_mm512_srli_epi32(bits, 16), 1, _mm512_setzero_si512());
  const I rounded = _mm512_add_epi32(_mm512_add_epi32(bits, mask32(0x7fff)), tie);
  return _mm512_mask_mov_epi32(rounded, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), mask32(0x7fc00000));
}

PC_INLINE F plus(I a, I b) {
  return _mm512_add_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b));
}

// The sums of 8 vectors, twice.
PC_INLINE F sum_each(const F* v) {
  I t[4], u[2];
  for (int i = 0; i < 4; ++i) {
    const I a = _mm512_castps_si512(v[2 * i]), b = _mm512_castps_si512(v[2 * i + 1]);
    t[i] = _mm512_castps_si512(plus(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b)));
  }
  for (int i = 0; i < 2; ++i)
    u[i] = _mm512_castps_si512(plus(_mm512_unpacklo_epi64(t[2 * i], t[2 * i + 1]),
                                    _mm512_unpackhi_epi64(t[2 * i], t[2 * i + 1])));
  const I halves = _mm512_castps_si512(
      plus(_mm512_shuffle_i32x4(u[0], u[1], 0x88), _mm512_shuffle_i32x4(u[0], u[1], 0xdd)));
  return plus(_mm512_shuffle_i32x4(halves, halves, 0x88),
              _mm512_shuffle_i32x4(halves, halves, 0xdd));
}

// Floats as pairs of bf16 that add up to them within 2^-16: the first cut off, so that it
// is finite where the float is, the second rounded.
PC_INLINE I two_bf16(F v) {
  const I bits = _mm512_castps_si512(v);
  const I rest = _mm512_castps_si512(_mm512_sub_ps(v, f32_of_upper(bits)));
  return merge(_mm512_add_epi32(rest, mask32(0x8000)), 0xffff0000, _mm512_srli_epi32(bits, 16));
}

// Up to 32 columns of a row to dst; their sum, in 16 parts.
PC_INLINE F tile_columns(const float* x, std::size_t n, I words, std::uint16_t* dst) {
  float part[32] = {};
  if (n < 32) {
    __builtin_memcpy(part, x, sizeof(float) * n);
    x = part;
  }
  const I low = upper_bf16(x), high = upper_bf16(x + 16);
  _mm512_storeu_si512(dst, _mm512_permutex2var_epi16(low, words, high));
  return _mm512_add_ps(f32_of_upper(low), f32_of_upper(high));
}

// The odd words of two vectors, in the order of a tile's columns.
PC_INLINE I ordered_words() {
  alignas(64) std::uint16_t words[32];
  for (unsigned i = 0; i < 32; ++i)
    words[i] = static_cast<std::uint16_t>(2 * ((i & ~3u) + (i % 4 / 2) + 2 * (i % 2)) + 1);
  return load(words);
}

template <bool kSums>
PC_INLINE void tile_row_and_sums(const AmxRowArgs& a) {
  const I words = ordered_words();
  std::uint16_t* dst = a.dst + amx_row_at(a.row, a.k);
  std::uint16_t* sums = dst + amx_tiles_across(a.k) * (kAmxTileBytes / 2);
  for (std::size_t c = 0; c < a.k; c += kAmxSpan, sums += kAmxTileBytes / 2) {
    F sum[kAmxSpan / 32];
    for (std::size_t g = 0; g < kAmxSpan / 32; ++g, dst += kAmxTileBytes / 2) {
      const std::size_t at = c + 32 * g;
      sum[g] = at < a.k ? tile_columns(a.x + at, a.k - at, words, dst) : _mm512_setzero_ps();
    }
    if constexpr (kSums) _mm512_storeu_si512(sums, two_bf16(sum_each(sum)));
  }
}

void tile_row(const AmxRowArgs& a) {
  a.sums ? tile_row_and_sums<true>(a) : tile_row_and_sums<false>(a);
}

}  // namespace
}  // namespace pc::simd
