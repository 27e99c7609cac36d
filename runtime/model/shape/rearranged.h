// Matrices as formats store them that are not this engine's, written anew as it reads them: turned,
// with rows by turns, in blocks whose scales lie apart.
//
// Pure functions over bytes. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pc {

// How rows of a stored matrix follow each other.
enum class RowOrder {
  kPlain,
  kPaired,  // one of the first half and one of the second by turns
};

// The stored row that is row `row` of n_rows, which are even in number where they are paired.
inline std::size_t stored_row(RowOrder order, std::size_t row, std::size_t n_rows) {
  if (order == RowOrder::kPlain) return row;
  const std::size_t half = n_rows / 2;
  return row < half ? 2 * row : 2 * (row - half) + 1;
}

// to[r][c] = from[c][stored_row(r)]; from [cols, rows], to [rows, cols], elements of 2 or 4 bytes.
void turn(const std::byte* from, std::size_t rows, std::size_t cols, std::size_t element_bytes,
          RowOrder order, std::byte* to);

// MXFP4 of n blocks, as gpt-oss's folders have them (16 bytes of two neighbours each, the first in
// the low half, and one scale), to the order of GGUF (OCP Microscaling 1.0: 17 bytes, the scale
// first; a byte has number j in its low half and number 16 + j in its high half).
void mxfp4_blocks(const std::byte* pairs, const std::byte* scales, std::size_t n, std::byte* to);

}  // namespace pc
