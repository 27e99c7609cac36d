#include "tools/serve/service/workers.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <latch>
#include <thread>
#include <vector>

namespace pc::serve {
namespace {

TEST_CASE("jobs are done in order, so many at once, and one too many is refused") {
  Workers workers(2, 1);
  std::latch begun(2), go_on(1);
  const auto job = [&] {
    begun.count_down();
    go_on.wait();
  };
  CHECK(workers.submit(job));
  CHECK(workers.submit(job));
  begun.wait();
  CHECK(workers.n_running() == 2);
  std::atomic<bool> done{false};
  CHECK(workers.submit([&] { done = true; }));
  CHECK(workers.n_waiting() == 1);
  CHECK_FALSE(workers.submit([] {}));
  go_on.count_down();
  while (!done) std::this_thread::yield();
}

TEST_CASE("without room to wait, whoever finds a thread idle is taken") {
  Workers workers(1, 0);
  std::atomic<int> n_done{0};
  for (int i = 0; i < 100; ++i) {
    while (!workers.submit([&] { ++n_done; })) std::this_thread::yield();
  }
  while (n_done < 100) std::this_thread::yield();
}

TEST_CASE("the end finishes what is under way and drops what waits") {
  std::atomic<int> n_done{0};
  std::latch begun(1);
  std::atomic<bool> go_on{false};
  std::thread ender;
  {
    Workers workers(1, 9);
    workers.submit([&] {
      begun.count_down();
      while (!go_on) std::this_thread::yield();
      ++n_done;
    });
    begun.wait();
    for (int i = 0; i < 9; ++i) workers.submit([&] { n_done += 100; });
    ender = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      go_on = true;
    });
  }
  ender.join();
  CHECK(n_done == 1);
}

}  // namespace
}  // namespace pc::serve
