#include "tools/serve/models/idle_encoder.h"

#include <chrono>
#include <utility>

namespace pc::serve {
namespace {

using namespace std::chrono_literals;

// Who comes back within this time finds the machine free.
constexpr auto kPause = 200ms;

}  // namespace

IdleEncoder::IdleEncoder(std::function<bool()> is_idle)
    : is_idle_(std::move(is_idle)), thread_([this] { work(); }) {}

IdleEncoder::~IdleEncoder() {
  {
    const MutexLock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void IdleEncoder::add(promptcache::Prompt prompt) {
  {
    const MutexLock lock(mutex_);
    waiting_.push_back(std::move(prompt));
    if (waiting_.size() > kMost) waiting_.pop_front();
  }
  changed_.notify_all();
}

std::size_t IdleEncoder::n_waiting() const {
  const MutexLock lock(mutex_);
  return waiting_.size() + (is_encoding_ ? 1 : 0);
}

void IdleEncoder::work() {
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
    promptcache::Prompt prompt = std::move(waiting_.front());
    waiting_.pop_front();
    is_encoding_ = true;
    lock.unlock();
    const bool is_done = encode(prompt);
    lock.lock();
    is_encoding_ = false;
    if (!is_done) waiting_.push_front(std::move(prompt));
  }
}

// False: somebody came, and it goes on later. What cannot be encoded is left.
bool IdleEncoder::encode(const promptcache::Prompt& prompt) try {
  prompt.encode([this](std::uint32_t, std::uint32_t, const char*) {
    const MutexLock lock(mutex_);
    return !ends_ && is_idle_();
  });
  return true;
} catch (const promptcache::Error& error) {
  return error.status() != PC_CANCELLED;
} catch (const std::exception&) {
  return true;
}

}  // namespace pc::serve
