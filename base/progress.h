// How far a long piece of work has come, told to whoever waits for it.
//
// A Progress borrows the function that it calls. Threads: see ProgressCount.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/function_ref.h"
#include "base/status.h"

namespace pc {

// Is told how many bytes of the work are done, of how many in all, at the start and every
// few MiB, on the thread that asked for the work. It returns false to stop the work, and
// must not throw. A Progress that refers to nothing is never called.
using Progress = FunctionRef<bool(std::uint64_t done, std::uint64_t total)>;

// The count that the threads of such a piece of work share. Threads: any.
class ProgressCount {
 public:
  ProgressCount(const Progress& progress, std::uint64_t total)
      : progress_(progress), total_(total) {
    add(0, true);
  }

  // `tells`: the caller is the thread that asked for the work, and calls the Progress.
  void add(std::uint64_t bytes, bool tells) {
    const std::uint64_t done = done_.fetch_add(bytes) + bytes;
    if (tells && progress_ && !progress_(done, total_)) stopped_ = true;
  }

  // Has the Progress returned false, which stops the work?
  bool stopped() const { return stopped_; }

 private:
  const Progress progress_;
  const std::uint64_t total_;
  std::atomic<std::uint64_t> done_{0};
  std::atomic<bool> stopped_{false};
};

// Has another thread, or a signal's handler, set this flag, which asks to stop? NULL: there is no
// flag.
inline bool is_set(const volatile std::int32_t* cancel) {
  return cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED) != 0;
}

inline Error cancelled() {
  return error(Code::kCancelled, "cancelled");
}

}  // namespace pc
