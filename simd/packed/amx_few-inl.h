// Products of few rows with widened weights, over tile registers: while two panels' span meets the
// rows of x, 32 at a time, the next two are widened (simd/packed/amx_widen-inl.h), a tile between
// the steps of a product. So the tile unit and the others work at once.
#pragma once

#include "simd/amx_block-inl.h"
#include "simd/packed/amx_spans-inl.h"
#include "simd/packed/amx_widen-inl.h"

namespace pc::simd {
namespace {

constexpr std::size_t kFewSteps = kAmxFewSpan / kAmxColumns;

// Columns [c, c + 32) of panel p, or as many as there are, into a tile.
using WidenTile = void (*)(const AmxMatmulArgs& a, std::size_t p, std::size_t c, std::uint8_t* dst);

void arrange_tile(const AmxMatmulArgs& a, std::size_t p, std::size_t c, std::uint8_t* dst) {
  const std::size_t row = 16 * p, rows = a.n - row < 16 ? a.n - row : 16;
  const std::size_t n = a.k - c < 32 ? a.k - c : 32;
  arrange_panel(reinterpret_cast<Bytes>(a.w) + 2 * row * a.k, rows, a.k, c, n, dst);
}

template <Type kType>
void widen_tile(const AmxMatmulArgs& a, std::size_t p, std::size_t c, std::uint8_t* dst) {
  widen_columns<kType>(panel_at<kType>(a, p), a.k, c, dst);
}

WidenTile widen_tile_of(Type type) {
  WidenTile found = arrange_tile;
  with_type(type, [&]<Type kType>() { found = widen_tile<kType>; });
  return found;
}

// The span of up to two panels that is widened next, tile by tile: of one, then the other.
class Widening {
 public:
  // Nothing where k0 is behind the last column.
  Widening(const AmxMatmulArgs& a, WidenTile widen_tile, std::size_t panel, std::size_t panels,
           std::size_t k0, std::uint8_t* dst)
      : a_(&a),
        widen_tile_(widen_tile),
        panel_(panel),
        end_(k0 < a.k ? panel + panels : panel),
        k0_(k0),
        k_(k0),
        dst_(dst) {}

  std::size_t tiles() const {
    return (end_ - panel_) *
           amx_tiles_across(a_->k - k0_ < kAmxFewSpan ? a_->k - k0_ : kAmxFewSpan);
  }

  // The next n tiles, or as many as there are.
  void go_on(std::size_t n) {
    for (; n > 0 && panel_ < end_; --n) {
      widen_tile_(*a_, panel_, k_, dst_);
      dst_ += kAmxTileBytes;
      k_ += kAmxColumns;
      if (k_ < a_->k && k_ - k0_ < kAmxFewSpan) continue;
      dst_ += (kAmxFewSpan - (k_ - k0_)) / kAmxColumns * kAmxTileBytes;
      k_ = k0_;
      ++panel_;
    }
  }

 private:
  const AmxMatmulArgs* a_;
  WidenTile widen_tile_;
  std::size_t panel_, end_, k0_, k_;
  std::uint8_t* dst_;
};

// sums += the span's columns of x times up to two panels of them, widened; meanwhile the next.
template <class TileSet>
void add_widened(const SpanRows& rows, Bytes widened, bool both, Widening& next) {
  const std::size_t steps = amx_tiles_across(rows.n), all = (rows.tiles + 1) / 2 * steps;
  const std::size_t each = (next.tiles() + all - 1) / all;
  const TileOperand w{widened, 64, kAmxTileBytes, kFewSteps * kAmxTileBytes};
  const auto between = [&] { next.go_on(each); };
  for (std::size_t i = 0; i < rows.tiles; i += 2) {
    const TileOperand x{rows.x + i * rows.stride, 64, kAmxTileBytes, rows.stride};
    TileTarget target[2][2];
    for (std::size_t r = 0; r < 2; ++r)
      for (std::size_t c = 0; c < 2; ++c)
        target[r][c] = {rows.sums + (c * rows.tiles + i + r) * kAmxSums, 16, 16, 16};
    if (rows.tiles - i > 1)
      both ? times_block<TileSet, 2, 2>(x, w, steps, true, target, between)
           : times_block<TileSet, 2, 1>(x, w, steps, true, target, between);
    else
      both ? times_block<TileSet, 1, 2>(x, w, steps, true, target, between)
           : times_block<TileSet, 1, 1>(x, w, steps, true, target, between);
  }
}

template <class TileSet>
void times_few(const AmxMatmulArgs& a) {
  constexpr std::size_t kSpanBytes = 2 * kFewSteps * kAmxTileBytes;
  auto* now = reinterpret_cast<std::uint8_t*>(a.scratch);
  std::uint8_t* later = now + kSpanBytes;
  const WidenTile widen_tile = widen_tile_of(a.type);
  const auto widening = [&](std::size_t panel, std::size_t k0, std::uint8_t* dst) {
    return Widening(a, widen_tile, panel, a.panel_end - panel < 2 ? 1 : 2, k0, dst);
  };
  Widening first = widening(a.panel_begin, 0, now);
  first.go_on(first.tiles());
  for_each_span<kAmxFewSpan, 2>(
      a, 2 * kSpanBytes, [&](const SpanRows& rows, std::size_t panel, std::size_t panels) {
        const bool last = panel + panels == a.panel_end;
        Widening next = last ? widening(a.panel_begin, rows.k0 + kAmxFewSpan, later)
                             : widening(panel + panels, rows.k0, later);
        add_widened<TileSet>(rows, now, panels > 1, next);
        std::uint8_t* const used = now;
        now = later;
        later = used;
      });
}
static_assert(2 * 2 * kAmxFewSpan / kAmxColumns * kAmxTileBytes +
                  kAmxPanels * kAmxFew / 16 * kAmxSums * 4 <=
              kAmxScratchBytes);

}  // namespace
}  // namespace pc::simd
