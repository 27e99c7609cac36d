// Takes the place of malloc and its family in the program it is linked into, its libraries
// included: allocations are counted, and can be told to fail with ENOMEM. operator new, in all its
// forms, asks them, and throws where they fail. Threads: any; arming and disarming, one.
//
// Under a sanitizer, which takes that place itself, no allocation fails and none is counted
// (kAllocationsFail).
#pragma once

#include <cstddef>
#include <span>

namespace pc::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kAllocationsFail = false;
#else
inline constexpr bool kAllocationsFail = true;
#endif

enum class AllocFault {
  kOnce,   // one allocation fails
  kOnward  // and so do all behind it
};

// From here on the n-th allocation fails, counted from 0, whichever thread asks for it.
void fail_allocation(long n, AllocFault fault);
// From here on none does.
void stop_failing();

// Since fail_allocation, up to stop_failing.
long n_allocations();
bool allocation_failed();
// Who asked for the first one that failed: return addresses, the innermost first.
std::span<void* const> failed_allocation();

// Blocks that were allocated and not freed.
long n_live_allocations();
// While on, remembers who allocates. print_live_allocations writes to a descriptor who asked for
// the blocks that are still live of those, as backtrace_symbols_fd does.
void trace_allocations(bool on);
void print_live_allocations(int fd);

}  // namespace pc::test
