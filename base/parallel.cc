#include "base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <exception>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace pc {
namespace {

// The size of the calling thread's team: OpenMP ends the surplus threads of a larger one.
thread_local std::uint32_t team_size = 1;

// What the first body threw, for the thread that began the loop: the team's threads have nobody
// who would catch it.
class FirstThrown {
 public:
  void take() {
    if (!any_.exchange(true)) thrown_ = std::current_exception();
  }
  bool any() const { return any_.load(std::memory_order_relaxed); }
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  std::atomic<bool> any_{false};
  std::exception_ptr thrown_;
};

// The number of CPUs in the affinity mask, at least 1. On machines of more than 1024 CPUs
// the mask is longer than the C library's cpu_set_t.
int affinity_cpus() {
  for (int room = CPU_SETSIZE; room <= 1 << 20; room *= 4) {
    std::vector<cpu_set_t> set(static_cast<std::size_t>(room / CPU_SETSIZE));
    const std::size_t bytes = set.size() * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, set.data()) == 0)
      return std::max(1, CPU_COUNT_S(bytes, set.data()));
    if (errno != EINVAL) return 1;
  }
  return 1;
}

}  // namespace

std::uint32_t usable_threads() {
  const double cpus = std::min<double>(affinity_cpus(), cgroup_cpus(""));
  return std::max(1u, static_cast<std::uint32_t>(std::ceil(cpus)));
}

Parallel::Parallel(std::uint32_t n_threads) : n_threads_(n_threads ? n_threads : usable_threads()) {
#ifndef _OPENMP
  n_threads_ = 1;
#endif
}

// As many threads as the team will have live at once here, and end; what OpenMP starts a moment
// later fails only where others take the system's last ones meanwhile.
Status Parallel::ready() const {
  if (n_threads_ <= team_size) return ok();
  std::latch all(1);
  std::vector<std::thread> team;
  std::string why;
  try {
    team.reserve(n_threads_ - 1);
    while (team.size() + 1 < n_threads_) team.emplace_back([&all] { all.wait(); });
  } catch (const std::exception& e) {
    why = e.what();
  }
  all.count_down();
  for (std::thread& thread : team) thread.join();
  if (team.size() + 1 < n_threads_)
    return error(Code::kIo, "the system lets this process have " + std::to_string(team.size() + 1) +
                                " of the " + std::to_string(n_threads_) +
                                " threads that are to compute (" + why + "); ask for fewer");
  team_size = n_threads_;
  return ok();
}

Parallel::Scope::Scope([[maybe_unused]] const Parallel& parallel) {
#ifdef _OPENMP
  before_ = omp_get_max_threads();
  omp_set_num_threads(static_cast<int>(parallel.n_threads()));
#endif
}

Parallel::Scope::~Scope() {
#ifdef _OPENMP
  omp_set_num_threads(before_);
#endif
}

void Parallel::for_each(std::uint32_t n_tasks,
                        FunctionRef<void(std::uint32_t, std::uint32_t)> body) const {
#ifdef _OPENMP
  if (n_threads_ > 1 && n_tasks > 1) {
    team_size = n_threads_;
    FirstThrown thrown;
#pragma omp parallel for schedule(dynamic, 1) num_threads(static_cast <int>(n_threads_))
    for (std::uint32_t task = 0; task < n_tasks; ++task) {
      if (thrown.any()) continue;
      try {
        body(task, static_cast<std::uint32_t>(omp_get_thread_num()));
      } catch (...) {
        thrown.take();
      }
    }
    thrown.rethrow();
    return;
  }
#endif
  for (std::uint32_t task = 0; task < n_tasks; ++task) body(task, 0);
}

}  // namespace pc
