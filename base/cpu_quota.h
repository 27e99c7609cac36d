// How many CPUs the control groups of this process grant it.
//
// Both versions, also side by side: cpu.max (v2), cpu.cfs_quota_us over
// cpu.cfs_period_us (v1). The process's group and each of those above it that
// its mounts show may set one; the smallest counts. Threads: any.
#pragma once

#include <string>

namespace pc {

// Infinite where there is no quota. `root` stands before /proc and /sys: "", or
// where a test keeps its own.
double cgroup_cpus(const std::string& root);

}  // namespace pc
