// The same exchanges go as a conversation grows, and what is left has room to grow.
#include "tools/opening/window_fit.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <vector>

namespace pc::cli {
namespace {

TEST_CASE("nothing goes of what fits") {
  const std::vector<std::uint64_t> exchanges(10, 80);
  CHECK(exchanges_that_go(exchanges, 64, 1000) == 0);
  CHECK(exchanges_that_go({}, 64, 1000) == 0);
  CHECK(exchanges_that_go(std::vector<std::uint64_t>{5000}, 64, 1000) == 0);  // the last one stays
}

TEST_CASE("what went stays away, and what is left fits, at any length") {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t window = 256 + random() % 4096, n_fixed = random() % (window / 4);
    std::vector<std::uint64_t> exchanges;
    std::size_t before = 0, n_slides = 0;
    for (int i = 0; i < 300; ++i) {
      exchanges.push_back(1 + random() % (window / 8));
      const std::size_t n = exchanges_that_go(exchanges, n_fixed, window);
      REQUIRE(n >= before);
      REQUIRE(n < exchanges.size());
      const auto left = std::accumulate(exchanges.begin() + static_cast<std::ptrdiff_t>(n),
                                        exchanges.end(), n_fixed);
      REQUIRE(left <= window);
      if (n > before) {
        ++n_slides;
        REQUIRE(left <= window / 8 * 5 + window / 8);
      }
      before = n;
    }
    // An eighth of the window, at least, comes between two of them: an exchange has less than that.
    const auto all = std::accumulate(exchanges.begin(), exchanges.end(), std::uint64_t{0});
    REQUIRE(n_slides <= all / (window / 8) + 1);
  }
}

}  // namespace
}  // namespace pc::cli
