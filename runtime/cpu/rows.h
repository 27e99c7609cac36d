// The rows of one sweep over the layers: tokens of one timeline or of many, computed at once.
//
// A value. Threads: compatible.
#pragma once

#include <cstdint>
#include <vector>

#include "modules/kv.h"
#include "runtime/cpu/segment_uses.h"
#include "runtime/cpu/states/timeline.h"

namespace pc {

struct Rows {
  std::vector<std::int32_t> tokens;         // ids
  std::vector<std::int32_t> positions;      // logical
  std::vector<std::int32_t> key_positions;  // at which their keys are rotated
  std::vector<KvSlot> slots;                // where their keys and values go
  std::vector<TimelineRows> timelines;      // whose rows they are, and what those may see

  std::uint32_t size() const { return static_cast<std::uint32_t>(tokens.size()); }
  void reserve(std::uint32_t n) {
    tokens.reserve(n);
    positions.reserve(n);
    key_positions.reserve(n);
    slots.reserve(n);
  }
  void clear() {
    tokens.clear();
    positions.clear();
    key_positions.clear();
    slots.clear();
    timelines.clear();
  }
};

}  // namespace pc
