// An advisory lock between processes and threads: flock on a file that exists
// for nothing else.
//
// The system frees it when its holder dies, however it dies, so no lock is
// ever stale. Each acquisition opens the file anew, so threads of one process
// exclude each other as processes do.
// Move-only owner. Threads: one thread at a time.
#pragma once

#include <chrono>
#include <utility>

#include "modules/unique_fd.h"

namespace pc {

class FileLock {
 public:
  FileLock() = default;

  // Waits up to `timeout` for the lock on `name` (created if missing) in an
  // open directory. Not held() on a timeout, and where files cannot be locked.
  static FileLock acquire(int dir_fd, const char* name, std::chrono::milliseconds timeout);

  bool held() const { return static_cast<bool>(fd_); }

 private:
  explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace pc
