// The machine that a benchmark runs on: its name, its caches, and how fast it reads memory.
//
// The bandwidth is that of summing an array much larger than caches, by as many threads as the
// engine has, each over a part that it wrote first, in plain loops that the compiler vectorises for
// any CPU of the architecture, in large pages where the kernel gives them; the best of several
// tries, since others use the machine too. The peak of multiplications is not measured: what
// multiplies fastest is an instruction that portable code cannot name.
#pragma once

#include <cstdint>
#include <string>

namespace pc::cli {

struct Machine {
  std::string cpu;                // as the system calls it, or "unknown"
  std::uint64_t cache_bytes = 0;  // of all its last-level caches; 0: not known
  double read_bytes_per_s = 0;
};

// As the system calls it, or "unknown".
std::string cpu_name();

// From the folder in which Linux describes CPUs.
std::uint64_t cache_bytes_of(const std::string& cpus);

// Takes half a second and 512 MiB of memory, or 16 MiB a thread where that is more.
// Precondition: threads >= 1.
Machine measure_machine(std::uint32_t threads);

}  // namespace pc::cli
