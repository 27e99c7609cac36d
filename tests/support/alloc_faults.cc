#include "tests/support/alloc_faults.h"

#include <execinfo.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>

// The C library's own, under the names it keeps for that.
extern "C" {
void* __libc_malloc(std::size_t n);
void* __libc_calloc(std::size_t n, std::size_t size);
void* __libc_realloc(void* p, std::size_t n);
void* __libc_memalign(std::size_t alignment, std::size_t n);
void __libc_free(void* p);
}

namespace {

using pc::test::AllocFault;

constexpr int kFrames = 24;
constexpr int kMostPrinted = 8;
// Of strikes() or count() and of malloc itself.
constexpr int kOwnFrames = 2;

struct Trace {
  std::atomic<void*> block{nullptr};
  std::array<void*, kFrames> frames{};
  int n_frames = 0;
};

std::atomic<long> n_live{0}, n_calls{0}, first{LONG_MAX};
std::atomic<bool> armed{false}, onward{false}, failed{false}, tracing{false};
std::array<void*, kFrames> failed_frames;
std::atomic<int> n_failed_frames{0};
std::array<Trace, 1 << 12> traces;  // those beyond are not remembered

// Does this allocation fail? Sets errno.
[[maybe_unused]] bool strikes() {
  if (!armed.load(std::memory_order_relaxed)) return false;
  const long call = n_calls++;
  if (call < first || (call > first && !onward)) return false;
  if (!failed.exchange(true)) n_failed_frames = ::backtrace(failed_frames.data(), kFrames);
  errno = ENOMEM;
  return true;
}

[[maybe_unused]] void* count(void* block) {
  if (!block) return nullptr;
  ++n_live;
  if (!tracing.load(std::memory_order_relaxed)) return block;
  for (Trace& trace : traces) {
    void* none = nullptr;
    if (!trace.block.compare_exchange_strong(none, block)) continue;
    trace.n_frames = ::backtrace(trace.frames.data(), kFrames);
    break;
  }
  return block;
}

[[maybe_unused]] void count_freed(void* block) {
  if (!block) return;
  --n_live;
  if (!tracing.load(std::memory_order_relaxed)) return;
  for (Trace& trace : traces)
    if (trace.block == block) trace.block = nullptr;
}

[[maybe_unused]] void* aligned(std::size_t alignment, std::size_t n) {
  return strikes() ? nullptr : count(__libc_memalign(alignment, n));
}

}  // namespace

namespace pc::test {

void fail_allocation(long n, AllocFault fault) {
  std::array<void*, 1> one;
  ::backtrace(one.data(), 1);  // allocates where it is called first
  onward = fault == AllocFault::kOnward;
  first = n;
  n_calls = 0;
  n_failed_frames = 0;
  failed = false;
  armed = true;
}

void stop_failing() {
  armed = false;
}

long n_allocations() {
  return n_calls;
}
bool allocation_failed() {
  return failed;
}
std::span<void* const> failed_allocation() {
  const auto n = static_cast<std::size_t>(n_failed_frames.load());
  return std::span<void* const>(failed_frames)
      .first(n)
      .subspan(std::min<std::size_t>(kOwnFrames, n));
}
long n_live_allocations() {
  return n_live;
}

void trace_allocations(bool on) {
  if (on)
    for (Trace& trace : traces) trace.block = nullptr;
  tracing = on;
}

void print_live_allocations(int fd) {
  int n_printed = 0;
  for (const Trace& trace : traces) {
    if (!trace.block || ++n_printed > kMostPrinted) continue;
    constexpr char kTitle[] = "still live:\n";
    (void)!::write(fd, kTitle, sizeof kTitle - 1);
    ::backtrace_symbols_fd(trace.frames.data(), trace.n_frames, fd);
  }
}

}  // namespace pc::test

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#define PC_INTERPOSED __attribute__((visibility("default")))

extern "C" {

PC_INTERPOSED void* malloc(std::size_t n) {
  return strikes() ? nullptr : count(__libc_malloc(n));
}
PC_INTERPOSED void* calloc(std::size_t n, std::size_t size) {
  return strikes() ? nullptr : count(__libc_calloc(n, size));
}

// A block that is made smaller may fail, too: the standard does not say that it cannot.
PC_INTERPOSED void* realloc(void* p, std::size_t n) {
  if (!p) return malloc(n);
  if (n == 0) {
    free(p);
    return nullptr;
  }
  if (strikes()) return nullptr;
  count_freed(p);
  void* const moved = __libc_realloc(p, n);
  return count(moved ? moved : p) == moved ? moved : nullptr;
}

PC_INTERPOSED void* memalign(std::size_t alignment, std::size_t n) noexcept {
  return aligned(alignment, n);
}
PC_INTERPOSED void* aligned_alloc(std::size_t alignment, std::size_t n) noexcept {
  return aligned(alignment, n);
}
PC_INTERPOSED void* valloc(std::size_t n) noexcept {
  return aligned(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), n);
}
PC_INTERPOSED int posix_memalign(void** p, std::size_t alignment, std::size_t n) noexcept {
  void* const block = aligned(alignment, n);
  if (!block) return ENOMEM;
  *p = block;
  return 0;
}
PC_INTERPOSED void free(void* p) noexcept {
  count_freed(p);
  __libc_free(p);
}

}  // extern "C"

#endif
