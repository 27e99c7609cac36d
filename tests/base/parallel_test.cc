// Loops over tasks.

#include "base/parallel.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <random>
#include <thread>
#include <vector>

namespace pc::test {
namespace {

// Runs a loop, and says whether each task ran once, on a thread that the loop has.
bool runs_all(const Parallel& parallel, std::uint32_t n_tasks) {
  std::vector<std::atomic<int>> n_runs(n_tasks);
  std::atomic<bool> known{true};
  parallel.for_each(n_tasks, [&](std::uint32_t task, std::uint32_t thread) {
    if (thread >= parallel.n_threads()) known = false;
    ++n_runs[task];
  });
  for (const auto& n : n_runs)
    if (n != 1) return false;
  return known;
}

TEST_CASE("each task runs once, in loops of any length on any number of threads") {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const Parallel parallel(1 + random() % 5);
    if (!runs_all(parallel, random() % (i % 100 ? 12 : 1000)))
      FAIL("loop " << i << " on " << parallel.n_threads() << " threads");
  }
}

TEST_CASE("what bodies wrote is there when their loop has ended") {
  const Parallel parallel(3);
  std::vector<int> counts(64);
  for (int i = 0; i < 5'000; ++i)
    parallel.for_each(64, [&](std::uint32_t task, std::uint32_t) { ++counts[task]; });
  CHECK(counts == std::vector<int>(64, 5'000));
}

TEST_CASE("threads that begin loops at the same time have teams of their own") {
  std::atomic<int> n_right{0};
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 0; i < 6; ++i)
      threads.emplace_back([&n_right, i] {
        for (int k = 0; k < 500; ++k) n_right += runs_all(Parallel(1 + i % 3), 17);
      });
  }
  CHECK(n_right == 6 * 500);
}

// A signal's handler that stays where it is stands for a thread that the system does not run.
std::atomic<int> n_held{0};
std::atomic<bool> let_go{false};

void hold(int) {
  ++n_held;
  while (!let_go) ::usleep(100);
  --n_held;
}

TEST_CASE("a loop ends though the system does not run the other threads of its team") {
  const Parallel parallel(3);
  if (parallel.n_threads() == 1) return;  // a build without OpenMP
  // Who they are: each of three tasks stays until all three are taken, so by one thread each.
  std::vector<pthread_t> team(3);
  std::atomic<int> n_taken{0};
  parallel.for_each(3, [&](std::uint32_t, std::uint32_t thread) {
    team[thread] = ::pthread_self();
    for (++n_taken; n_taken < 3;) ::usleep(100);
  });
  REQUIRE(n_taken == 3);

  struct sigaction held = {}, before = {};
  held.sa_handler = hold;
  REQUIRE(::sigaction(SIGUSR2, &held, &before) == 0);
  for (const int other : {1, 2}) REQUIRE(::pthread_kill(team[other], SIGUSR2) == 0);
  while (n_held < 2) ::usleep(100);
  for (int i = 0; i < 100; ++i) CHECK(runs_all(parallel, 64));
  let_go = true;
  while (n_held > 0) ::usleep(100);
  ::sigaction(SIGUSR2, &before, nullptr);
  for (int i = 0; i < 100; ++i) CHECK(runs_all(parallel, 64));
}

TEST_CASE("a child of fork has a team of its own, and ends") {
#if defined(PC_EMULATED) || defined(__SANITIZE_THREAD__)
  // An assertion of qemu-user 7.2 ends a child that starts threads where its parent had some, and
  // so does the thread sanitizer.
  WARN(
      "skipped: under qemu-user, or the thread sanitizer, no child of a process with threads can "
      "start its own");
  return;
#endif
  const Parallel parallel(3);
  REQUIRE(runs_all(parallel, 64));
  const pid_t child = ::fork();
  if (child == 0) {
    std::atomic<int> n_taken{0};  // each by another thread, as above
    parallel.for_each(parallel.n_threads(), [&](std::uint32_t, std::uint32_t) {
      for (++n_taken; n_taken < static_cast<int>(parallel.n_threads());) ::usleep(100);
    });
    std::exit(runs_all(parallel, 64) ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

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
