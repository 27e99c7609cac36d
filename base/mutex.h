// A mutex whose use clang checks: members say which mutex guards them, and code that
// touches one without holding it is reported (-Wthread-safety; tests/structure/locks.py runs it).
//
// For GCC it is a std::mutex. Threads: any.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define PC_THREAD_SAFETY(x) __attribute__((x))
#else
#define PC_THREAD_SAFETY(x)
#endif

// On a member: it is read and written only while `mutex` is held.
#define PC_GUARDED_BY(mutex) PC_THREAD_SAFETY(guarded_by(mutex))
// On a function: it is called only while `mutex` is held.
#define PC_REQUIRES(mutex) PC_THREAD_SAFETY(requires_capability(mutex))

namespace pc {

class PC_THREAD_SAFETY(capability("mutex")) Mutex {
 public:
  void lock() PC_THREAD_SAFETY(acquire_capability()) { mutex_.lock(); }
  bool try_lock() PC_THREAD_SAFETY(try_acquire_capability(true)) { return mutex_.try_lock(); }
  void unlock() PC_THREAD_SAFETY(release_capability()) { mutex_.unlock(); }

 private:
  friend class Condition;
  std::mutex mutex_;
};

// Holds a mutex as long as it lives, except between unlock() and lock().
class PC_THREAD_SAFETY(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) PC_THREAD_SAFETY(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  // The caller holds the mutex already.
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
  friend class Condition;
  Mutex& mutex_;
  bool held_ = true;
};

// A condition variable for MutexLock: a waiting thread lets go of the mutex. Allocates nothing.
class Condition {
 public:
  // May return although nobody notified. The lock is held again when it returns.
  void wait(MutexLock& lock) {
    Native native(lock);
    condition_.wait(native.lock);
  }
  // False where `time` has come.
  bool wait_until(MutexLock& lock, std::chrono::steady_clock::time_point time) {
    Native native(lock);
    return condition_.wait_until(native.lock, time) == std::cv_status::no_timeout;
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  struct Native {
    explicit Native(MutexLock& held) : lock(held.mutex_.mutex_, std::adopt_lock) {}
    ~Native() { lock.release(); }
    std::unique_lock<std::mutex> lock;
  };
  std::condition_variable condition_;
};

}  // namespace pc
