#include "tools/opening/window_fit.h"

namespace pc::cli {

// The conversation is followed from its beginning. Once 7/8 of the window are full, exchanges go
// until 5/8 are: an eighth is left for answers and for what was counted too low.
std::size_t exchanges_that_go(std::span<const std::uint64_t> exchanges, std::uint64_t n_fixed,
                              std::uint64_t window) {
  std::size_t first = 0;
  std::uint64_t n = n_fixed;
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    n += exchanges[i];
    if (n <= window / 8 * 7) continue;
    while (first < i && n > window / 8 * 5) n -= exchanges[first++];
  }
  return first;
}

}  // namespace pc::cli
