// Where a buffer lies, and that a large one is gone when it goes.
#include "base/aligned_buffer.h"

#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace pc {
namespace {

bool is_mapped(void* page) {
  return ::msync(page, 1, MS_ASYNC) == 0 || errno != ENOMEM;
}

TEST_CASE("buffers of any size begin on a cache line, and can be written to their end") {
  for (const std::size_t n :
       {std::size_t{1}, std::size_t{63}, std::size_t{4096}, kOwnPagesBytes - 1, kOwnPagesBytes,
        kOwnPagesBytes + 1, 5 * kOwnPagesBytes + 17}) {
    AlignedBuffer<char> buffer(n);
    REQUIRE(buffer.size() == n);
    REQUIRE(reinterpret_cast<std::uintptr_t>(buffer.data()) % kCacheLine == 0);
    buffer[0] = buffer[n - 1] = 'a';
    AlignedBuffer<char> moved = std::move(buffer);
    CHECK(moved[n - 1] == 'a');
  }
  CHECK(AlignedBuffer<char>(0).data() == nullptr);
  CHECK_THROWS_AS(AlignedBuffer<int>(SIZE_MAX / 2), std::bad_alloc);
  CHECK_THROWS_AS(AlignedBuffer<char>(SIZE_MAX / 2), std::bad_alloc);
}

TEST_CASE("a large buffer that goes leaves no memory behind, whatever lives beside it") {
  std::vector<std::unique_ptr<char[]>> small;
  for (int round = 0; round < 100; ++round) {
    void* page = nullptr;
    {
      AlignedBuffer<char> buffer(4 * kOwnPagesBytes);
      page = buffer.data();
      buffer[0] = 'a';
      small.push_back(std::make_unique<char[]>(100));
      REQUIRE(is_mapped(page));
    }
    REQUIRE_FALSE(is_mapped(page));
  }
}

}  // namespace
}  // namespace pc
