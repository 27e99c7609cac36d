#include "runtime/cpu/layers/state_maps.h"

#include <algorithm>

namespace pc {
namespace {

// A run of fewer tokens than a convolution reads leaves some of the inputs before it.
void map_inputs(const RecurrentLayer& layer, const AttachedMap& map, const float* before,
                float* after) {
  const pc_recurrent& r = layer.r;
  const std::size_t all = kept_inputs(r);
  const float* const own =
      map.numbers + (map.shape ? map.shape->part(layer.index).inputs : layer.first_number);
  const std::size_t n_old = map.shape && map.shape->n_tokens() < r.n_taps - 1
                                ? all - std::size_t{map.shape->n_tokens()} * r.n_channels
                                : 0;
  std::copy_n(before + all - n_old, n_old, after);  // forwards: they may be the same
  std::copy_n(own + n_old, all - n_old, after + n_old);
}

// The tokens of a short run, once more.
void recompute(const pc_recurrent& r, const StateMapPart& part, const AttachedMap& map,
               std::uint32_t head, const simd::Kernels& kernels, bool alike, const float* before,
               float* after) {
  const std::size_t keys = std::size_t{r.n_key_heads} * r.d_k;
  const std::size_t values = std::size_t{r.n_heads} * r.d_v;
  kernels.recur({.q = nullptr,
                 .k = map.numbers + part.keys + std::size_t{key_head_of(r, head)} * r.d_k,
                 .v = map.numbers + part.values + std::size_t{head} * r.d_v,
                 .y = nullptr,
                 .decay = map.numbers + part.decays + head,
                 .write = map.numbers + part.writes + head,
                 .key_stride = keys,
                 .value_stride = values,
                 .y_stride = 0,
                 .scalar_stride = r.n_heads,
                 .n = map.shape->n_tokens(),
                 .d_k = r.d_k,
                 .d_v = r.d_v,
                 .before = before,
                 .after = after,
                 .corrects = r.kind == PC_RECURRENCE_GATED_DELTA,
                 .alike = alike});
}

void map_state(const RecurrentLayer& layer, const AttachedMap& map, std::uint32_t head,
               const simd::Kernels& kernels, bool alike, const float* before, float* after) {
  const pc_recurrent& r = layer.r;
  const std::size_t n = simd::state_numbers(r.d_k, r.d_v);
  if (!map.shape) {
    std::copy_n(map.numbers + head_number(layer, head), n, after);
    return;
  }
  const StateMapPart& part = map.shape->part(layer.index);
  if (is_short_run(r, map.shape->n_tokens()))
    return recompute(r, part, map, head, kernels, alike, before, after);
  const float* const factors = map.numbers + part.factors + head * factor_numbers(r);
  const float* const states = map.numbers + part.states + head * n;
  if (r.kind == PC_RECURRENCE_MAMBA2) {
    for (std::size_t i = 0; i < n; ++i) after[i] = factors[0] * before[i] + states[i];
  } else {
    kernels.map_state(factors, states, r.d_k, r.d_v, before, after);
  }
}

}  // namespace

const float* inputs_before(const RecurrentLayer& layer, const RecurrentRows& rows) {
  const float* before = rows.before + layer.first_number;
  float* const after = rows.after + layer.first_number;
  for (const AttachedMap& map : rows.maps) {
    map_inputs(layer, map, before, after);
    before = after;
  }
  return before;
}

const float* state_before(const RecurrentLayer& layer, const RecurrentRows& rows,
                          std::uint32_t head, const simd::Kernels& kernels, bool alike) {
  const std::size_t number = head_number(layer, head);
  const float* before = rows.before + number;
  float* const after = rows.after + number;
  for (const AttachedMap& map : rows.maps) {
    map_state(layer, map, head, kernels, alike, before, after);
    before = after;
  }
  return before;
}

}  // namespace pc
