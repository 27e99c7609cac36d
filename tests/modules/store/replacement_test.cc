// Which files go first, against the rule in whole numbers.
#include "modules/store/replacement.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>

namespace pc {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr std::int64_t kSecond = 1'000'000'000, kNow = 1'800'000'000 * kSecond;
constexpr seconds kGrain(60);

// Made and last used so many seconds ago.
CacheEntry entry(std::uint8_t name, std::int64_t made, std::int64_t used) {
  return {{name}, 100, kNow - made * kSecond, kNow - used * kSecond, false};
}

std::vector<int> order(std::vector<CacheEntry> files, WorthOf worth = {}) {
  EvictionOrder order(std::move(files), worth, kNow, kGrain);
  std::vector<int> names;
  while (const auto file = order.next()) names.push_back(file->key[0]);
  return names;
}

TEST_CASE("of files that are worth the same, the least recently used goes first") {
  CHECK(order({entry(1, 9000, 100), entry(2, 9000, 300), entry(3, 9000, 200)}) ==
        std::vector{2, 3, 1});
}

TEST_CASE("what is worth twice as much stays twice as long, and the grain is nobody's") {
  const auto worth = [](const Digest& key) { return key[0] == 2 ? 2.0 : 1.0; };
  // 1060 s for the grain and the age of the one, 530 s of the other.
  CHECK(order({entry(1, 470, 470), entry(2, 999, 999)}, worth) == std::vector{1, 2});
  CHECK(order({entry(1, 470, 470), entry(2, 1001, 1001)}, worth) == std::vector{2, 1});
}

TEST_CASE("what was found again is worth half as much again, from a grain on") {
  // 140 s and 90 s: 1.5 times 60 s more, and a second.
  CHECK(order({entry(1, 31, 31), entry(2, 135, 75)}) == std::vector{1, 2});
  CHECK(order({entry(1, 29, 29), entry(2, 135, 75)}) == std::vector{2, 1});
  CHECK(order({entry(1, 31, 31), entry(2, 134, 75)}) == std::vector{2, 1});  // 59 s later: not yet
}

TEST_CASE("times in the future are now, and of equal files the key decides") {
  CHECK(order({entry(1, 10, -500), entry(2, 10, 10)}) == std::vector{2, 1});
  CHECK(order({entry(3, 0, -5), entry(2, 0, -5), entry(1, 0, -9)}) == std::vector{2, 3, 1});
  CHECK(order({entry(9, 50, 50), entry(8, 50, 50)}) == std::vector{8, 9});
}

TEST_CASE("a tenant without a grain has an order as well") {
  EvictionOrder order({entry(1, 0, 0), entry(2, 5, 5)}, {}, kNow, nanoseconds(0));
  CHECK(order.next()->key[0] == 2);
  CHECK(order.next()->key[0] == 1);
  CHECK_FALSE(order.next());
}

TEST_CASE("only files are weighed that would go if they were worth 1") {
  std::vector<int> weighed;
  const auto worth = [&](const Digest& key) {
    weighed.push_back(key[0]);
    return key[0] == 1 ? 100.0 : 1.0;
  };
  EvictionOrder order(
      {entry(1, 900, 900), entry(2, 500, 500), entry(3, 100, 100), entry(4, 50, 50)}, worth, kNow,
      kGrain);
  CHECK(order.next()->key[0] == 2);
  CHECK(weighed == std::vector{1, 2});
  CHECK(order.next()->key[0] == 3);
  CHECK(order.next()->key[0] == 4);
  CHECK(order.next()->key[0] == 1);
  CHECK(weighed == std::vector{1, 2, 3, 4});
}

// a before b where worth_a / (grain + age_a) is less, without a division.
TEST_CASE("any files, by the rule in whole numbers") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<CacheEntry> files;
    std::map<int, std::int64_t> worth, used;
    for (int i = 0; i < 30; ++i) {
      const std::int64_t last = static_cast<std::int64_t>(random() % 100'000);
      const std::int64_t before = static_cast<std::int64_t>(random() % 120);
      files.push_back(entry(static_cast<std::uint8_t>(i), last + before, last));
      worth[i] = (1 + static_cast<std::int64_t>(random() % 8)) * (before >= 60 ? 3 : 2);
      used[i] = 60 + last;
    }
    const auto worth_of = [&](const Digest& key) {
      const bool again = files[key[0]].last_used_ns - files[key[0]].made_ns >= 60 * kSecond;
      return static_cast<double>(worth[key[0]]) / (again ? 3 : 2);
    };
    const std::vector<int> found = order(files, worth_of);
    REQUIRE(found.size() == files.size());
    for (std::size_t i = 1; i < found.size(); ++i) {
      const int a = found[i - 1], b = found[i];
      REQUIRE(worth[a] * used[b] <= worth[b] * used[a]);
    }
  }
}

}  // namespace
}  // namespace pc
