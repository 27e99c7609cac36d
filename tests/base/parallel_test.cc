// Loops over tasks.

#include "base/parallel.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <new>

namespace pc::test {
namespace {

TEST_CASE("what a body throws comes out of its loop, on the thread that began it") {
  const Parallel parallel(GENERATE(1u, 2u, 4u));
  const std::uint32_t thrower = GENERATE(0u, 7u, 63u);
  std::atomic<int> n_done{0};
  const auto loop = [&] {
    parallel.for_each(64, [&](std::uint32_t task, std::uint32_t) {
      if (task == thrower) throw std::bad_alloc();
      ++n_done;
    });
  };
  CHECK_THROWS_AS(loop(), std::bad_alloc);
  CHECK(n_done < 64);
  // The team is as good as before.
  n_done = 0;
  parallel.for_each(64, [&](std::uint32_t, std::uint32_t) { ++n_done; });
  CHECK(n_done == 64);
}

TEST_CASE("where all bodies throw, one exception comes out") {
  const Parallel parallel(4);
  int n_caught = 0;
  for (int i = 0; i < 100; ++i) {
    try {
      parallel.for_each(16, [](std::uint32_t task, std::uint32_t) { throw task; });
    } catch (std::uint32_t task) {
      n_caught += task < 16;
    }
  }
  CHECK(n_caught == 100);
}

}  // namespace
}  // namespace pc::test
