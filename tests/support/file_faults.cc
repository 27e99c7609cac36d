#include "tests/support/file_faults.h"

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {

struct Fault {
  std::atomic<int> errno_value{0}, n_left{0};

  // Does this call fail? Sets errno.
  bool strikes() {
    if (n_left == 0) return false;
    if (n_left > 0) --n_left;
    errno = errno_value;
    return true;
  }
  ssize_t result() const { return errno_value == 0 ? 0 : -1; }
};

Fault reads, writes;
std::atomic<int> most{0}, n_calls{0};

std::size_t shortened(std::size_t n) {
  return most > 0 ? std::min(n, static_cast<std::size_t>(most.load())) : n;
}

}  // namespace

namespace pc::test {
void fail_reads(int errno_value, int n) {
  reads.errno_value = errno_value;
  reads.n_left = n;
}
void fail_writes(int errno_value, int n) {
  writes.errno_value = errno_value;
  writes.n_left = n;
}
void shorten_calls(int n_bytes) {
  most = n_bytes;
}
int n_file_calls() {
  return n_calls;
}
}  // namespace pc::test

extern "C" ssize_t pread(int fd, void* to, std::size_t n, off_t at) {
  ++n_calls;
  if (reads.strikes()) return reads.result();
  return ::syscall(SYS_pread64, fd, to, shortened(n), at);
}

extern "C" ssize_t pwrite(int fd, const void* from, std::size_t n, off_t at) {
  ++n_calls;
  if (writes.strikes()) return writes.result();
  return ::syscall(SYS_pwrite64, fd, from, shortened(n), at);
}
