// The rows of one sweep over the layers, as the CPU computes them: what is asked of them, and where
// their states lie.
//
// A value; borrows the sweep's numbers. Threads: compatible.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/cpu/attention/segment_uses.h"
#include "runtime/cpu/layers/recurrent_rows.h"
#include "runtime/cpu/states/timeline.h"

namespace pc {

struct Rows {
  std::span<const std::int32_t> tokens;         // ids
  std::span<const std::int32_t> positions;      // logical
  std::span<const std::int32_t> key_positions;  // at which their keys are rotated
  std::vector<KvSlot> slots;                    // where their keys and values go
  std::vector<TimelineRows> timelines;          // whose rows they are, and what those may see
  std::span<const RecurrentRows> recurrent;     // the same, where the model has such layers

  std::uint32_t size() const { return static_cast<std::uint32_t>(tokens.size()); }
};

// Those of a sweep's rows that somebody reads, as rows of their own. Neither copied nor moved: rows
// views the numbers beside it.
struct ReadRows {
  ReadRows() = default;
  ReadRows(const ReadRows&) = delete;
  ReadRows& operator=(const ReadRows&) = delete;

  std::vector<std::uint32_t> numbers;  // of the rows in the sweep, rising
  std::vector<std::int32_t> tokens, positions;
  Rows rows;

  void clear() {
    numbers.clear();
    tokens.clear();
    positions.clear();
    rows.timelines.clear();
  }
  // Rows [first, first + n) of the sweep, all of them rows of one of its timelines.
  void add(const Rows& sweep, std::uint32_t first, std::uint32_t n, const TimelineRows& timeline) {
    TimelineRows& own = rows.timelines.emplace_back(timeline);
    own.first = static_cast<std::uint32_t>(numbers.size());
    own.n = n;
    for (std::uint32_t i = first; i < first + n; ++i) {
      numbers.push_back(i);
      tokens.push_back(sweep.tokens[i]);
      positions.push_back(sweep.positions[i]);
    }
    rows.tokens = tokens;
    rows.positions = rows.key_positions = positions;
  }
};

}  // namespace pc
