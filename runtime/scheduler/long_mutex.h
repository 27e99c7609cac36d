// A mutex that is held for long, for instance while a module is encoded. A thread that waits for it
// sleeps until it is free, or until a flag is set that cancels the wait.
//
// A signal's handler may set the flag, but cannot wake a thread: so the waiting thread looks at the
// flag every kLook. Threads: any; the thread that locked it unlocks it.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>  // std::adopt_lock_t

#include "base/mutex.h"
#include "base/progress.h"  // is_set

namespace pc {

class PC_THREAD_SAFETY(capability("mutex")) LongMutex {
 public:
  // How late a waiting thread may see the flag: short enough to look immediate to a person.
  static constexpr std::chrono::milliseconds kLook{50};

  // False: the mutex was not free and `cancel` is set, so the caller does not hold it. A mutex that
  // is free is locked whatever the flag says. cancel NULL: the wait cannot be cancelled.
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

// Unlocks a mutex that the caller holds already, at the end of its life.
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
