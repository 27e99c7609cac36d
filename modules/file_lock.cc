#include "modules/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <thread>

namespace pc {

FileLock FileLock::acquire(int dir_fd, const char* name, std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  UniqueFd fd(::openat(dir_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!fd) return {};
  const auto deadline = Clock::now() + timeout;
  // flock has no timeout, so poll: short at first, then long enough to cost
  // nothing beside the encoding that is waited for.
  std::chrono::milliseconds pause(1);
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return {};
    if (Clock::now() >= deadline) return {};
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(16));
  }
  return FileLock(std::move(fd));
}

}  // namespace pc
