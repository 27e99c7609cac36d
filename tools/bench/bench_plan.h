// What a command line of `promptcache bench` has engines opened with: each model, type of states
// and number of threads, each with each, in llama-bench's order. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/opening/options.h"

namespace pc::cli {

struct BenchSetup {
  std::string model;          // a path
  std::string kv_type;        // "bf16"; empty: the library's default
  std::uint32_t threads = 0;  // 0: likewise
};

// Throws Failure where no model is named, and where keys and values would have unequal types, or
// one that attention states do not have here. Commas stand between models, unless it is one path
// that is there.
std::vector<BenchSetup> bench_setups(const BenchOptions& options);

}  // namespace pc::cli
