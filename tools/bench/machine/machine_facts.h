// What the system says of the machine, so that two reports can be told apart: cores, sockets, its
// kernel, the governor of its clocks, memory, large pages, and how busy it is. What it does not say
// is 0 or "unknown". Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pc::cli {

struct MachineFacts {
  std::uint32_t n_cpus = 0;     // that are on, with those that share a core
  std::uint32_t n_cores = 0;    // of those CPUs
  std::uint32_t n_sockets = 0;  // likewise
  std::string kernel = "unknown", governor = "unknown";
  std::uint64_t memory_bytes = 0;
  std::string huge_pages = "unknown";  // "always", "madvise" or "never": transparent ones
  std::uint64_t n_huge_pages = 0;      // that are set aside
};

// root: "/", or a folder that has proc/ and sys/ as Linux does.
MachineFacts machine_facts(const std::string& root);

// Threads that ran or waited to run in the last minute, on average.
std::optional<double> load_average(const std::string& root);

}  // namespace pc::cli
