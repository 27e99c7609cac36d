// A trace against a simulated store: what is found, computed, written and evicted.
//
// The store does what modules/store/eviction.cc does: a use is written down once a grain, what a
// request has found or written is in use until it is over, a file that does not fit makes room,
// some more than it needs where there are many files. Requests are taken one after the other, as if
// each took no time. Deterministic. Threads: any, a replay each.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "bench/traces/costs.h"
#include "bench/traces/policy.h"
#include "bench/traces/trace.h"
#include "modules/module_store.h"  // kModuleTenant

namespace pc::bench {

struct Outcome {
  std::uint64_t tokens = 0;          // of all requests
  std::uint64_t found_tokens = 0;    // in links that the store had
  std::uint64_t leading_tokens = 0;  // ... before the first that it had not
  double full_s = 0;                 // to compute all tokens
  double computed_s = 0;             // to compute those that were not found
  double computed_behind_s = 0;      // to compute all behind the leading ones
  std::uint64_t written_bytes = 0;
  std::uint64_t removed_files = 0;
  std::uint64_t refused_files = 0;  // what is in use left them no room
  std::uint64_t listings = 0;       // how often the store was listed to make room
  std::uint64_t holes = 0;          // links that were missing in front of one that was found
};

struct ReplayOptions {
  std::uint64_t budget_bytes = 0;
  std::int64_t use_grain_ns = std::chrono::nanoseconds(kModuleTenant.use_grain).count();
  // Where there are so many files, this part of the budget is left free, as
  // modules/store/eviction.cc does.
  std::size_t many_files = 1024;
  std::uint64_t many_files_rest = 64;
};

Outcome replay(const Trace& trace, const Costs& costs, const PolicyKind& policy,
               const ReplayOptions& options);

}  // namespace pc::bench
