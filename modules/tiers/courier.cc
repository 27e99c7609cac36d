#include "modules/tiers/courier.h"

#include <unistd.h>

#include <system_error>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/status.h"

namespace pc {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLook{50};

std::int64_t now() {
  return Clock::now().time_since_epoch().count();
}

}  // namespace

struct Courier::Shared {
  Mutex mutex;
  Condition changed;
  std::thread thread PC_GUARDED_BY(mutex);
  ::pid_t process PC_GUARDED_BY(mutex) = 0;  // in which the thread runs
  bool is_ending PC_GUARDED_BY(mutex) = false;
  Trip trip PC_GUARDED_BY(mutex);                     // to be made, or under way
  std::shared_ptr<Pulse> pulse PC_GUARDED_BY(mutex);  // of that trip; null: it is back
  bool is_sent PC_GUARDED_BY(mutex) = false;          // the thread has seen it

  bool is_stuck() PC_REQUIRES(mutex) {
    const std::chrono::nanoseconds silent(pulse ? now() - pulse->latest_ns_.load() : 0);
    return silent > kPatience;
  }
  // The thread is there; false: it cannot be.
  bool start(const std::shared_ptr<Shared>& self) PC_REQUIRES(mutex) {
    if (thread.joinable()) return process == ::getpid();
    try {
      thread = std::thread([self] { serve(self); });
    } catch (const std::system_error&) {
      return false;
    }
    process = ::getpid();
    return true;
  }
  std::shared_ptr<Pulse> post(Trip next) PC_REQUIRES(mutex) {
    trip = std::move(next);
    pulse = std::make_shared<Pulse>();
    pulse->latest_ns_ = now();
    is_sent = false;
    changed.notify_all();
    return pulse;
  }
};

bool Courier::Pulse::beat() {
  latest_ns_ = now();
  return is_wanted_;
}

Courier::Courier() : shared_(std::make_shared<Shared>()) {}

Courier::~Courier() {
  std::thread thread;
  bool waits = false;
  {
    const MutexLock lock(shared_->mutex);
    shared_->is_ending = true;
    // A forked process has no such thread.
    waits = !shared_->pulse && shared_->process == ::getpid();
    if (shared_->pulse) shared_->pulse->is_wanted_ = false;
    thread = std::move(shared_->thread);
    shared_->changed.notify_all();
  }
  if (!thread.joinable()) return;
  if (waits)
    thread.join();
  else
    thread.detach();
}

void Courier::serve(const std::shared_ptr<Shared>& shared) {
  MutexLock lock(shared->mutex);
  while (true) {
    while (!shared->is_ending && (!shared->pulse || shared->is_sent)) shared->changed.wait(lock);
    if (shared->is_ending) return;
    shared->is_sent = true;
    Trip trip = std::move(shared->trip);
    const std::shared_ptr<Pulse> pulse = shared->pulse;
    lock.unlock();
    // Where memory ran out, what the trip was to find out is not known.
    (void)catch_all([&] { return trip(*pulse), ok(); }, [](auto...) {});
    trip = nullptr;  // what it owned goes while nobody is kept
    lock.lock();
    shared->pulse = nullptr;
    shared->changed.notify_all();
  }
}

bool Courier::run(Trip trip, FunctionRef<bool()> goes_on) {
  MutexLock lock(shared_->mutex);
  while (shared_->pulse) {
    if (shared_->is_stuck() || !goes_on()) return false;
    shared_->changed.wait_until(lock, Clock::now() + kLook);
  }
  if (!shared_->start(shared_)) return false;
  const std::shared_ptr<Pulse> pulse = shared_->post(std::move(trip));
  while (shared_->pulse == pulse) {
    if (shared_->is_stuck() || !goes_on()) return pulse->is_wanted_ = false;
    shared_->changed.wait_until(lock, Clock::now() + kLook);
  }
  return true;
}

bool Courier::run(Trip trip) {
  return run(std::move(trip), [] { return true; });
}

bool Courier::send(Trip trip) {
  const MutexLock lock(shared_->mutex);
  if (shared_->pulse || !shared_->start(shared_)) return false;
  shared_->post(std::move(trip));
  return true;
}

bool Courier::is_away() const {
  const MutexLock lock(shared_->mutex);
  return shared_->is_stuck();
}

}  // namespace pc
