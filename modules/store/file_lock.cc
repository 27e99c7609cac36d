#include "modules/store/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "modules/store/lock_holder.h"

namespace pc {
namespace {

// Signals may end a call; more of them in a row mean that it never gets through.
constexpr int kMostInterrupts = 8;
constexpr int kOpenFlags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

// 0 or an errno. Opens the file where it is not open yet.
int try_lock(int dir_fd, const char* name, UniqueFd* fd) {
  if (!*fd) *fd = UniqueFd(::openat(dir_fd, name, kOpenFlags, 0600));
  return *fd && ::flock(fd->get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
}

}  // namespace

FileLock FileLock::acquire(int dir_fd, const char* name, std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  FileLock lock;
  UniqueFd fd;
  const auto deadline = Clock::now() + timeout;
  // flock has no timeout, so poll: short at first, then long enough to cost
  // nothing beside the encoding that is waited for.
  std::chrono::milliseconds pause(1);
  int failure;
  for (int n_interrupts = 0; (failure = try_lock(dir_fd, name, &fd)) != 0;) {
    if (failure != EWOULDBLOCK && (failure != EINTR || ++n_interrupts > kMostInterrupts))
      return lock;
    if (Clock::now() >= deadline) break;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(16));
  }
  if (failure == EINTR) return lock;
  lock.state_ = failure == 0 ? LockState::kHeld : LockState::kBusy;
  if (failure == 0)
    lock.fd_ = std::move(fd);
  else
    lock.holder_ticks_ = pc::holder_ticks(fd.get());
  return lock;
}

}  // namespace pc
