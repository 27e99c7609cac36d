// The rows of one sweep over the layers, as the CPU computes them: what is asked of them, and where
// their states lie.
//
// A value; borrows the sweep's numbers. Threads: compatible.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/cpu/attention/segment_uses.h"
#include "runtime/cpu/states/timeline.h"

namespace pc {

struct Rows {
  std::span<const std::int32_t> tokens;         // ids
  std::span<const std::int32_t> positions;      // logical
  std::span<const std::int32_t> key_positions;  // at which their keys are rotated
  std::vector<KvSlot> slots;                    // where their keys and values go
  std::vector<TimelineRows> timelines;          // whose rows they are, and what those may see

  std::uint32_t size() const { return static_cast<std::uint32_t>(tokens.size()); }
};

}  // namespace pc
