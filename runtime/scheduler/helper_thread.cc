#include "runtime/scheduler/helper_thread.h"

#include <system_error>
#include <utility>

namespace pc {

HelperThread::HelperThread() {
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  } catch (const std::system_error&) {
    // None is to be had: run() does without.
  }
}

void HelperThread::run(FunctionRef<void()> work, FunctionRef<void()> tick) {
  if (!thread_.joinable()) return work();
  MutexLock lock(mutex_);
  work_ = work;
  changed_.notify_all();
  const auto done = [this]() PC_REQUIRES(mutex_) { return !work_; };
  while (!changed_.wait_for(lock, kTick, done)) {
    lock.unlock();
    tick();
    lock.lock();
  }
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void HelperThread::serve(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  const auto has_work = [this]() PC_REQUIRES(mutex_) { return static_cast<bool>(work_); };
  while (changed_.wait(lock, stop, has_work)) {
    const FunctionRef<void()> work = work_;
    lock.unlock();
    std::exception_ptr thrown;
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    thrown_ = std::move(thrown);
    work_ = {};
    changed_.notify_all();
  }
}

}  // namespace pc
