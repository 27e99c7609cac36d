// S3-FIFO (Yang et al., SOSP 2023), by bytes: a small queue that new files pass through, a main one
// for those that were found meanwhile, and a memory of keys that left the small one.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "bench/traces/policy.h"

namespace pc::bench {

class S3Fifo final : public Policy {
 public:
  explicit S3Fifo(const SimulatedStore& store);
  void used(std::uint32_t link) override;
  void evict(FunctionRef<bool(std::uint32_t link)> take) override;

 private:
  enum class Place : std::uint8_t { kNone, kSmall, kMain, kGhost };
  using Queue = std::deque<std::uint32_t>;

  std::uint64_t bytes(std::uint32_t link) const { return store_.trace->links[link].bytes; }
  void enter(std::uint32_t link, Place place);
  void leave_small(std::uint32_t link);
  void leave_main(std::uint32_t link);
  void remember(std::uint32_t link);
  bool evicts_small() const;

  const SimulatedStore& store_;
  std::vector<std::uint8_t> n_found_;  // [links] at most kMostFound
  std::vector<Place> place_;           // [links]
  Queue small_, main_, ghosts_;
  std::uint64_t small_bytes_ = 0, ghost_bytes_ = 0;
};

}  // namespace pc::bench
