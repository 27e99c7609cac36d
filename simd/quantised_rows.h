// Activations in 8 bits, as matmul_packed reads them.
//
// Rows of k columns in tiles of 16 rows, the last ones in tiles of 8, 4, 2 and
// 1, so that a kernel that holds a tile's sums in registers finds all that it
// needs at constant distances. A tile of t rows holds, for each group of 32 columns:
//
//   codes i8 [t][32], RowNote [t]
//
// x = scale * code, the code of the largest magnitude being 127: rounded to
// nearest, the error is at most scale / 2. A group that holds an infinity or
// NaN has the scale NaN, so that what is computed from it is NaN.
//
// Equal bit for bit on every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pc::simd {

// Sums of codes, negated: what a weight's zero and minimum are multiplied with.
struct RowNote {
  float scale;
  std::int32_t sum, first, second;  // of all 32 columns, the first 16, the last 16
};

inline constexpr std::size_t kMaxTileRows = 16;
inline constexpr std::size_t kQuantisedGroupBytes = 32 + sizeof(RowNote);  // of one row

// Below this a group counts as zero: its scale's reciprocal would overflow.
inline constexpr float kQuantisedFloor = 0x1p-100f;

constexpr std::size_t quantised_bytes(std::size_t rows, std::size_t k) {
  return rows * (k / 32) * kQuantisedGroupBytes;
}

// Rows of the tile that begins at row i of m: a tile begins at quantised_bytes(i, k).
constexpr std::size_t tile_rows(std::size_t m, std::size_t i) {
  std::size_t rows = kMaxTileRows;
  while (rows > m - i) rows /= 2;
  return rows;
}

struct RowPlace {
  std::size_t codes, notes;  // bytes from the beginning, of group 0
  std::size_t step;          // bytes from group to group
};

// Where row i of m lies.
constexpr RowPlace place_of_row(std::size_t m, std::size_t i, std::size_t k) {
  std::size_t first = i / kMaxTileRows * kMaxTileRows;
  while (i - first >= tile_rows(m, first)) first += tile_rows(m, first);
  const std::size_t rows = tile_rows(m, first), tile = quantised_bytes(first, k);
  return {tile + 32 * (i - first), tile + 32 * rows + sizeof(RowNote) * (i - first),
          rows * kQuantisedGroupBytes};
}

}  // namespace pc::simd
