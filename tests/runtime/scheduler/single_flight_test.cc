// Who is waited for, and for how long.

#include "runtime/scheduler/single_flight.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/support/temp_folder.h"

namespace pc::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A store with one lock, and another process that holds it.
class Held {
 public:
  enum class Manner { kComputes, kSleeps };

  explicit Held(Manner manner) {
    key_.digest.fill(0xab);
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    holder_ = ::fork();
    if (holder_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const FileLock lock = store_->lock(key_, 0ms);
      if (!lock.held() || ::write(ready[1], "!", 1) != 1) ::_exit(1);
      while (manner == Manner::kSleeps) ::pause();
      for (;;) {
        (void)Clock::now();  // computes
      }
    }
    char said = 0;
    REQUIRE(::read(ready[0], &said, 1) == 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Held() { die(); }

  void stop() const {
    ::kill(holder_, SIGSTOP);
    ::waitpid(holder_, nullptr, WUNTRACED);
  }
  void die() {
    if (holder_ == 0) return;
    ::kill(holder_, SIGKILL);
    ::waitpid(holder_, nullptr, 0);
    holder_ = 0;
  }
  bool shows() const { return store_->lock(key_, 0ms).holder_ticks().has_value(); }
  Result<FileLock> wait(Patience patience, const volatile std::int32_t* cancel = nullptr) const {
    return wait_for_flight(*store_, key_, cancel, patience);
  }

 private:
  TempFolder folder_;
  std::unique_ptr<ModuleStore> store_ = ModuleStore::open({.dir = folder_.path()}).value();
  ModuleKey key_;
  pid_t holder_ = 0;
};

// Changes something in the middle of a wait.
template <class Wait, class Change>
Result<FileLock> change_after(std::chrono::milliseconds time, Wait wait, Change change) {
  std::atomic<bool> over{false};
  Result<FileLock> result = error(Code::kInternal, "");
  std::thread waiter([&] {
    result = wait();
    over = true;
  });
  std::this_thread::sleep_for(time);
  CHECK_FALSE(over);
  change();
  waiter.join();
  return result;
}

TEST_CASE("a holder that computes is waited for, past all patience with idle ones") {
  Held held(Held::Manner::kComputes);
  if (!held.shows()) {
    WARN("skipped: /proc/locks does not show who holds a lock here");
    return;
  }
  // In two seconds it has 10 ms of a processor, a tick, on the busiest machine.
  const auto flight = change_after(
      3s, [&] { return held.wait({.idle = 2s}); }, [&] { held.die(); });
  REQUIRE(flight.ok());
  CHECK(flight->held());
}

TEST_CASE("a holder that is stopped, or does nothing, is waited for with patience and no longer") {
  for (const auto manner : {Held::Manner::kComputes, Held::Manner::kSleeps}) {
    const Held held(manner);
    if (manner == Held::Manner::kComputes) held.stop();
    const auto begin = Clock::now();
    const auto flight = held.wait({.idle = 200ms});
    CHECK(Clock::now() - begin >= 200ms);
    REQUIRE(flight.ok());
    CHECK(flight->held());  // as one who stands in
  }
}

TEST_CASE("of those who wait for a holder that is stopped, one stands in at a time") {
  Held held(Held::Manner::kSleeps);
  const auto first = held.wait({.idle = 100ms});
  REQUIRE(first.ok());
  REQUIRE(first->held());
  {
    const auto second = held.wait({.idle = 100ms});  // for the first, which is idle
    REQUIRE(second.ok());
    CHECK(second->held());
    const auto third = held.wait({.idle = 100ms});
    REQUIRE(third.ok());
    CHECK(third->state() == LockState::kBusy);  // then it is done twice
  }
  held.die();
  CHECK(held.wait({.idle = 24h, .all = 24h})->held());
}

TEST_CASE("nobody is waited for without end, however much he computes") {
  const Held held(Held::Manner::kComputes);
  const auto begin = Clock::now();
  const auto flight = held.wait({.idle = 24h, .all = 300ms});
  CHECK(Clock::now() - begin >= 300ms);
  REQUIRE(flight.ok());
  CHECK(flight->state() == LockState::kBusy);
}

TEST_CASE("every wait can be cancelled") {
  const Held held(Held::Manner::kSleeps);
  std::int32_t cancel = 0;
  const auto flight = change_after(
      300ms,
      [&] {
        return held.wait({24h, 24h}, &cancel);
      },
      [&] { __atomic_store_n(&cancel, 1, __ATOMIC_RELAXED); });
  REQUIRE_FALSE(flight.ok());
  CHECK(flight.error().code == Code::kCancelled);
}

}  // namespace
}  // namespace pc::test
