#include "runtime/scheduler/helper_thread.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/thread_faults.h"

namespace pc::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST_CASE("the work is another thread's, the ticks are the caller's, every 50 ms") {
  const auto caller = std::this_thread::get_id();
  std::thread::id worker;
  std::atomic<int> ticks = 0;
  int elsewhere = 0;
  const auto begin = Clock::now();
  const auto work = [&] {
    worker = std::this_thread::get_id();
    while (ticks < 5 && Clock::now() - begin < 1min) std::this_thread::sleep_for(1ms);
  };
  const auto tick = [&] {
    ++ticks;
    elsewhere += std::this_thread::get_id() != caller;
  };
  HelperThread helper;
  helper.run(work, tick);
  CHECK(worker != caller);
  CHECK(elsewhere == 0);
  CHECK(ticks >= 5);
  CHECK(ticks.load() * 50ms <= Clock::now() - begin);
}

TEST_CASE("one thread does all pieces, and what a piece throws its caller catches") {
  const int before = threads_started();
  HelperThread helper;
  std::vector<int> done;
  for (int i = 0; i < 100; ++i) {
    const auto work = [&] {
      if (i % 10 == 3) throw std::runtime_error("three");
      done.push_back(i);
    };
    const auto go = [&] { helper.run(work, [] {}); };
    if (i % 10 == 3)
      CHECK_THROWS_AS(go(), std::runtime_error);
    else
      CHECK_NOTHROW(go());
  }
  CHECK(done.size() == 90);
  CHECK(threads_started() == before + 1);
}

TEST_CASE("a thread without memory, and none at all") {
  fail_threads(ThreadFault::kNoMemory);
  std::string text;
  const auto allocate = [&] { text.assign(1000, 'a'); };
  {
    HelperThread helper;
    CHECK_THROWS_AS(helper.run(allocate, [] {}), std::bad_alloc);
  }
  fail_threads(ThreadFault::kNotStarted);
  HelperThread none;
  fail_threads(ThreadFault::kNone);
  std::thread::id worker;
  none.run([&] { worker = std::this_thread::get_id(); }, [] {});
  CHECK(worker == std::this_thread::get_id());
}

}  // namespace
}  // namespace pc::test
