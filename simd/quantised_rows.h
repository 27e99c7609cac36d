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
// normal x the error is 0.54 % of the group's norm. Where few outliers rule a
// group it would reach 1.3 %. Such a group has a second set of codes for one quad,
// the four neighbours that hold the largest magnitude: their codes are the sums of
// both, up to 254, and the scale is half as large, or what the largest of
// the other 28 asks for. No error is then more than sqrt(32 / 12) / 254 of the
// largest, nor more than that / 127 of the next: 0.91 % of the group's norm, as
// the norm is at least that of these two. A kernel pays one more dot product
// of four columns for it, and only in groups of a tile that has such rows.
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
  std::int8_t beyond[4];            // to be added to the codes of columns 4 * quad ...
  std::uint16_t quad;               // 0 where there is nothing to add
  std::uint16_t rows;               // of a tile's first row: bit t says that row t has such codes
};

inline constexpr std::size_t kMaxTileRows = 16;
inline constexpr std::size_t kQuantisedGroupBytes = 32 + sizeof(RowNote);  // of one row

// Less than this sum of a group's squared codes, all below 128, asks for the second
// codes: the error, sqrt(32 / 12) steps, would be more than 0.8 % of the norm. One group
// of normal x in four hundred has less.
inline constexpr std::int32_t kFineEnough = 40000;

// Below this a group counts as zero: its scale's reciprocal would overflow.
inline constexpr float kQuantisedFloor = 0x1p-100f;

// Of `rows` rows; where row `rows` begins, if it begins a tile.
constexpr std::size_t quantised_bytes(std::size_t rows, std::size_t k) {
  return rows * (k / 32) * kQuantisedGroupBytes;
}

// Rows of the tile that begins at row i of m.
constexpr std::size_t tile_rows(std::size_t m, std::size_t i) {
  std::size_t rows = kMaxTileRows;
  while (rows > m - i) rows /= 2;
  return rows;
}

struct RowOffsets {
  std::size_t codes, note;  // bytes from the beginning, of group 0
  std::size_t step;         // bytes from group to group
  std::size_t row;          // in the tile
};

// Where row i of m lies.
constexpr RowOffsets offsets_of_row(std::size_t m, std::size_t i, std::size_t k) {
  std::size_t first = i / kMaxTileRows * kMaxTileRows;
  while (i - first >= tile_rows(m, first)) first += tile_rows(m, first);
  const std::size_t rows = tile_rows(m, first), tile = quantised_bytes(first, k);
  return {tile + 32 * (i - first), tile + 32 * rows + sizeof(RowNote) * (i - first),
          rows * kQuantisedGroupBytes, i - first};
}

// Says in the note of a tile's first row, whose rows are noted in order, that row `row`,
// whose own note is given, has second codes.
inline void note_finer_row(std::byte* note, std::size_t row) {
  std::byte* first = note - row * sizeof(RowNote) + offsetof(RowNote, rows);
  std::uint16_t rows;
  __builtin_memcpy(&rows, first, sizeof rows);
  rows = static_cast<std::uint16_t>(rows | 1u << row);
  __builtin_memcpy(first, &rows, sizeof rows);
}

// What the bytes say of x [m, k], element by element, exactly: 127 of a 127th of the
// largest float can be more than it.
double quantised_element(const std::byte* x, std::size_t m, std::size_t k, std::size_t row,
                         std::size_t col);

}  // namespace pc::simd
