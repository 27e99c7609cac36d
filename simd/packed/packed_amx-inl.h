// Products in bf16: the algorithms over tile registers (`Tiles`), which the including file
// defines before this, with <immintrin.h>.
//
// Of many rows: weights are widened once a call, kAmxDepth columns of all its panels into
// scratch that stays in the L2 cache; all rows of x meet them there, 32 rows by
// two panels at a time: four sums, which stay in tiles over the depth and in y
// between one depth and the next. The sums are f32, and need no scaling, as
// integers of 32 columns would: simd/packed/amx_widen-inl.h puts the scales into the weights.
// Of fewer: simd/packed/amx_few-inl.h, of fewer still simd/packed/amx_scaled-inl.h.

#include "simd/packed/amx_activations-inl.h"
#include "simd/packed/amx_few-inl.h"
#include "simd/packed/amx_scaled-inl.h"

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

// All rows of x with the widened columns from k0 on, `tiles` tiles of them.
void times_widened(const AmxMatmulArgs& a, std::size_t k0, std::size_t tiles) {
  const std::size_t panels = a.panel_end - a.panel_begin, across = amx_tiles_of_rows(a.k);
  const bool add = a.accumulate || k0 != 0;
  TileOperand x{nullptr, 64, kAmxTileBytes, across * kAmxTileBytes};
  TileOperand w{nullptr, 64, kAmxTileBytes, tiles * kAmxTileBytes};
  for (std::size_t i = 0; i < a.m; i += 32) {
    x.at = reinterpret_cast<const std::uint8_t*>(a.x) +
           (i / 16 * across + k0 / kAmxColumns) * kAmxTileBytes;
    for (std::size_t p = 0; p < panels; p += 2) {
      w.at = reinterpret_cast<const std::uint8_t*>(a.scratch) + p * w.other;
      TileTarget target[2][2];
      for (std::size_t r = 0; r < 2; ++r) {
        for (std::size_t c = 0; c < 2; ++c) {
          const std::size_t row = i + 16 * r, column = 16 * (a.panel_begin + p + c);
          if (row >= a.m || column >= a.n) continue;
          target[r][c] = {a.y + row * a.y_stride + column, a.y_stride,
                          a.m - row < 16 ? a.m - row : 16, a.n - column < 16 ? a.n - column : 16};
        }
      }
      const bool rows = a.m - i > 16, both = panels - p > 1;
      if (rows) {
        both ? times_block<Tiles, 2, 2>(x, w, tiles, add, target)
             : times_block<Tiles, 2, 1>(x, w, tiles, add, target);
      } else {
        both ? times_block<Tiles, 1, 2>(x, w, tiles, add, target)
             : times_block<Tiles, 1, 1>(x, w, tiles, add, target);
      }
    }
  }
}

void matmul_many(const AmxMatmulArgs& a) {
  Tiles::configure();
  for (std::size_t k0 = 0; k0 < a.k; k0 += kAmxDepth) {
    const std::size_t n = a.k - k0 < kAmxDepth ? a.k - k0 : kAmxDepth;
    const std::size_t tiles = amx_tiles_across(n);
    for (std::size_t p = a.panel_begin; p < a.panel_end; ++p)
      widen(
          a, p, k0, n,
          reinterpret_cast<std::uint8_t*>(a.scratch) + (p - a.panel_begin) * tiles * kAmxTileBytes);
    times_widened(a, k0, tiles);
  }
  Tiles::release();
}

void matmul_few(const AmxMatmulArgs& a) {
  Tiles::configure();
  times_few<Tiles>(a);
  Tiles::release();
}

void matmul_codes(const AmxMatmulArgs& a) {
  with_type(a.type, [&]<Type kType>() {
    if constexpr (amx_most_by_codes(kType) != 0) {
      Codes<kType>::kHalf ? Tiles::configure_half() : Tiles::configure();
      times_codes<Tiles, kType>(a);
      Tiles::release();
    }
  });
}

#undef PC_INLINE

}  // namespace
}  // namespace pc::simd
