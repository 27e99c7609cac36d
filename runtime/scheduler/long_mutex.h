// A mutex that is held for long, as while a module is encoded: whoever waits for it sleeps until it
// is free, and may be told meanwhile not to wait any longer.
//
// What tells so is a flag that a signal's handler may set, which can wake nobody: it is looked at
// every kLook. Threads: that is what it is for; only the one that holds it lets go of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>  // std::adopt_lock_t

#include "base/mutex.h"
#include "base/progress.h"  // is_set

namespace pc {

class PC_THREAD_SAFETY(capability("mutex")) LongMutex {
 public:
  // How late a wait may see its flag: what a person takes for at once.
  static constexpr std::chrono::milliseconds kLook{50};

  // False where it is not held since `cancel` was set; one that is free is had nevertheless.
  // NULL: nobody can cancel, and it sleeps until it is free.
  [[nodiscard]] bool lock(const volatile std::int32_t* cancel)
      PC_THREAD_SAFETY(try_acquire_capability(true)) {
    MutexLock lock(mutex_);
    while (held_) {
      if (is_set(cancel)) return false;
      if (cancel)
        freed_.wait_until(lock, std::chrono::steady_clock::now() + kLook);
      else
        freed_.wait(lock);
    }
    held_ = true;
    return true;
  }
  [[nodiscard]] bool try_lock() PC_THREAD_SAFETY(try_acquire_capability(true)) {
    const MutexLock lock(mutex_);
    if (held_) return false;
    held_ = true;
    return true;
  }
  void unlock() PC_THREAD_SAFETY(release_capability()) {
    {
      const MutexLock lock(mutex_);
      held_ = false;
    }
    freed_.notify_one();
  }

 private:
  Mutex mutex_;
  Condition freed_;
  bool held_ PC_GUARDED_BY(mutex_) = false;
};

// Lets go of a mutex that its maker holds, when it dies.
class PC_THREAD_SAFETY(scoped_lockable) LongMutexLock {
 public:
  LongMutexLock(LongMutex& mutex, std::adopt_lock_t) PC_THREAD_SAFETY(requires_capability(mutex))
      : mutex_(mutex) {}
  ~LongMutexLock() PC_THREAD_SAFETY(release_capability()) { mutex_.unlock(); }
  LongMutexLock(const LongMutexLock&) = delete;
  LongMutexLock& operator=(const LongMutexLock&) = delete;

 private:
  LongMutex& mutex_;
};

}  // namespace pc
