#include "runtime/sampling/draft_length.h"

#include <catch2/catch.hpp>

namespace pc {
namespace {

TEST_CASE("what is right is drafted longer, what is wrong no more, and less than there is room") {
  DraftLength length;
  CHECK(length.choose(20, 100) > 1);
  CHECK(length.choose(20, 1) == 1);
  CHECK(length.choose(20, 0) == 0);
  for (int i = 0; i < 20; ++i) length.learn(20, 15, 15);
  CHECK(length.choose(20, 100) == DraftLength::kMost);
  const std::size_t others = length.choose(3, 100);
  for (int i = 0; i < 60; ++i) length.learn(20, 15, 0);
  CHECK(length.choose(20, 100) == 0);
  CHECK(length.choose(3, 100) == others);  // which is learnt by itself
}

TEST_CASE("a text that never agrees costs little, and one that begins to is noticed") {
  DraftLength length;
  int n_drafted = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::size_t n = length.choose(3, 15);
    n_drafted += static_cast<int>(n);
    if (n != 0) length.learn(3, n, 0);
  }
  CHECK(n_drafted < 150);
  int n_steps = 0;
  for (; length.choose(3, 15) < 8 && n_steps < 200; ++n_steps)
    if (const std::size_t n = length.choose(3, 15)) length.learn(3, n, n);
  CHECK(n_steps < 60);
}

}  // namespace
}  // namespace pc
