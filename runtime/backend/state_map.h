// What a run of tokens makes of the states of recurrent layers, as numbers: of each head S becomes
// P S + B, and the inputs that a convolution has still to read are the run's own
// (docs/adr/0057-recurrent-layers.md).
//
// Layer after layer:
//   inputs   [n_taps - 1, n_channels] behind the run, oldest first; where it has fewer tokens, the
//            last n of them are its own
// and where the layer has heads, of a short run what its tokens read and write, so that whoever
// wants the map goes through them once more:
//   keys     [n, n_key_heads * d_k]
//   values   [n, n_heads * d_v]
//   decays   [n, n_heads] of the state, before the token
//   writes   [n, n_heads]
// of a longer one
//   factors  [n_heads, d_k, d_k] P^T; of Mamba-2 [n_heads], since P is a number there
//   states   [n_heads] B, each as simd/kernels.h lays a state out
//
// Values. Threads: compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"  // PC_EXPECT
#include "runtime/backend/layer_parts.h"

namespace pc {

// Where the numbers of one layer begin.
struct StateMapPart {
  std::size_t inputs = 0;
  std::size_t keys = 0, values = 0, decays = 0, writes = 0;  // where it is short
  std::size_t factors = 0, states = 0;                       // where it is not
};

class StateMapShape {
 public:
  // Of a run of n_tokens. Precondition: n_tokens > 0.
  StateMapShape(const pc_model_desc& desc, std::uint32_t n_tokens) : n_tokens_(n_tokens) {
    PC_EXPECT(n_tokens > 0);
    for (const pc_layer& layer : std::span(desc.layers, desc.n_layers)) add(layer.recurrent);
  }

  std::uint32_t n_tokens() const { return n_tokens_; }
  std::size_t n_numbers() const { return n_numbers_; }  // 0: no layer carries a state
  const StateMapPart& part(std::uint32_t layer) const { return parts_[layer]; }

 private:
  void add(const pc_recurrent& r);

  std::uint32_t n_tokens_;
  std::size_t n_numbers_ = 0;
  std::vector<StateMapPart> parts_;  // [n_layers]
};

// Numbers of a module as they are attached: its map of that shape, or, where there is no shape, the
// states behind its tokens whatever was before them. Borrowed.
struct AttachedMap {
  const float* numbers;
  const StateMapShape* shape;
};

// Is a run of n_tokens short for this layer? Half of d_k tokens: to go through them once more takes
// as many operations as a product with P, and they are half of its numbers, or fewer.
inline bool is_short_run(const pc_recurrent& r, std::uint32_t n_tokens) {
  return n_tokens <= r.d_k / 2;
}

// Of the factors of one head.
inline std::size_t factor_numbers(const pc_recurrent& r) {
  return r.kind == PC_RECURRENCE_MAMBA2 ? 1 : std::size_t{r.d_k} * r.d_k;
}

// Of a run that is short for no layer; the most of all runs, however long.
inline std::size_t long_map_numbers(const pc_model_desc& desc) {
  const auto d_k = [](const pc_layer& layer) { return layer.recurrent.d_k; };
  return StateMapShape(desc, largest_of_layers(desc, d_k) + 1).n_numbers();
}

inline void StateMapShape::add(const pc_recurrent& r) {
  const auto take = [this](std::size_t n) {
    n_numbers_ += n;
    return n_numbers_ - n;
  };
  StateMapPart& part = parts_.emplace_back();
  part.inputs = take(kept_inputs(r));
  if (r.n_heads == 0) return;
  const std::size_t n = n_tokens_;
  if (is_short_run(r, n_tokens_)) {
    part.keys = take(n * r.n_key_heads * r.d_k);
    part.values = take(n * r.n_heads * r.d_v);
    part.decays = take(n * r.n_heads);
    part.writes = take(n * r.n_heads);
  } else {
    part.factors = take(r.n_heads * factor_numbers(r));
    part.states = take(r.n_heads * simd::state_numbers(r.d_k, r.d_v));
  }
}

}  // namespace pc
