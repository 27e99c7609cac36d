// What one rendering of a template may cost. A template is a program from
// somebody's file: without limits `'x' * 10**9` or a macro that calls itself
// would take the machine's memory, its stack or its time.
//
// A step is one node evaluated, one element visited or 64 bytes copied, so a
// second of one core is about 50 million steps. Memory counts what is alive:
// strings, lists and dictionaries give theirs back when they go.
// Threads: one rendering, one budget, one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace pc::jinja {

struct Limits {
  std::uint64_t steps = 50'000'000;                  // about a second
  std::size_t live_bytes = std::size_t{256} << 20;   // a conversation has a few MiB
  std::size_t output_bytes = std::size_t{64} << 20;  // a million tokens are about 4 MiB
  // Nodes that are being evaluated at once, macros included. One takes less than 2 KiB
  // of stack (16 KiB with sanitizers), so the limit stays below 2 MiB of the usual 8.
  int depth = 400;
};

// Values nest at most so deep: printing, comparing and destroying one recurse.
inline constexpr int kMaxValueDepth = 100;

// A list that holds one list twice, and so on, is small in memory and without end when
// printed: what a value would be without sharing is limited too, in elements.
inline constexpr std::uint64_t kMaxValueWeight = std::uint64_t{1} << 24;

class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  const Limits& limits() const { return limits_; }

  Status spend(std::uint64_t steps) {
    if (steps > limits_.steps - spent_) return out_of_steps();
    spent_ += steps;
    return ok();
  }
  // Bytes copied or searched, as steps.
  Status spend_bytes(std::size_t bytes) { return spend(1 + bytes / 64); }

  Status reserve(std::size_t bytes) {
    if (bytes > limits_.live_bytes - live_) return out_of_memory();
    live_ += bytes;
    return ok();
  }
  void release(std::size_t bytes) { live_ -= bytes; }

 private:
  Error out_of_steps() const;
  Error out_of_memory() const;

  Limits limits_;
  std::uint64_t spent_ = 0;
  std::size_t live_ = 0;
};

}  // namespace pc::jinja
