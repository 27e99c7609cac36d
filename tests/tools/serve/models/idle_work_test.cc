#include "tools/serve/models/idle_work.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace pc::serve {
namespace {

using namespace std::chrono_literals;

void wait_until_done(const IdleWork& work) {
  while (work.n_waiting() != 0) std::this_thread::sleep_for(1ms);
}

TEST_CASE("jobs are done in order, while nobody waits; what one throws ends it alone") {
  std::atomic<bool> is_idle{false};
  std::atomic<int> done{0};
  IdleWork work([&] { return is_idle.load(); });
  for (int i = 0; i < 3; ++i)
    work.add([&, i](const auto&) {
      if (i == 1) throw std::runtime_error("no");
      done = done * 10 + i + 1;
      return true;
    });
  std::this_thread::sleep_for(20ms);
  CHECK(done == 0);
  CHECK(work.n_waiting() == 3);
  is_idle = true;
  wait_until_done(work);
  CHECK(done == 13);
}

TEST_CASE("a job that was told to stop is begun again, before the others") {
  std::atomic<bool> is_idle{true}, was_stopped{false};
  std::atomic<int> n_begun{0}, n_others{0};
  IdleWork work([&] { return is_idle.load(); });
  work.add([&](const IdleWork::MayGoOn& may_go_on) {
    if (++n_begun > 1) return n_others == 0;
    while (may_go_on()) std::this_thread::sleep_for(1ms);
    was_stopped = true;
    return false;
  });
  work.add([&](const auto&) {
    ++n_others;
    return true;
  });
  while (n_begun == 0) std::this_thread::sleep_for(1ms);
  is_idle = false;
  while (!was_stopped) std::this_thread::sleep_for(1ms);
  is_idle = true;
  wait_until_done(work);
  CHECK(n_begun == 2);
  CHECK(n_others == 1);
}

TEST_CASE("of too many jobs the oldest are dropped, and an end stops the one that is being done") {
  std::atomic<int> n_done{0};
  std::atomic<bool> is_idle{false};
  {
    IdleWork work([&] { return is_idle.load(); });
    for (std::size_t i = 0; i < IdleWork::kMost + 5; ++i)
      work.add([&](const auto&) { return ++n_done, true; });
    CHECK(work.n_waiting() == IdleWork::kMost);
    is_idle = true;
    wait_until_done(work);
    work.add([&](const IdleWork::MayGoOn& may_go_on) {
      while (may_go_on()) std::this_thread::sleep_for(1ms);
      return false;
    });
  }
  CHECK(n_done == static_cast<int>(IdleWork::kMost));
}

}  // namespace
}  // namespace pc::serve
