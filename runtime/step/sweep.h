// The rows of one sweep over the layers: tokens of an item of a step or of several, computed at
// once.
//
// A value. Threads: compatible.
//
//   1. Parts come in the items' order and leave no row out; an item has one at most.
//   2. All items of a sweep ask for the same n_layers.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/backend/backend.h"

namespace pc {

// Tokens of an item: rows [first, first + n).
struct SweepPart {
  pc_step_item* item;
  std::uint32_t first, n;
  std::uint64_t begin;           // the number of its first token among the item's
  bool ends;                     // its last token is the item's last
  bool keeps_recurrent = false;  // pc_run::keeps_recurrent of the run that its last token ends
};

struct Sweep {
  std::vector<std::int32_t> tokens;         // [n_rows] ids
  std::vector<std::int32_t> positions;      // [n_rows] logical
  std::vector<std::int32_t> key_positions;  // [n_rows] at which their keys are rotated
  std::vector<SweepPart> parts;

  std::uint32_t n_rows() const { return static_cast<std::uint32_t>(tokens.size()); }
  bool empty() const { return parts.empty(); }
  // pc_step_item::n_layers of all of them. Precondition: !empty().
  std::uint32_t n_layers() const { return parts.front().item->n_layers; }
  bool ends_with(const pc_step_item& item) const { return !empty() && parts.back().item == &item; }
  void clear() {
    tokens.clear();
    positions.clear();
    key_positions.clear();
    parts.clear();
  }
};

}  // namespace pc
