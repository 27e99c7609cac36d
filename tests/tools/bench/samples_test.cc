#include "tools/bench/samples.h"

#include <catch2/catch.hpp>

using namespace pc::cli;

TEST_CASE("the deviation is that of a sample") {
  CHECK(mean({2, 4, 4, 4, 5, 5, 7, 9}) == 5);
  CHECK(deviation({2, 4, 4, 4, 5, 5, 7, 9}) == Approx(2.13809).epsilon(1e-5));  // sqrt(32 / 7)
  CHECK(deviation({3, 3, 3}) == 0);
}

TEST_CASE("few samples have no deviation, and none has a mean of 0") {
  CHECK(mean({}) == 0);
  CHECK(deviation({}) == 0);
  CHECK(mean({7}) == 7);
  CHECK(deviation({7}) == 0);
}

TEST_CASE("a large common part does not drown the deviation") {
  CHECK(deviation({1e9, 1e9 + 1, 1e9 + 2}) == 1);
}
