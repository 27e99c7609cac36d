// Products of codes on tiles, whose sums are scaled: for rows too few to be worth widened weights.
// Over tile registers (`Tiles`).
//
// All panels of a task meet one span of x's columns, which stays in the first cache (32 KiB for 64
// rows), then the next. For each, the codes are arranged once (simd/packed/amx_codes-inl.h); four
// tiles of them stay in registers while the tiles of x pass, and the sums of four groups are scaled
// and added to the panel's f32 sums in one visit. Minima are one more tile of 256 columns, which
// meets the sums of x.
#pragma once

#include "simd/packed/amx_codes-inl.h"
#include "simd/packed/amx_panels-inl.h"

namespace pc::simd {
namespace {

// One span of all rows of x, and a panel's sums.
struct SpanRows {
  Bytes x, x_sums;     // of the first 16 rows
  std::size_t stride;  // bytes to the next 16
  std::size_t tiles;   // of rows
  float* sums;         // [tiles][16 rows][16]
};

// Tiles kAt.. below kEnd of codes into registers.
template <class TileSet, int kEnd, int kAt = 0>
PC_INLINE void hold(Bytes tiles, std::size_t tile_bytes) {
  TileSet::template load<kAt>(tiles + kAt * tile_bytes, 64);
  if constexpr (kAt + 1 < kEnd) hold<TileSet, kEnd, kAt + 1>(tiles, tile_bytes);
}

// Sums of groups kAt.. below kGroups with the codes that are held. x: of group `first`.
template <class TileSet, class Code, int kGroups, int kAt = 0>
PC_INLINE void sum_groups(Bytes x, std::size_t first, CodeSpan& span) {
  constexpr int kSum = 6 + kAt % 2, kX = 4 + kAt % 2;
  const std::size_t group = first + kAt;
  TileSet::template zero<kSum>();
  TileSet::template load<kX>(
      x + (Code::kHalf ? group / 2 * kAmxTileBytes + group % 2 * 32 : group * kAmxTileBytes), 64);
  TileSet::template dot_bf16<kSum, kX, kAt * Code::kParts>();
  if constexpr (Code::kParts == 2) TileSet::template dot_bf16<kSum, kX, kAt * 2 + 1>();
  TileSet::template store<kSum>(span.sums[kAt], 64);
  if constexpr (kAt + 1 < kGroups) sum_groups<TileSet, Code, kGroups, kAt + 1>(x, first, span);
}

// to[16][16] += scale * sums of kGroups groups.
template <int kGroups>
PC_INLINE void add_scaled(const CodeSpan& span, const F* scale, float* to) {
  for (std::size_t r = 0; r < kAmxRows; ++r, to += 16) {
    F total = _mm512_loadu_ps(to);
    for (int g = 0; g < kGroups; ++g)
      total = _mm512_fmadd_ps(_mm512_loadu_ps(span.sums[g][r]), scale[g], total);
    _mm512_storeu_ps(to, total);
  }
}

// Groups [first, first + kGroups) of a span.
template <class TileSet, class Code, int kGroups>
void add_groups(const SpanRows& rows, std::size_t first, CodeSpan& span) {
  constexpr int kTiles = kGroups * Code::kParts;
  hold<TileSet, kTiles>(span.tiles[0] + first * Code::kParts * Code::kTileBytes, Code::kTileBytes);
  F scale[kGroups];
  for (int g = 0; g < kGroups; ++g)
    scale[g] = _mm512_loadu_ps(span.scales[first + static_cast<std::size_t>(g)]);
  for (std::size_t i = 0; i < rows.tiles; ++i) {
    sum_groups<TileSet, Code, kGroups>(rows.x + i * rows.stride, first, span);
    add_scaled<kGroups>(span, scale, rows.sums + i * kAmxRows * 16);
  }
}

// sums += the span's minima times x's sums.
template <class TileSet>
void add_minima(const SpanRows& rows, const CodeSpan& span) {
  TileSet::template load<0>(span.minima, 64);
  for (std::size_t i = 0; i < rows.tiles; ++i) {
    float* sums = rows.sums + i * kAmxRows * 16;
    TileSet::template load<6>(sums, 64);
    TileSet::template load<4>(rows.x_sums + i * rows.stride, 64);
    TileSet::template dot_bf16<6, 4, 0>();
    TileSet::template store<6>(sums, 64);
  }
}

template <class TileSet, Type kType>
void add_span(const SpanRows& rows, std::size_t columns, CodeSpan& span) {
  using Code = Codes<kType>;
  constexpr int kAtOnce = 4 / Code::kParts;
  if constexpr (Code::kShape.minima) add_minima<TileSet>(rows, span);
  const std::size_t groups = columns / Code::kShape.group;
  std::size_t g = 0;
  for (; g + kAtOnce <= groups; g += kAtOnce) add_groups<TileSet, Code, kAtOnce>(rows, g, span);
  for (; g < groups; ++g) add_groups<TileSet, Code, 1>(rows, g, span);
}

// A panel's sums to y.
void write_sums(const AmxMatmulArgs& a, std::size_t panel, const float* sums) {
  const std::size_t columns = a.n - 16 * panel;
  const auto mask = static_cast<__mmask16>(columns >= 16 ? 0xffff : (1u << columns) - 1);
  for (std::size_t i = 0; i < a.m; ++i, sums += 16) {
    float* y = a.y + i * a.y_stride + 16 * panel;
    const F sum = _mm512_loadu_ps(sums);
    _mm512_mask_storeu_ps(y, mask,
                          a.accumulate ? _mm512_add_ps(_mm512_maskz_loadu_ps(mask, y), sum) : sum);
  }
}

template <class TileSet, Type kType>
void times_codes(const AmxMatmulArgs& a) {
  static_assert(sizeof(CodeSpan) + kAmxPanels * amx_rows_by_codes(kType).most * 16 * 4 <=
                kAmxScratchBytes);
  auto& span = *reinterpret_cast<CodeSpan*>(a.scratch);
  auto* sums = reinterpret_cast<float*>(a.scratch + sizeof span);
  const std::size_t tiles = (a.m + 15) / 16, each = tiles * kAmxRows * 16;
  const std::size_t panels = a.panel_end - a.panel_begin;
  const std::size_t stride = amx_tiles_of_rows(a.k) * kAmxTileBytes;
  const auto* x = reinterpret_cast<Bytes>(a.x);
  __builtin_memset(sums, 0, panels * each * sizeof(float));
  for (std::size_t k0 = 0; k0 < a.k; k0 += kAmxSpan) {
    const std::size_t n = a.k - k0 < kAmxSpan ? a.k - k0 : kAmxSpan;
    Bytes x_sums = x + (amx_tiles_across(a.k) + k0 / kAmxSpan) * kAmxTileBytes;
    for (std::size_t p = 0; p < panels; ++p) {
      arrange_codes<kType>(panel_at<kType>(a, a.panel_begin + p), a.k, k0, n, span);
      add_span<TileSet, kType>(
          {x + k0 / 32 * kAmxTileBytes, x_sums, stride, tiles, sums + p * each}, n, span);
    }
  }
  for (std::size_t p = 0; p < panels; ++p) write_sums(a, a.panel_begin + p, sums + p * each);
}

}  // namespace
}  // namespace pc::simd
