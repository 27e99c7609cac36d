// An advisory lock between processes and threads: flock on a file that exists
// for nothing else.
//
// The system frees it when its holder dies, however it dies, so no lock is
// ever stale. Each acquisition opens the file anew, so threads of one process
// exclude each other as processes do.
// Move-only owner. Threads: one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "modules/store/unique_fd.h"

namespace pc {

enum class LockState {
  kHeld,
  kBusy,      // somebody else holds it
  kUnusable,  // nobody can hold it: the file cannot be opened, or this file system has no locks
};

class FileLock {
 public:
  FileLock() = default;  // kUnusable

  // Waits asleep, up to `timeout`, for the lock on `name` (created if missing) in
  // an open directory. What waiting cannot mend is kUnusable at once: another
  // owner's file, too many open files, a file system without locks or without room.
  static FileLock acquire(int dir_fd, const char* name, std::chrono::milliseconds timeout);

  LockState state() const { return state_; }
  bool held() const { return static_cast<bool>(fd_); }

  // kBusy: processor time of the holder, in ticks, where it can be seen
  // (modules/store/lock_holder.h). While it grows, the holder goes on.
  std::optional<std::uint64_t> holder_ticks() const { return holder_ticks_; }

 private:
  LockState state_ = LockState::kUnusable;
  UniqueFd fd_;  // open where kHeld
  std::optional<std::uint64_t> holder_ticks_;
};

}  // namespace pc
