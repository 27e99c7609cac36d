#include "modules/store/file_sizes.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "modules/store/cache_folder.h"
#include "tests/modules/store/rooms.h"

namespace pc {
namespace {

TEST_CASE("a size is asked once for each file, and again where the name is another's") {
  FileSizes sizes;
  int n_asked = 0;
  std::optional<std::uint64_t> size = 7;
  const auto of = [&](std::uint8_t key, ino_t inode) {
    return sizes.of(Digest{key}, inode, [&] {
      ++n_asked;
      return size;
    });
  };
  CHECK(of(1, 10) == 7);
  size = 9;
  CHECK(of(1, 10) == 7);
  CHECK(n_asked == 1);
  CHECK(of(1, 11) == 9);
  CHECK(of(2, 11) == 9);
  size.reset();
  CHECK(of(3, 12) == 0);
  size = 5;
  CHECK(of(3, 12) == 5);
  CHECK(sizes.n_files() == 3);
  sizes.keep_at_most(3);
  CHECK(of(1, 11) == 9);
  sizes.keep_at_most(2);
  CHECK(of(1, 11) == 5);
}

TEST_CASE("what a folder says it holds is what is there, whoever writes and removes") {
  const test::TempFolder dir;
  const CacheFolder folders[] = {test::open(dir, test::kRooms), test::open(dir, test::kRooms)};
  std::minstd_rand random(1);
  std::vector<bool> is_there(40);
  std::uint64_t n_bytes = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto at = static_cast<std::uint8_t>(random() % is_there.size());
    const std::string text(at + 1, 'x');
    const CacheFolder& folder = folders[random() % 2];
    if (is_there[at])
      REQUIRE(folder.remove(test::key(at)).ok());
    else
      REQUIRE(test::put(folder, test::key(at), text) == Published::kNew);
    is_there[at] = !is_there[at];
    n_bytes += is_there[at] ? text.size() : -text.size();
    REQUIRE(folders[0].stored_bytes() == n_bytes);
    if (i % 3 == 0) REQUIRE(folders[1].stored_bytes() == n_bytes);
  }
}

TEST_CASE("where there are many files, some more give way at once, and few otherwise") {
  const test::TempFolder dir;
  const bool are_many = GENERATE(false, true);
  const std::uint64_t n_files = are_many ? 1100 : 100, size = 100, budget = n_files * size;
  const CacheFolder folder = test::open(dir, test::kRooms);
  for (std::uint64_t i = 0; i < n_files; ++i) {
    Digest key{static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i >> 8)};
    REQUIRE(test::put(folder, key, std::string(size, 'x')) == Published::kNew);
  }
  EvictionReport evicted;
  REQUIRE(folder.reserve(size, budget, std::chrono::seconds(9), &evicted).ok());
  CHECK(evicted.removed_files == (are_many ? 1 + (budget / 64 + size - 1) / size : 1));
  EvictionReport again;
  REQUIRE(folder.reserve(size, budget, std::chrono::seconds(9), &again).ok());
  CHECK(again.removed_files == 0);
}

}  // namespace
}  // namespace pc
