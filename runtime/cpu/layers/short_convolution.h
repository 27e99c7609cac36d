// The gated short convolution of a recurrent layer (pc_recurrent of runtime/backend/backend.h;
// LFM2, Liquid AI 2025): of what `in` makes of each row, [b, c, x], y = c * conv(b * x), each
// channel by itself. What a timeline's rows read of the tokens before them is its state, and what
// the next ones will read is the state that they leave.
//
// Pure functions. Threads: any; runs its loop on `parallel`.
#pragma once

#include <cstdint>
#include <span>

#include "base/parallel.h"
#include "runtime/backend/backend.h"

namespace pc {

// Rows [first, first + n) of a sweep, all of one timeline and in its order.
struct RecurrentRows {
  std::uint32_t first, n;
  const float* before;  // the states of all layers (runtime/cpu/states/recurrent_states.h)
  float* after;         // where those behind the last row go; not `before`
};

// made: [rows of the sweep, 3 * n_channels], of r.in; the b of each row becomes b * x.
// first_number: of the layer's state in those of the rows. y: [rows of the sweep, n_channels]
void short_convolution(const pc_recurrent& r, std::span<const RecurrentRows> timelines,
                       std::size_t first_number, const Parallel& parallel, float* made, float* y);

}  // namespace pc
