// Products of few rows on tiles, over tile registers (`Tiles`): all panels of a task meet one span
// of x's columns, which stays in the first cache (256 columns of 64 rows: 32 KiB), then the next.
// What the weights of a span become stays there, too, and the sums, f32 [16][16] for each panel and
// 16 rows, are in one piece until the end, not rows apart.
#pragma once

#include "simd/packed/amx_panels-inl.h"

namespace pc::simd {
namespace {

constexpr std::size_t kAmxSums = kAmxRows * 16;  // of 16 rows and a panel

// One span of all rows of x, and sums.
struct SpanRows {
  Bytes x, x_sums;     // of the first 16 rows
  std::size_t stride;  // bytes to the next 16
  std::size_t tiles;   // of rows
  float* sums;         // [tiles][kAmxSums], of one panel; then those of the next
  std::size_t k0, n;   // columns [k0, k0 + n)
};

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

// body(rows, first panel, panels) adds the products of a span of kSpan columns to the sums; panels:
// up to kEach. Sums begin `scratch_used` bytes into the scratch.
template <std::size_t kSpan, std::size_t kEach, class Body>
PC_INLINE void for_each_span(const AmxMatmulArgs& a, std::size_t scratch_used, const Body& body) {
  auto* sums = reinterpret_cast<float*>(a.scratch + scratch_used);
  const std::size_t tiles = (a.m + 15) / 16, panels = a.panel_end - a.panel_begin;
  const auto* x = reinterpret_cast<Bytes>(a.x);
  __builtin_memset(sums, 0, panels * tiles * kAmxSums * sizeof(float));
  SpanRows rows{x, nullptr, amx_tiles_of_rows(a.k) * kAmxTileBytes, tiles, sums, 0, 0};
  for (; rows.k0 < a.k; rows.k0 += kSpan, rows.x += kSpan / 32 * kAmxTileBytes) {
    rows.n = a.k - rows.k0 < kSpan ? a.k - rows.k0 : kSpan;
    rows.x_sums = x + (amx_tiles_across(a.k) + rows.k0 / kAmxSpan) * kAmxTileBytes;
    for (std::size_t p = 0; p < panels; p += kEach) {
      rows.sums = sums + p * tiles * kAmxSums;
      body(rows, a.panel_begin + p, panels - p < kEach ? panels - p : kEach);
    }
  }
  for (std::size_t p = 0; p < panels; ++p)
    write_sums(a, a.panel_begin + p, sums + p * tiles * kAmxSums);
}

}  // namespace
}  // namespace pc::simd
