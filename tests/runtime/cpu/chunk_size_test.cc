// The size of a prefill's chunks, and the cache that it follows.

#include "runtime/cpu/chunk_size.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "tests/support/temp_folder.h"

namespace pc::test {
namespace {

// A machine's caches as the kernel shows them.
struct Caches {
  TempFolder folder;

  void add(int index, const std::string& size) const {
    const std::string at = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    std::filesystem::create_directories(folder.path() + at);
    folder.write(at + "/size", size);
  }
  std::size_t last() const { return last_cache_bytes(folder.path()); }
};

TEST_CASE("the last cache is the last that the kernel lists") {
  const Caches caches;
  CHECK(caches.last() == 0);
  caches.add(0, "32K\n");
  caches.add(1, "32K\n");
  caches.add(2, "1024K\n");
  CHECK(caches.last() == std::size_t{1} << 20);
  caches.add(3, "32768K\n");
  CHECK(caches.last() == std::size_t{32} << 20);
  caches.add(4, "what\n");
  CHECK(caches.last() == std::size_t{32} << 20);
}

TEST_CASE("a chunk's rows fit the cache as long as it has more than the least tokens") {
  const std::size_t mib = std::size_t{1} << 20;
  CHECK(chunk_tokens(45056, 0) == kMostChunkTokens);
  CHECK(chunk_tokens(45056, 32 * mib) == kMostChunkTokens);  // TinyLlama-1.1B: 11 MiB
  CHECK(chunk_tokens(45056, 8 * mib) == 128);
  CHECK(chunk_tokens(45056, 1 * mib) == kLeastChunkTokens);
  for (std::size_t row = 1; row < 1 << 20; row = row * 3 + 1)
    for (std::size_t cache = 1; cache < std::size_t{1} << 30; cache = cache * 2 + 1) {
      const std::uint32_t n = chunk_tokens(row, cache);
      REQUIRE((n == kLeastChunkTokens || n * row <= cache));
      REQUIRE((n == kMostChunkTokens || 2 * n * row > cache));
    }
}

}  // namespace
}  // namespace pc::test
