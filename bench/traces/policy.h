// Which of a simulated store's files go first: what policies are told, and what they answer.
//
// A policy borrows the store of the replay that it takes part in. Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "bench/traces/costs.h"
#include "bench/traces/trace.h"
#include "modules/store/replacement.h"  // CacheEntry

namespace pc::bench {

inline constexpr std::uint32_t kNever = UINT32_MAX;

// A file that the store has or may have, and what is known of it.
struct StoredLink {
  CacheEntry entry;            // as CacheFolder::list() gives it: stamps as fine as the grain
  std::int64_t used_ns = 0;    // last use, to the nanosecond
  std::uint32_t n_uses = 0;    // since it was written, which counts
  std::uint32_t n_behind = 0;  // stored links that go on from it
  std::uint32_t next_use = 0;  // of the future: the request that uses it next, or kNever
  bool is_stored = false;
};

struct SimulatedStore {
  const Trace* trace = nullptr;
  Costs costs;
  std::uint64_t budget_bytes = 0;
  std::int64_t use_grain_ns = 0;
  std::int64_t now_ns = 0;
  std::uint32_t request_tokens = 0;    // of the request that is answered
  std::vector<StoredLink> links;       // [trace->links]
  std::vector<std::uint32_t> numbers;  // of those that are stored, in no order
  std::uint64_t bytes = 0;             // of those

  // Seconds that a byte of this file saves.
  double worth(std::uint32_t link) const {
    const TraceLink& file = trace->links[link];
    return costs.seconds(file) / static_cast<double>(file.bytes);
  }
};

class Policy {
 public:
  virtual ~Policy() = default;
  // A file was found, or has just been written (then n_uses is 1).
  virtual void used(std::uint32_t /*link*/) {}
  virtual void removed(std::uint32_t /*link*/) {}
  // Calls `take` with files in the order in which they go, until it gives false. It removes each
  // but those that are in use.
  virtual void evict(FunctionRef<bool(std::uint32_t link)> take) = 0;
};

struct PolicyKind {
  std::string_view name;
  std::unique_ptr<Policy> (*make)(const SimulatedStore& store);
};

// All that there are; bench/README.md says whose they are.
std::span<const PolicyKind> policy_kinds();
// Null: there is none of this name.
const PolicyKind* find_policy(std::string_view name);

}  // namespace pc::bench
