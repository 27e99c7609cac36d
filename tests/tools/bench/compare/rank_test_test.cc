#include "tools/bench/compare/rank_test.h"

#include <catch2/catch.hpp>

using namespace pc::cli;

namespace {

Samples steps(int n, double first) {
  Samples samples;
  for (int i = 0; i < n; ++i) samples.push_back(first + i);
  return samples;
}

}  // namespace

// Each chance is a count of arrangements, made by listing all of them.
TEST_CASE("the chance is the share of arrangements that are as uneven") {
  CHECK(rank_test({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}) == Approx(2.0 / 252));
  CHECK(rank_test({6, 7, 8, 9, 10}, {1, 2, 3, 4, 5}) == Approx(2.0 / 252));
  CHECK(rank_test({1, 3, 5, 7}, {2, 4, 6, 8, 10}) == Approx(52.0 / 126));
  CHECK(rank_test({1, 2, 9}, {4, 5}) == Approx(8.0 / 10));
  CHECK(rank_test({1, 1, 2, 3}, {2, 3, 3, 4, 5}) == Approx(10.0 / 126));  // ties share ranks
  CHECK(rank_test({7}, {9}) == 1);
  CHECK(rank_test({4, 4, 4}, {4, 4}) == 1);
}

TEST_CASE("of many samples the chance is that of a normal distribution") {
  CHECK(rank_test(steps(30, 0), steps(25, 6.5)) == Approx(0.09592195709677959));
  CHECK(rank_test(Samples(30, 1.0), Samples(30, 1.0)) == 1);
  CHECK(rank_test(steps(50, 0), steps(50, 100)) < 1e-10);
}

TEST_CASE("where one way takes over, both say nearly the same") {
  const double normal = 0.031517;  // of the largest lots that are told exactly
  CHECK(rank_test(steps(20, 0), steps(20, 4.5)) == Approx(normal).margin(0.002));
}

TEST_CASE("the least chance is that of no overlap") {
  CHECK(least_chance(5, 5) == Approx(rank_test({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10})));
  CHECK(least_chance(4, 3) == Approx(2.0 / 35));
  CHECK(least_chance(1, 1) == 1);
}

TEST_CASE("a ratio is the middle of all pairs, and its interval belongs to the test") {
  const Ratio twice = ratio_of({1, 1, 1, 1, 1}, {2, 2, 2, 2, 2});
  CHECK(twice.middle == 2);
  REQUIRE(twice.interval);
  CHECK(twice.interval->low == 2);
  CHECK(twice.interval->high == 2);
  // Two of 25 ratios are left out at each end, as 4 of 252 arrangements are at most as uneven as
  // two pairs the other way round.
  const Ratio spread = ratio_of({1, 1, 1, 1, 1}, {1, 2, 3, 4, 5});
  CHECK(spread.middle == 3);
  REQUIRE(spread.interval);
  CHECK(spread.interval->low == 1);
  CHECK(spread.interval->high == 5);
  CHECK_FALSE(ratio_of({1, 2, 3}, {1, 2, 3}).interval);  // 2 of 20 are more than 5 %
  CHECK_FALSE(ratio_of({1}, {2}).interval);
}

// Where no sample of one is equal to one of the other, a test at 5 % and an interval of 95 % say
// the same.
TEST_CASE("an interval has 1 in it just when the chance is above 5 %") {
  const Samples a = {10, 11, 12, 13, 14, 15};
  for (double shift = -8; shift < 8; shift += 0.3) {
    Samples b = a;
    for (double& x : b) x += shift + 0.05;
    const Ratio ratio = ratio_of(a, b);
    REQUIRE(ratio.interval);
    CHECK((ratio.interval->low <= 1 && 1 <= ratio.interval->high) == (rank_test(a, b) > 0.05));
  }
}

TEST_CASE("many samples have an interval, too, and a narrower one") {
  const Ratio few = ratio_of(steps(10, 100), steps(10, 110));
  const Ratio many = ratio_of(steps(100, 100), steps(100, 110));
  REQUIRE(few.interval);
  REQUIRE(many.interval);
  CHECK(few.interval->low < few.middle);
  CHECK(many.interval->low < many.middle);
  CHECK(many.middle < many.interval->high);
}

TEST_CASE("chances are corrected for their number, the least one most") {
  CHECK(corrected({0.01}) == std::vector{0.01});
  CHECK(corrected({0.04, 0.01, 0.02}) == std::vector{0.04, 0.03, 0.04});
  CHECK(corrected({0.5, 0.9}) == std::vector{1.0, 1.0});
  CHECK(corrected({}).empty());
}
