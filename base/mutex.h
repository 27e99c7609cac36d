// A mutex whose users clang can check: what it guards says so, and who touches that
// without holding it is reported (-Wthread-safety; tests/structure/locks.py runs it).
//
// GCC sees std::mutex and nothing else. Threads: that is what it is for.
#pragma once

#include <mutex>

#if defined(__clang__)
#define PC_THREAD_SAFETY(x) __attribute__((x))
#else
#define PC_THREAD_SAFETY(x)
#endif

// Of a member: read and written only where `mutex` is held.
#define PC_GUARDED_BY(mutex) PC_THREAD_SAFETY(guarded_by(mutex))
// Of a function: called only where it is held.
#define PC_REQUIRES(mutex) PC_THREAD_SAFETY(requires_capability(mutex))

namespace pc {

class PC_THREAD_SAFETY(capability("mutex")) Mutex {
 public:
  void lock() PC_THREAD_SAFETY(acquire_capability()) { mutex_.lock(); }
  bool try_lock() PC_THREAD_SAFETY(try_acquire_capability(true)) { return mutex_.try_lock(); }
  void unlock() PC_THREAD_SAFETY(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

// Holds a mutex while it lives, but between unlock() and lock().
class PC_THREAD_SAFETY(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) PC_THREAD_SAFETY(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  // The caller holds it already.
  MutexLock(Mutex& mutex, std::adopt_lock_t) PC_THREAD_SAFETY(requires_capability(mutex))
      : mutex_(mutex) {}
  ~MutexLock() PC_THREAD_SAFETY(release_capability()) {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() PC_THREAD_SAFETY(acquire_capability()) {
    mutex_.lock();
    held_ = true;
  }
  void unlock() PC_THREAD_SAFETY(release_capability()) {
    held_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

}  // namespace pc
