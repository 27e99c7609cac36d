// A loop over tasks on OpenMP's team, whose threads are the only ones that compute. (Other
// threads read files while a model opens: runtime/model/model_digest.h,
// runtime/cpu/read_ahead.h. And runtime/scheduler/helper_thread.h and scheduler.h have threads
// that start these loops in their callers' place.)
//
// Where the system starts no more threads, OpenMP ends the process; ready() asks before that.
//
// The team lives on between loops. For about as long as a loop takes its threads wait awake for the
// next one, and then asleep; a loop ends with its last task, and waits for no thread that got none
// (docs/adr/0030-waiting.md). A loop allocates nothing, except a host thread's first one, which
// makes the team. Loops do not nest. Threads: a Parallel is a value; loops started by different
// host threads each have a team of their own, which ends with the thread. A child of fork() starts
// its own.
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

  // While an Alone lives, libraries that use OpenMP themselves compute on the calling thread alone.
  // Inside of the body of a loop they always do.
  class Alone {
   public:
    Alone();
    ~Alone();
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;

   private:
    int before_ = 0;
  };

  // Calls body(task, thread) for each task in [0, n_tasks); thread < n_threads(), and 0 is the
  // caller's. Tasks are handed out one by one, so that uneven ones balance. An exception of a body
  // is thrown here once the tasks under way are done; tasks not begun are left out.
  void for_each(std::uint32_t n_tasks,
                FunctionRef<void(std::uint32_t task, std::uint32_t thread)> body) const;

 private:
  std::uint32_t n_threads_;
};

}  // namespace pc
