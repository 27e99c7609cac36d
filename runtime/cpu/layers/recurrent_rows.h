// The rows of a sweep as layers that carry states have them: whose they are, which states they go
// on from, and where those behind them go.
//
// Values; borrow all of it. Threads: compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/backend/backend.h"
#include "runtime/backend/state_map.h"
#include "runtime/cpu/layers/made_map.h"

namespace pc {

// Of the model's layers, one that carries a state.
struct RecurrentLayer {
  const pc_recurrent& r;
  std::uint32_t index;
  std::size_t first_number;  // where its state begins among those of all layers
};

// Rows [first, first + n) of a sweep, all of one timeline and in its order.
struct RecurrentRows {
  std::uint32_t first, n;
  const float* before;  // the states of all layers (runtime/cpu/states/recurrent_states.h)
  float* after;  // behind the last row; `before` itself of rows behind others of the timeline
  std::span<const AttachedMap> maps = {};  // in order, between `before` and the first row
  MadeMap* made = nullptr;                 // of a run that they are tokens of, from `made_first` on
  std::uint32_t made_first = 0;

  bool goes_on() const { return before == after; }
  bool begins_map() const { return made && made_first == 0; }
  bool ends_map() const { return made && made_first + n == made->n_tokens(); }
};

}  // namespace pc
