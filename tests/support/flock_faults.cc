#include "tests/support/flock_faults.h"

#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace {

std::atomic<int> failure{0};
std::atomic<int> n_attempts{0};

}  // namespace

namespace pc::test {
void fail_flock(int errno_value) {
  failure = errno_value;
}
int flock_attempts() {
  return n_attempts;
}
}  // namespace pc::test

extern "C" int flock(int fd, int operation) noexcept {
  if ((operation & LOCK_EX) != 0) {
    ++n_attempts;
    if (failure != 0) {
      errno = failure;
      return -1;
    }
  }
  return static_cast<int>(::syscall(SYS_flock, fd, operation));
}
