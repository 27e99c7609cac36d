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

TEST_CASE("a quantile lies between its neighbours, whatever the order") {
  CHECK(quantile({4, 1, 3, 2}, 0.5) == 2.5);
  CHECK(quantile({5, 1, 3}, 0.5) == 3);
  CHECK(quantile({1, 2, 3, 4, 5}, 0.05) == Approx(1.2));
  CHECK(quantile({1, 2, 3, 4, 5}, 0.95) == Approx(4.8));
  CHECK(quantile({1, 2, 3}, 0) == 1);
  CHECK(quantile({1, 2, 3}, 1) == 3);
  CHECK(quantile({7}, 0.95) == 7);
  CHECK(quantile({}, 0.5) == 0);
}
