#include "tools/serve/models/idle_work.h"

#include <chrono>
#include <utility>

namespace pc::serve {
namespace {

using namespace std::chrono_literals;

// Who comes back within this time finds the machine free.
constexpr auto kPause = 200ms;

}  // namespace

IdleWork::IdleWork(std::function<bool()> is_idle)
    : is_idle_(std::move(is_idle)), thread_([this] { work(); }) {}

IdleWork::~IdleWork() {
  {
    const MutexLock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void IdleWork::add(Job job) {
  {
    const MutexLock lock(mutex_);
    waiting_.push_back(std::move(job));
    if (waiting_.size() > kMost) waiting_.pop_front();
  }
  changed_.notify_all();
}

std::size_t IdleWork::n_waiting() const {
  const MutexLock lock(mutex_);
  return waiting_.size() + (is_working_ ? 1 : 0);
}

void IdleWork::work() {
  MutexLock lock(mutex_);
  while (true) {
    while (!ends_ && waiting_.empty()) changed_.wait(lock);
    if (ends_) return;
    lock.unlock();
    const bool is_idle = is_idle_();
    lock.lock();
    if (!is_idle) {
      changed_.wait_until(lock, std::chrono::steady_clock::now() + kPause);
      continue;
    }
    if (ends_ || waiting_.empty()) continue;
    Job job = std::move(waiting_.front());
    waiting_.pop_front();
    is_working_ = true;
    lock.unlock();
    const bool done = is_done(job);
    lock.lock();
    is_working_ = false;
    if (!done) waiting_.push_front(std::move(job));
  }
}

// False: somebody came, and it goes on later. What cannot be done is left.
bool IdleWork::is_done(const Job& job) try {
  return job([this] {
    const MutexLock lock(mutex_);
    return !ends_ && is_idle_();
  });
} catch (const std::exception&) {
  return true;
}

}  // namespace pc::serve
