// Activations in 8 bits, as matmul_packed reads them.
//
// Rows of k columns in tiles of 16 rows, the last ones in tiles of 8, 4, 2 and
// 1, so that a kernel that holds a tile's sums in registers finds all that it
// needs at constant distances. A tile of t rows holds, for each group of 32 columns:
//
//   codes i8 [t][32], RowNote [t]
//
// x = scale * code, the code of the largest magnitude being 127. Rounded to
// nearest, that is as good as 8 bits can be where magnitudes are alike: for
// normal x the error is 0.5 % of the group's norm. Where few outliers rule a
// group it would reach 1.3 %, so that such a group has a second part of the same
// form for what the first leaves: x = scale * code + scale / 254 * code2. The
// second parts lie behind all first ones, in the same tiles, and a kernel
// multiplies those that a RowNote announces. The error is thus below 0.9 % of
// the norm of any group, and mostly half of that.
//
// A group that holds an infinity or NaN has the scale NaN, so that what is
// computed from it is NaN. Equal bit for bit on every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pc::simd {

// Sums of codes, negated: what a weight's zero and minimum are multiplied with.
struct RowNote {
  float scale;
  std::int32_t sum, first, second;  // of all 32 columns, the first 16, the last 16
  std::int32_t finer;               // not 0: there is a second part
};

inline constexpr std::size_t kMaxTileRows = 16;
inline constexpr std::size_t kQuantisedGroupBytes = 32 + sizeof(RowNote);  // of one row

// Less than this sum of a group's squared codes asks for a second part: the
// error, sqrt(32 / 12) steps, would be more than 0.9 % of the norm. One group
// of normal x in four hundred has less.
inline constexpr float kFineEnough = 33000.0f;

// Steps of the second part in one of the first.
inline constexpr float kFiner = 254.0f;

// Below this a group counts as zero: its scale's reciprocal would overflow.
inline constexpr float kQuantisedFloor = 0x1p-100f;

// First parts of `rows` rows: where row `rows` begins a tile, and where the second parts begin.
constexpr std::size_t first_parts_bytes(std::size_t rows, std::size_t k) {
  return rows * (k / 32) * kQuantisedGroupBytes;
}

constexpr std::size_t quantised_bytes(std::size_t rows, std::size_t k) {
  return 2 * first_parts_bytes(rows, k);
}

// Rows of the tile that begins at row i of m.
constexpr std::size_t tile_rows(std::size_t m, std::size_t i) {
  std::size_t rows = kMaxTileRows;
  while (rows > m - i) rows /= 2;
  return rows;
}

struct RowPlace {
  std::size_t codes, notes;  // bytes from the beginning, of group 0's first part
  std::size_t step;          // bytes from group to group
};

// Where row i of m lies.
constexpr RowPlace place_of_row(std::size_t m, std::size_t i, std::size_t k) {
  std::size_t first = i / kMaxTileRows * kMaxTileRows;
  while (i - first >= tile_rows(m, first)) first += tile_rows(m, first);
  const std::size_t rows = tile_rows(m, first), tile = first_parts_bytes(first, k);
  return {tile + 32 * (i - first), tile + 32 * rows + sizeof(RowNote) * (i - first),
          rows * kQuantisedGroupBytes};
}

// What the bytes say of x [m, k], element by element.
float quantised_element(const std::byte* x, std::size_t m, std::size_t k, std::size_t row,
                        std::size_t col);

}  // namespace pc::simd
