// Mappings whose pages cannot be read: base/mapped_file.h, guard_mappings().
//
// The handler may interrupt anything, so what it reads is a list of ranges that only grows, each of
// atomic numbers; it makes the system call mmap, and calls nothing else.

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>

#include "base/mapped_file.h"
#include "base/mutex.h"

namespace pc {

// [begin, end), in whole pages; free where begin is 0. `version` is odd while both are written, so
// that the handler never takes the one from another mapping than the other. The range that it
// looks for stands still: the thread that it has interrupted reads there.
struct GuardedRange {
  std::atomic<std::uint64_t> version{0};
  std::atomic<std::uintptr_t> begin{0}, end{0};
  std::atomic<int> protection{0};
  std::atomic<bool> lost{false};
};

namespace {

static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);

struct Ranges {
  std::array<GuardedRange, 256> ranges;
  std::atomic<Ranges*> next{nullptr};
};

Ranges g_first;  // the others hang on it, and stay
Mutex g_mutex;   // of who adds and removes
std::atomic<std::uint64_t> g_n_lost{0};
std::uintptr_t g_page = 0;
struct sigaction g_before {};

// The range around an address, and what of it is to be zeros: from its page on.
bool replace_pages(std::uintptr_t address) {
  for (Ranges* some = &g_first; some; some = some->next.load(std::memory_order_acquire)) {
    for (GuardedRange& range : some->ranges) {
      const std::uint64_t version = range.version.load(std::memory_order_acquire);
      const std::uintptr_t begin = range.begin.load(), end = range.end.load();
      if (version % 2 != 0 || begin == 0 || address < begin || address >= end) continue;
      if (range.version.load() != version) continue;
      const std::uintptr_t page = address / g_page * g_page;
      constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
      // Before the zeros are there: whoever has seen them must find the mapping lost.
      if (!range.lost.exchange(true)) g_n_lost.fetch_add(1);
      // By its number, as the library's mmap may be one that does more: the thread sanitizer's
      // takes this for a write to what other threads read. Zeros are what they may read.
      // Each argument as wide as a register: the upper half of a narrower one would be anything.
      return ::syscall(SYS_mmap, page, end - page, long{range.protection.load()}, long{kFlags}, -1L,
                       0L) >= 0;
    }
  }
  return false;
}

// To the handler that was there, or to the end that a process has without one: the instruction is
// tried again, or the signal sent again, without us.
void pass_on(int signal, siginfo_t* info, void* context) {
  if ((g_before.sa_flags & SA_SIGINFO) != 0) return g_before.sa_sigaction(signal, info, context);
  if (g_before.sa_handler != SIG_DFL && g_before.sa_handler != SIG_IGN)
    return g_before.sa_handler(signal);
  if (g_before.sa_handler == SIG_IGN && info->si_code <= 0) return;
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  ::sigaction(signal, &by_default, nullptr);
  if (info->si_code <= 0) ::raise(signal);
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int errno_before = errno;
  const bool from_memory = info->si_code > 0;  // not sent by a process
  if (!from_memory || !replace_pages(reinterpret_cast<std::uintptr_t>(info->si_addr)))
    pass_on(signal, info, context);
  errno = errno_before;
}

void set_range(GuardedRange* range, std::uintptr_t begin, std::uintptr_t end) PC_REQUIRES(g_mutex) {
  range->version.fetch_add(1);
  range->begin.store(begin);
  range->end.store(end);
  range->version.fetch_add(1);
}

GuardedRange& free_range() PC_REQUIRES(g_mutex) {
  for (Ranges* some = &g_first;; some = some->next.load(std::memory_order_relaxed)) {
    for (GuardedRange& range : some->ranges)
      if (range.begin.load(std::memory_order_relaxed) == 0) return range;
    if (!some->next.load(std::memory_order_relaxed))
      some->next.store(new Ranges, std::memory_order_release);
  }
}

std::uintptr_t page_size() {
  return static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

GuardedRange* guard_range(std::span<const std::byte> bytes, int protection) {
  const MutexLock lock(g_mutex);
  GuardedRange& range = free_range();
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t page = page_size();
  range.lost.store(false, std::memory_order_relaxed);
  range.protection.store(protection, std::memory_order_relaxed);
  set_range(&range, begin, (begin + bytes.size() + page - 1) / page * page);
  return &range;
}

void set_protection(GuardedRange* range, int protection) {
  range->protection.store(protection);
}

void release_range(GuardedRange* range) {
  const MutexLock lock(g_mutex);
  set_range(range, 0, 0);
}

bool is_lost(const GuardedRange& range) {
  return range.lost.load(std::memory_order_acquire);
}

std::uint64_t n_lost_mappings() {
  return g_n_lost.load(std::memory_order_acquire);
}

Status guard_mappings() {
  const MutexLock lock(g_mutex);
  if (g_page != 0) return ok();
  struct sigaction ours {};
  ours.sa_sigaction = &on_bus_error;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&ours.sa_mask);
  const std::uintptr_t page = page_size();
  // The handler may run at once, and wants these.
  g_page = page;
  if (::sigaction(SIGBUS, nullptr, &g_before) == 0 && ::sigaction(SIGBUS, &ours, nullptr) == 0)
    return ok();
  g_page = 0;
  return error(Code::kIo,
               std::string("cannot guard mapped files: ") + std::generic_category().message(errno));
}

}  // namespace pc
