// A loop over tasks on OpenMP's team, whose threads are the only ones that compute. (Other
// threads read files while a model opens: runtime/model/model_digest.h,
// runtime/cpu/read_ahead.h. And runtime/scheduler/helper_thread.h and scheduler.h have threads
// that start these loops in their callers' place.)
//
// Where the system starts no more threads, OpenMP ends the process; ready() asks before that.
//
// The team persists between loops, and waits for them as long as a loop takes and then asleep; a
// loop ends with its last task, and waits for no thread that got none (docs/adr/0030-waiting.md).
// But the first one of a thread, a loop allocates nothing. Loops do not nest. Threads: a Parallel
// is a value; loops started by different host threads each have a team of their own, which ends
// with the thread. A child of fork() starts its own.
#pragma once

#include <cstdint>
#include <string>

#include "base/function_ref.h"
#include "base/status.h"

namespace pc {

// Threads this process may use: its affinity mask, and the CPU quota of its control
// groups rounded up. At least 1.
std::uint32_t usable_threads();

// How many CPUs the control groups of this process grant it, infinite where there is no quota.
// Both versions, also side by side: cpu.max (v2), cpu.cfs_quota_us over cpu.cfs_period_us
// (v1). The process's group and each of those above it that its mounts show may set one; the
// smallest counts. `root` stands before /proc and /sys: "", or where a test keeps its own.
double cgroup_cpus(const std::string& root);

class Parallel {
 public:
  // 0 = usable_threads().
  explicit Parallel(std::uint32_t n_threads = 0);

  std::uint32_t n_threads() const { return n_threads_; }

  // Does the system let the calling thread have its team? To be asked before its first loop; the
  // answer is remembered once it is yes. kIo with the numbers.
  Status ready() const;

  // While it lives, libraries that use OpenMP themselves take no threads but the calling one. In
  // bodies they never do.
  class Alone {
   public:
    Alone();
    ~Alone();
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;

   private:
    int before_ = 0;
  };

  // body(task, thread) for each task in [0, n_tasks), thread < n_threads(), 0 the caller's.
  // Tasks are handed out one by one, so uneven ones balance. What a body throws comes out here,
  // once those at work are done; the other tasks are left.
  void for_each(std::uint32_t n_tasks,
                FunctionRef<void(std::uint32_t task, std::uint32_t thread)> body) const;

 private:
  std::uint32_t n_threads_;
};

}  // namespace pc
