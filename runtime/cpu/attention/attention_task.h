// What one task of attention works with, between the files that Attention is made of.
//
// Values. Threads: one.
#pragma once

#include <cstdint>

#include "modules/kv.h"
#include "runtime/cpu/attention/segment_uses.h"
#include "runtime/cpu/states/key_centres.h"  // first_centre

namespace pc {

// Of the segment's block 0, in KeyCentres.
inline std::uint32_t column_of(const KvSegment& segment) {
  return first_centre(segment.key_position - static_cast<std::int32_t>(segment.begin));
}

// Whose queries a thread's scratch begins with: rows that are all moved alike.
struct HeldQueries {
  std::uint32_t first_row = 0, end_row = 0;
  std::int32_t move = 0;
};

// A tile of rows of one kv head, and one thread's scratch.
struct AttentionTask {
  std::uint32_t layer, kv_head, share;
  const float* q;  // the whole sweep's

  // Of the visit at hand, by its rows and their group of heads.
  std::uint32_t first_row;  // of the sweep
  float* queries;           // [tile, group, head_dim] rotated
  float* sways;             // the same, of q8; null where the layer has no centres
  std::uint32_t *begin, *end;
  float *slope, *origin;  // null without ALiBi

  HeldQueries held = {};
  bool holds(const SegmentUses::Use& use, std::int32_t move) const {
    return held.first_row == use.first_row && held.end_row == use.end_row && held.move == move;
  }
};

}  // namespace pc
