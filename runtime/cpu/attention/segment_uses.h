// Who sees which segment in a sweep: the rows of many timelines, grouped by the bytes that
// they see, so that a module that many have attached is read once for all of them (DESIGN's
// "one module, many rows"; docs/adr/0020-timeline-and-executor.md).
//
// A *use* is one timeline's rows and a segment as that timeline has placed it. A *visit* is
// what one task computes at once: neighbouring rows of one tile, each of which uses the same
// bytes, with the same of them hidden, at whatever position. Visits come in the order in which the
// first of their timelines has them. Borrows the segments; reuses its memory from plan to plan.
// Threads: one writes; const methods from any.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "modules/kv.h"

namespace pc {

// Rows [first, first + n) of a sweep, and all segments that they may see.
struct TimelineRows {
  std::uint32_t first, n;
  std::span<const KvSegment> segments;
  // Whose weights are wanted, and what they are added to: a number for each token.
  std::span<const KvSegment> weighted = {};
  std::uint64_t* weights = nullptr;  // pc_step_item::weights
};

class SegmentUses {
 public:
  struct Use {
    std::uint32_t first_row, end_row;  // of the sweep
    const KvSegment* segment;
  };
  struct Visit {
    std::uint32_t first_use, end_use;
    std::uint32_t first_row, end_row;  // of the sweep, inside one tile
    std::uint64_t first_block;         // of this visit, counted over its tile's
  };

  // Timelines come in order of their rows, which leave none out. groups: uses of the same bytes are
  // one visit, also those of several timelines; else each timeline's visits come in its own order.
  void plan(std::span<const TimelineRows> timelines, std::uint32_t tile_rows, bool groups = true);

  std::uint32_t n_tiles() const { return static_cast<std::uint32_t>(tiles_.size()) - 1; }
  std::span<const Visit> visits(std::uint32_t tile) const {
    return std::span(visits_).subspan(tiles_[tile].first_visit,
                                      tiles_[tile + 1].first_visit - tiles_[tile].first_visit);
  }
  std::uint64_t n_blocks(std::uint32_t tile) const { return tiles_[tile].n_blocks; }
  const Use& use(std::uint32_t index) const { return uses_[index]; }
  // The use with those of its rows that the visit has.
  Use use_in(const Visit& visit, std::uint32_t index) const {
    const Use& use = uses_[index];
    return {std::max(use.first_row, visit.first_row), std::min(use.end_row, visit.end_row),
            use.segment};
  }
  std::uint32_t n_uses() const { return static_cast<std::uint32_t>(uses_.size()); }

 private:
  struct Tile {
    std::size_t first_visit;
    std::uint64_t n_blocks;
  };
  void group_uses(std::span<const TimelineRows> timelines, bool groups);
  void visit_tile(std::uint32_t begin, std::uint32_t end);

  std::vector<Use> uses_;              // group after group, in order of rows within one
  std::vector<std::uint32_t> order_;   // scratch
  std::vector<std::uint32_t> firsts_;  // scratch: of each use, the first one of its bytes
  std::vector<Use> sorted_;            // scratch
  std::vector<std::uint32_t> groups_;  // first use of each, and their end
  std::vector<Visit> visits_;
  std::vector<Tile> tiles_;  // [n_tiles + 1]
};

}  // namespace pc
