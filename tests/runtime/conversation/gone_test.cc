// Where what stays of a conversation stands, once some of it has gone.
#include "runtime/conversation/gone.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

namespace pc::test {
namespace {

TEST_CASE("positions of what stays, counted one by one") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Stretch> stretches;
    std::vector<bool> goes(100, false);
    for (Position at = static_cast<Position>(random() % 20); at < 90;) {
      const auto n = static_cast<Position>(1 + random() % 20);
      const Position end = std::min<Position>(at + n, 100);
      stretches.push_back({at, end});
      for (Position p = at; p < end; ++p) goes[static_cast<std::size_t>(p)] = true;
      at = end + 1 + static_cast<Position>(random() % 20);
    }
    const Gone gone(stretches);
    Position n_left = 0, n_gone = 0;
    for (Position p = 0; p < 100; ++p) {
      REQUIRE(gone.has(p) == goes[static_cast<std::size_t>(p)]);
      if (gone.has(p)) {
        ++n_gone;
        continue;
      }
      REQUIRE(gone.moved(p) == n_left++);
    }
    REQUIRE(gone.n_tokens() == n_gone);
    const Stretch some{static_cast<Position>(random() % 50),
                       50 + static_cast<Position>(random() % 50)};
    std::vector<bool> left(100, false);
    for (const Stretch& s : gone.left_of(some))
      for (Position p = s.begin; p < s.end; ++p) left[static_cast<std::size_t>(p)] = true;
    for (Position p = 0; p < 100; ++p)
      REQUIRE(left[static_cast<std::size_t>(p)] ==
              (p >= some.begin && p < some.end && !gone.has(p)));
  }
}

}  // namespace
}  // namespace pc::test
