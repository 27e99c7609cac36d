// A mutex that is held for long: one at a time, who waits has it next, or is told not to wait.

#include "runtime/scheduler/long_mutex.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

namespace pc::test {
namespace {

TEST_CASE("one at a time has it, and everybody gets it") {
  const bool cancellable = GENERATE(false, true);
  constexpr int kThreads = 4, kTimes = 300;
  const std::int32_t cancel = 0;
  LongMutex mutex;
  int count = 0;  // of it
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kTimes; ++n) {
        if (!mutex.lock(cancellable ? &cancel : nullptr)) return;
        const LongMutexLock lock(mutex, std::adopt_lock);
        const int before = count;
        std::this_thread::yield();
        count = before + 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(count == kThreads * kTimes);
}

TEST_CASE("one that is held is not waited for where it is only tried, or by who is cancelled") {
  LongMutex mutex;
  std::int32_t cancel = 1;
  REQUIRE(mutex.try_lock());
  CHECK_FALSE(mutex.try_lock());
  CHECK_FALSE(mutex.lock(&cancel));
  mutex.unlock();
  CHECK(mutex.lock(&cancel));  // it is free: there is nothing to wait for
  CHECK_FALSE(mutex.try_lock());
  mutex.unlock();
  CHECK(mutex.try_lock());
  mutex.unlock();
}

TEST_CASE("who waits is cancelled, and others have it afterwards") {
  LongMutex mutex;
  REQUIRE(mutex.try_lock());
  std::int32_t cancel = 0;
  std::atomic<bool> had{false}, other_had{false};
  std::thread waits([&] {
    had = mutex.lock(&cancel);
    if (had) mutex.unlock();
  });
  __atomic_store_n(&cancel, 1, __ATOMIC_RELAXED);
  waits.join();  // while this thread holds it
  CHECK_FALSE(had);
  std::thread other([&] {
    other_had = mutex.lock(nullptr);
    if (other_had) mutex.unlock();
  });
  mutex.unlock();
  other.join();
  CHECK(other_had);
}

}  // namespace
}  // namespace pc::test
