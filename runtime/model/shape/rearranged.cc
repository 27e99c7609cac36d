#include "runtime/model/shape/rearranged.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace pc {
namespace {

// In tiles that fit the cache. Without tiles each element that is read would cost a whole cache
// line.
template <class Element>
void turn_tiles(const std::byte* from, std::size_t rows, std::size_t cols, RowOrder order,
                std::byte* to) {
  constexpr std::size_t kTile = 32;
  for (std::size_t r0 = 0; r0 < rows; r0 += kTile) {
    for (std::size_t c0 = 0; c0 < cols; c0 += kTile) {
      for (std::size_t r = r0; r < std::min(r0 + kTile, rows); ++r) {
        const std::size_t source = stored_row(order, r, rows);
        for (std::size_t c = c0; c < std::min(c0 + kTile, cols); ++c) {
          std::memcpy(to + (r * cols + c) * sizeof(Element),
                      from + (c * rows + source) * sizeof(Element), sizeof(Element));
        }
      }
    }
  }
}

constexpr std::size_t kPairBytes = 16, kBlockBytes = 17;

}  // namespace

void turn(const std::byte* from, std::size_t rows, std::size_t cols, std::size_t element_bytes,
          RowOrder order, std::byte* to) {
  assert(element_bytes == 2 || element_bytes == 4);
  element_bytes == 4 ? turn_tiles<std::uint32_t>(from, rows, cols, order, to)
                     : turn_tiles<std::uint16_t>(from, rows, cols, order, to);
}

void mxfp4_blocks(const std::byte* pairs, const std::byte* scales, std::size_t n, std::byte* to) {
  constexpr std::byte kLow{0x0f};
  for (std::size_t i = 0; i < n; ++i, pairs += kPairBytes, to += kBlockBytes) {
    to[0] = scales[i];
    for (std::size_t j = 0; j < kPairBytes / 2; ++j) {  // numbers 2 j, 2 j + 1, and 16 behind them
      const std::byte near = pairs[j], far = pairs[kPairBytes / 2 + j];
      to[1 + 2 * j] = (near & kLow) | (far << 4);
      to[2 + 2 * j] = (near >> 4) | (far & ~kLow);
    }
  }
}

}  // namespace pc
