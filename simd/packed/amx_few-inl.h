// Products of few rows with widened weights, over tile registers: two panels' spans are widened at
// a time (simd/packed/amx_widen-inl.h), 16 KiB, and meet 32 rows of x at a time.
#pragma once

#include "simd/amx_block-inl.h"
#include "simd/packed/amx_spans-inl.h"
#include "simd/packed/amx_widen-inl.h"

namespace pc::simd {
namespace {

// Columns [k0, k0 + n) of panel p, into tiles.
void widen(const AmxMatmulArgs& a, std::size_t p, std::size_t k0, std::size_t n,
           std::uint8_t* dst) {
  if (a.type == Type::kBf16) {
    const std::size_t row = 16 * p, rows = a.n - row < 16 ? a.n - row : 16;
    return arrange_panel(reinterpret_cast<Bytes>(a.w) + 2 * row * a.k, rows, a.k, k0, n, dst);
  }
  with_type(a.type,
            [&]<Type kType>() { widen_panel<kType>(panel_at<kType>(a, p), a.k, k0, n, dst); });
}

// sums += the span's columns of x times up to two panels of them, widened.
template <class TileSet>
void add_widened(const SpanRows& rows, Bytes widened, bool both) {
  const std::size_t steps = amx_tiles_across(rows.n);
  const TileOperand w{widened, 64, kAmxTileBytes, kAmxSpan / 32 * kAmxTileBytes};
  for (std::size_t i = 0; i < rows.tiles; i += 2) {
    const TileOperand x{rows.x + i * rows.stride, 64, kAmxTileBytes, rows.stride};
    TileTarget target[2][2];
    for (std::size_t r = 0; r < 2; ++r)
      for (std::size_t c = 0; c < 2; ++c)
        target[r][c] = {rows.sums + (c * rows.tiles + i + r) * kAmxSums, 16, 16, 16};
    if (rows.tiles - i > 1)
      both ? times_block<TileSet, 2, 2>(x, w, steps, true, target)
           : times_block<TileSet, 2, 1>(x, w, steps, true, target);
    else
      both ? times_block<TileSet, 1, 2>(x, w, steps, true, target)
           : times_block<TileSet, 1, 1>(x, w, steps, true, target);
  }
}

template <class TileSet>
void times_few(const AmxMatmulArgs& a) {
  constexpr std::size_t kSpanBytes = kAmxSpan / 32 * kAmxTileBytes;
  auto* widened = reinterpret_cast<std::uint8_t*>(a.scratch);
  for_each_span<2>(a, 2 * kSpanBytes,
                   [&](const SpanRows& rows, std::size_t panel, std::size_t panels) {
                     for (std::size_t p = 0; p < panels; ++p)
                       widen(a, panel + p, rows.k0, rows.n, widened + p * kSpanBytes);
                     add_widened<TileSet>(rows, widened, panels > 1);
                   });
}

}  // namespace
}  // namespace pc::simd
