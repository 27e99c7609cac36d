// Maps of states applied to a layer, head by head (runtime/backend/state_map.h).
//
// Pure functions. Threads: any.
#pragma once

#include <cstdint>

#include "runtime/cpu/layers/recurrent_rows.h"
#include "simd/kernels.h"

namespace pc {

// The inputs that a convolution has still to read in front of these rows: those of `before` where
// nothing is attached between, else of what is, in `after`. [n_taps - 1, n_channels]
const float* inputs_before(const RecurrentLayer& layer, const RecurrentRows& rows);

// The same of the state of a head. [state_numbers(d_k, d_v)]
const float* state_before(const RecurrentLayer& layer, const RecurrentRows& rows,
                          std::uint32_t head, const simd::Kernels& kernels, bool alike);

// The number of the key that a head reads and writes by.
inline std::uint32_t key_head_of(const pc_recurrent& r, std::uint32_t head) {
  return r.keys_by_turns ? head % r.n_key_heads : head / (r.n_heads / r.n_key_heads);
}

// Of the layer's numbers, where the state of a head begins.
inline std::size_t head_number(const RecurrentLayer& layer, std::uint32_t head) {
  return layer.first_number + kept_inputs(layer.r) +
         head * simd::state_numbers(layer.r.d_k, layer.r.d_v);
}

}  // namespace pc
