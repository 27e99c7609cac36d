// Activations in bf16, as the tile products read them (simd/packed/packed_amx.cc).
//
// Rows of k columns in tiles of 16 rows and 32 columns, bf16 [16][32], a KiB
// each and in order of the columns; then the tiles of the next 16 rows. Rounded
// to nearest even. Columns past k are zeros; rows past the last hold anything:
// they are multiplied, and what comes of it is dropped.
#pragma once

#include <cstddef>

namespace pc::simd {

inline constexpr std::size_t kAmxRows = 16;     // of a tile
inline constexpr std::size_t kAmxColumns = 32;  // of a tile of bf16
inline constexpr std::size_t kAmxTileBytes = kAmxRows * kAmxColumns * 2;

// From this many rows on tiles are used: there they take as long as AVX-512 VNNI does (4 bits;
// 1.09 times as long in 8 bits; bench/gemm_bench, docs/adr/0008-amx-tiles.md).
inline constexpr std::size_t kAmxFewestRows = 24;

// What one call widens at once: 16 panels of 2048 columns, 1 MiB, which stay in the L2 cache (2 MiB
// in every CPU with AMX) while all rows of x meet them. Less depth writes and reads y more often.
inline constexpr std::size_t kAmxPanels = 16;
inline constexpr std::size_t kAmxDepth = 2048;  // a multiple of every type's block
inline constexpr std::size_t kAmxScratchBytes =
    kAmxPanels * (kAmxDepth / kAmxColumns) * kAmxTileBytes;

constexpr std::size_t amx_tiles_across(std::size_t k) {
  return (k + kAmxColumns - 1) / kAmxColumns;
}

// bf16 of m rows of k columns.
constexpr std::size_t amx_elements(std::size_t m, std::size_t k) {
  return (m + kAmxRows - 1) / kAmxRows * amx_tiles_across(k) * (kAmxTileBytes / 2);
}

// Where row i begins; its next 32 columns are a tile further.
constexpr std::size_t amx_row_at(std::size_t i, std::size_t k) {
  return (i / kAmxRows * amx_tiles_across(k) * kAmxRows + i % kAmxRows) * kAmxColumns;
}

}  // namespace pc::simd
