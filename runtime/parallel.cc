#include "runtime/parallel.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace pc {
namespace {

// cgroup v2: "max 100000" or "<quota> <period>", in microseconds.
double cgroup_cpus() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0.0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0.0) return HUGE_VAL;
  char* end = nullptr;
  const double value = std::strtod(quota.c_str(), &end);
  return end != quota.c_str() && value > 0.0 ? value / period : HUGE_VAL;
}

}  // namespace

std::uint32_t usable_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cpus = 1;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) cpus = std::max(1, CPU_COUNT(&set));
  const double limit = std::ceil(std::min<double>(cpus, cgroup_cpus()));
  return std::max(1u, static_cast<std::uint32_t>(limit));
}

Parallel::Parallel(std::uint32_t n_threads) : n_threads_(n_threads ? n_threads : usable_threads()) {
#ifndef _OPENMP
  n_threads_ = 1;
#endif
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

void Parallel::run(std::uint32_t n_tasks, Function function, const void* context) const {
#ifdef _OPENMP
  if (n_threads_ > 1 && n_tasks > 1) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(static_cast <int>(n_threads_))
    for (std::uint32_t task = 0; task < n_tasks; ++task) {
      function(context, task, static_cast<std::uint32_t>(omp_get_thread_num()));
    }
    return;
  }
#endif
  for (std::uint32_t task = 0; task < n_tasks; ++task) function(context, task, 0);
}

}  // namespace pc
