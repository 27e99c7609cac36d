// Products of up to two by two tiles over a depth of more: what all products on AMX are
// made of. Over tile registers as a type (AmxTiles of simd/amx_tiles.h, or a stand-in).
//
// Internal linkage and no vectors: for objects of any instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pc::simd {
namespace {

// One side of a product: two columns (or rows) of tiles of 16 rows of 64 bytes.
struct TileOperand {
  const void* at;
  std::size_t stride;  // bytes from a row of a tile to the next
  std::size_t depth;   // bytes to the tile of the next step of the depth
  std::size_t other;   // bytes to the other of the two
};

// Where a tile's sums f32 [rows][columns] begin and end: in y, by a copy where y has no
// room for 16 x 16.
struct TileTarget {
  float* y;
  std::size_t stride;  // elements
  std::size_t rows, columns;
};

template <class Tiles, int kTile>
inline __attribute__((__always_inline__)) void begin_sum(const TileTarget& p, bool add,
                                                         float (*copy)[16]) {
  if (!add) return Tiles::template zero<kTile>();
  if (p.rows == 16 && p.columns == 16) return Tiles::template load<kTile>(p.y, 4 * p.stride);
  __builtin_memset(copy, 0, 16 * sizeof *copy);
  for (std::size_t i = 0; i < p.rows; ++i)
    __builtin_memcpy(copy[i], p.y + i * p.stride, 4 * p.columns);
  Tiles::template load<kTile>(copy, 64);
}

template <class Tiles, int kTile>
inline __attribute__((__always_inline__)) void end_sum(const TileTarget& p, float (*copy)[16]) {
  if (p.rows == 16 && p.columns == 16) return Tiles::template store<kTile>(p.y, 4 * p.stride);
  Tiles::template store<kTile>(copy, 64);
  for (std::size_t i = 0; i < p.rows; ++i)
    __builtin_memcpy(p.y + i * p.stride, copy[i], 4 * p.columns);
}

struct NothingBetween {
  void operator()() const {}
};

// target[i][j] (+)= the i-th rows of x times the j-th columns of w, `steps` tiles deep.
// Sums in tiles 0..3 (2 * i + j), x in 4 and 5, w in 6 and 7. between(): after each step, what the
// CPU does while its tile unit multiplies.
template <class Tiles, int kRows, int kColumns, class Between = NothingBetween>
inline __attribute__((__always_inline__)) void times_block(const TileOperand& x,
                                                           const TileOperand& w, std::size_t steps,
                                                           bool add, const TileTarget (*target)[2],
                                                           const Between& between = {}) {
  alignas(64) float copy[16][16];
  begin_sum<Tiles, 0>(target[0][0], add, copy);
  if constexpr (kColumns == 2) begin_sum<Tiles, 1>(target[0][1], add, copy);
  if constexpr (kRows == 2) begin_sum<Tiles, 2>(target[1][0], add, copy);
  if constexpr (kRows == 2 && kColumns == 2) begin_sum<Tiles, 3>(target[1][1], add, copy);
  auto* left = static_cast<const std::uint8_t*>(x.at);
  auto* right = static_cast<const std::uint8_t*>(w.at);
  for (std::size_t s = 0; s < steps; ++s, left += x.depth, right += w.depth) {
    Tiles::template load<4>(left, x.stride);
    Tiles::template load<6>(right, w.stride);
    Tiles::template dot_bf16<0, 4, 6>();
    if constexpr (kColumns == 2) {
      Tiles::template load<7>(right + w.other, w.stride);
      Tiles::template dot_bf16<1, 4, 7>();
    }
    if constexpr (kRows == 2) {
      Tiles::template load<5>(left + x.other, x.stride);
      Tiles::template dot_bf16<2, 5, 6>();
    }
    if constexpr (kRows == 2 && kColumns == 2) Tiles::template dot_bf16<3, 5, 7>();
    between();
  }
  end_sum<Tiles, 0>(target[0][0], copy);
  if constexpr (kColumns == 2) end_sum<Tiles, 1>(target[0][1], copy);
  if constexpr (kRows == 2) end_sum<Tiles, 2>(target[1][0], copy);
  if constexpr (kRows == 2 && kColumns == 2) end_sum<Tiles, 3>(target[1][1], copy);
}

}  // namespace
}  // namespace pc::simd
