// Products of codes on tiles, whose sums are scaled: for rows too few to be worth widened weights.
// Over tile registers.
//
// A panel's span of codes is arranged once (simd/packed/amx_codes-inl.h); four tiles of them stay
// in registers while the tiles of x pass, and the sums of four groups are scaled and added to the
// panel's in one visit. Minima are one more tile of a span, which meets the sums of x.
// A sum of a group is of codes, so that an activation of 2^120 or more may make an infinity of what
// is a float once it is scaled.
#pragma once

#include "simd/packed/amx_codes-inl.h"
#include "simd/packed/amx_spans-inl.h"

namespace pc::simd {
namespace {

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
    add_scaled<kGroups>(span, scale, rows.sums + i * kAmxSums);
  }
}

// sums += the span's minima times x's sums.
template <class TileSet>
void add_minima(const SpanRows& rows, const CodeSpan& span) {
  TileSet::template load<0>(span.minima, 64);
  for (std::size_t i = 0; i < rows.tiles; ++i) {
    float* sums = rows.sums + i * kAmxSums;
    TileSet::template load<6>(sums, 64);
    TileSet::template load<4>(rows.x_sums + i * rows.stride, 64);
    TileSet::template dot_bf16<6, 4, 0>();
    TileSet::template store<6>(sums, 64);
  }
}

template <class TileSet, Type kType>
void add_span(const SpanRows& rows, CodeSpan& span) {
  using Code = Codes<kType>;
  constexpr int kAtOnce = 4 / Code::kParts;
  if constexpr (Code::kShape.minima) add_minima<TileSet>(rows, span);
  const std::size_t groups = rows.n / Code::kShape.group;
  std::size_t g = 0;
  for (; g + kAtOnce <= groups; g += kAtOnce) add_groups<TileSet, Code, kAtOnce>(rows, g, span);
  for (; g < groups; ++g) add_groups<TileSet, Code, 1>(rows, g, span);
}

template <class TileSet, Type kType>
void times_codes(const AmxMatmulArgs& a) {
  auto& span = *reinterpret_cast<CodeSpan*>(a.scratch);
  for_each_span<kAmxSpan, 1>(
      a, sizeof span, [&](const SpanRows& rows, std::size_t panel, std::size_t) {
        arrange_codes<kType>(panel_at<kType>(a, panel), a.k, rows.k0, rows.n, span);
        add_span<TileSet, kType>(rows, span);
      });
}
static_assert(sizeof(CodeSpan) + kAmxPanels * kAmxFew / 16 * kAmxSums * 4 <= kAmxScratchBytes);

}  // namespace
}  // namespace pc::simd
