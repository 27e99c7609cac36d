// Quantised weights laid out for integer products: what matmul_packed reads.
//
// A matrix [rows, cols] of a GGUF type becomes panels of 16 rows, one after
// another and equally large; rows past the last have zero scales. A panel is
// its heads, then its codes, both in order of the columns. The bytes are the
// same on every machine (little-endian), so that they can be kept in a file.
//
//   weight = scale * (code - zero) + minimum, or scale * numbers[code]
//
// where the numbers are a table of the type (simd/blocks/codebooks.h), zero is the type's, code is
// 0..15, 0..63 or 0..255, and scale and minimum belong to (row, group of 16 or 32 columns). They
// are kept as GGUF has them, an f16 a block and, in blocks of 256, an integer a group: their
// products are exact in f32 and a weight is the GGUF file's, bit for bit, in
// nearly its bytes. (f32 scales would be as exact and cost Q4_K 1.5 bits a weight
// more; f16 products of the two would round.)
//
//   head of a block:   scale [16 rows], f16 or E8M0; minimum f16 [16 rows] where there are minima;
//                      in blocks of 256, for each group: factor of the scale i8 [16 rows],
//                      factor of the minimum i8 [16 rows] where there are minima;
//                      in blocks of 64 instead, for each group: scale f16 [16 rows]
//   codes of 32 columns, in vectors of 64 bytes: [16 rows][4 columns]
//     8 bits: 8 vectors, vector q of columns 4q..4q+3
//     4 bits: 4 vectors, in vector v the low nibbles of quad v, the high ones of quad v + 4
//     6 bits: 4 vectors of low bits as for 4 bits, then 2 vectors of high bits:
//             bits 2f and 2f + 1 of vector h belong to quad 4h + f
//
// so that one 64-byte vector times four activation codes repeated in all lanes
// is the integer dot product of 16 rows, instruction by instruction, on every
// CPU. 2 and 3 bits are kept as 4, and 5 bits as 6; rows of codebooks are no rows any more,
// but the 4 bits of each element's number among those of its codebook, with their signs.
//
// Pure functions, any thread. Packed matrices begin on 64 bytes for speed; nothing depends on it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/packed/packed_shape.h"
#include "simd/types.h"

namespace pc::simd {

// Of the bytes; a packed file of another version is made again.
inline constexpr std::uint32_t kPackVersion = 1;

inline constexpr std::size_t kPanelRows = 16;
inline constexpr std::size_t kPackGroup = 32;  // columns that share a scale of activations

// Bytes of one block's head, all 16 rows.
constexpr std::size_t packed_head_bytes(const PackedShape& shape) {
  if (shape.scale == PackedScale::kE8m0) return kPanelRows;
  if (shape.scale == PackedScale::kF16Each) return 2 * kPanelRows * (shape.block / shape.group);
  const std::size_t factors = shape.block == 256 ? 256 / shape.group : 0;
  return (2 + factors) * kPanelRows * (shape.minima ? 2 : 1);
}

// Bytes of the codes of 32 columns of 16 rows.
constexpr std::size_t packed_code_bytes(const PackedShape& shape) {
  return kPanelRows * kPackGroup * shape.bits / 8;
}

// Where in a panel its codes begin: on a cache line of it.
constexpr std::size_t packed_codes_at(const PackedShape& shape, std::size_t cols) {
  return (cols / shape.block * packed_head_bytes(shape) + 63) / 64 * 64;
}

// Preconditions of all: packs(type), cols a multiple of the type's block.
constexpr std::size_t packed_panel_bytes(Type type, std::size_t cols) {
  const PackedShape shape = packed_shape_of(type);
  return packed_codes_at(shape, cols) + cols / kPackGroup * packed_code_bytes(shape);
}

constexpr std::size_t packed_bytes(Type type, std::size_t rows, std::size_t cols) {
  return (rows + kPanelRows - 1) / kPanelRows * packed_panel_bytes(type, cols);
}

// Writes panel `panel` (rows 16 * panel and on) of w [rows, cols] to its place
// in dst, the packed matrix: packed_panel_bytes at panel * packed_panel_bytes.
void pack_panel(Type type, const void* w, std::size_t rows, std::size_t cols, std::size_t panel,
                std::byte* dst);

// A weight of a packed matrix, element by element: what the bytes mean.
float packed_element(Type type, const std::byte* packed, std::size_t cols, std::size_t row,
                     std::size_t col);

}  // namespace pc::simd
