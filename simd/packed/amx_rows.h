// Activations in bf16, as the tile products read them (simd/packed/packed_amx.cc), and which of
// the tile products is used for how many rows.
//
// Rows of k columns in tiles of 16 rows and 32 columns, bf16 [16][32], a KiB
// each and in order of the columns; then the tiles of the next 16 rows. Rounded
// to nearest even. The columns of a quad stand in the order 0, 2, 1, 3: so the pairs of a tile's
// words are those that a shift finds in packed codes (simd/packed/packed.h). Columns past k are
// zeros; rows past the last hold anything: they are multiplied, and what comes of it is dropped.
//
// Behind the tiles of 16 rows, a tile for each span of 256 columns with the sums of 32 of them,
// bf16 [16 rows][2 times the same][8 sums][2]: a sum is two numbers that add up to it within
// 2^-16. Written where asked for: weights that have minima are multiplied with them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/packed/packed_shape.h"
#include "simd/types.h"

namespace pc::simd {

inline constexpr std::size_t kAmxRows = 16;     // of a tile
inline constexpr std::size_t kAmxColumns = 32;  // of a tile of bf16
inline constexpr std::size_t kAmxTileBytes = kAmxRows * kAmxColumns * 2;
inline constexpr std::size_t kAmxSpan = 256;     // columns: a multiple of every type's block
inline constexpr std::size_t kAmxFewSpan = 128;  // of widened weights that meet few rows

// Panels that one call multiplies.
inline constexpr std::size_t kAmxPanels = 16;

// Columns that are widened at once: 16 panels of 2048 columns, 1 MiB, which stay in the L2 cache (2
// MiB in every CPU with AMX) while all rows of x meet them. Less depth writes and reads y more
// often.
inline constexpr std::size_t kAmxDepth = 2048;
inline constexpr std::size_t kAmxScratchBytes =
    kAmxPanels * (kAmxDepth / kAmxColumns) * kAmxTileBytes;

// How rows are multiplied, by counts of instructions and a model of the CPU
// (docs/adr/0008-amx-tiles.md).
enum class AmxWay : std::uint8_t {
  kNone,   // not on tiles
  kCodes,  // tiles of codes, whose sums are scaled: made soonest, multiplied most slowly
  kFew,    // weights are widened a span of two panels at a time, and meet up to kAmxFew rows there
  kMany,   // weights are widened kAmxDepth columns deep, for any number of rows
};

// Rows for which one span of x, of codes and of sums stay in the caches, 64 to 128 KiB of each.
inline constexpr std::size_t kAmxFew = 128;

// From this many rows on widened weights are used: there they took as long as AVX-512 VNNI does (4
// bits; 1.09 times as long in 8 bits; bench/gemm_bench).
inline constexpr std::size_t kAmxFewestWidened = 24;
// Codes are used from here: by the model they take half of what VNNI does.
inline constexpr std::size_t kAmxFewestRows = 12;

// Up to so many rows codes are multiplied; 0: never, as x has no sums of 16 columns. Scales of 16
// columns, and 8 bits, take two products of tiles for 32 columns.
constexpr std::size_t amx_most_by_codes(Type type) {
  const PackedShape shape = packed_shape_of(type);
  if (shape.block == 0) return 0;
  if (shape.group == 16 && shape.minima) return 0;
  return shape.bits == 8 ? 32 : 48;
}

constexpr AmxWay amx_way(Type type, std::size_t rows) {
  if (rows >= kAmxFewestRows && rows <= amx_most_by_codes(type)) return AmxWay::kCodes;
  if (rows < kAmxFewestWidened) return AmxWay::kNone;
  return rows <= kAmxFew ? AmxWay::kFew : AmxWay::kMany;
}

constexpr std::size_t amx_tiles_across(std::size_t k) {
  return (k + kAmxColumns - 1) / kAmxColumns;
}

// Of 16 rows: their columns and the sums.
constexpr std::size_t amx_tiles_of_rows(std::size_t k) {
  return amx_tiles_across(k) + (k + kAmxSpan - 1) / kAmxSpan;
}

// bf16 of m rows of k columns.
constexpr std::size_t amx_elements(std::size_t m, std::size_t k) {
  return (m + kAmxRows - 1) / kAmxRows * amx_tiles_of_rows(k) * (kAmxTileBytes / 2);
}

// Where row i begins; its next 32 columns are a tile further.
constexpr std::size_t amx_row_at(std::size_t i, std::size_t k) {
  return i / kAmxRows * amx_tiles_of_rows(k) * (kAmxTileBytes / 2) + i % kAmxRows * kAmxColumns;
}

// From there, where column c is.
constexpr std::size_t amx_column_at(std::size_t c) {
  const std::size_t in_tile = c % kAmxColumns;
  return c / kAmxColumns * (kAmxTileBytes / 2) + in_tile / 4 * 4 + in_tile % 2 * 2 +
         in_tile % 4 / 2;
}

}  // namespace pc::simd
