// The map of a run on its way: what its tokens so far make of the states before its first one
// (runtime/backend/state_map.h), through as many sweeps as it takes.
//
// A sweep reads one set of numbers and writes another, so that it may be computed again. Borrows
// the numbers that it makes. Threads: one at a time; each head of a layer by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "runtime/backend/layer_parts.h"
#include "runtime/backend/state_map.h"

namespace pc {

class MadeMap {
 public:
  // numbers: [StateMapShape::n_numbers] of a run of n_tokens. Throws std::bad_alloc.
  MadeMap(const pc_model_desc& desc, std::uint32_t n_tokens, float* numbers)
      : shape_(desc, n_tokens), numbers_(numbers) {
    std::size_t n = 0;
    for (const pc_layer& layer : std::span(desc.layers, desc.n_layers)) {
      const pc_recurrent& r = layer.recurrent;
      firsts_.push_back(n);
      if (r.n_heads != 0 && !is_short_run(r, n_tokens)) n += r.n_heads * running_numbers(r);
    }
    before_ = AlignedBuffer<float>(n);
    after_ = AlignedBuffer<float>(n);
  }

  std::uint32_t n_tokens() const { return shape_.n_tokens(); }
  const StateMapPart& part(std::uint32_t layer) const { return shape_.part(layer); }
  const float* numbers() const { return numbers_; }
  float* numbers() { return numbers_; }

  // Tokens of the run that are rows of sweeps, and n more.
  std::uint32_t n_taken() const { return n_taken_; }
  void take(std::uint32_t n) { n_taken_ += n; }
  // Of these, what sweeps have computed.
  std::uint32_t n_done() const { return n_done_; }
  void commit(std::uint32_t n) {
    n_done_ += n;
    std::swap(before_, after_);
  }

  // Of a head, where the run is not short: P so far as a state [d_k, d_k], of Mamba-2 the bytes of
  // a double, so that it does not matter how a run is cut, and B so far.
  struct Running {
    float *factors, *states;
  };
  // Behind the tokens before the rows at hand, and behind these.
  Running before(const pc_recurrent& r, std::uint32_t layer, std::uint32_t head) {
    return running(before_.data(), r, layer, head);
  }
  Running after(const pc_recurrent& r, std::uint32_t layer, std::uint32_t head) {
    return running(after_.data(), r, layer, head);
  }

 private:
  static std::size_t running_factors(const pc_recurrent& r) {
    return r.kind == PC_RECURRENCE_MAMBA2 ? sizeof(double) / sizeof(float)
                                          : simd::state_numbers(r.d_k, r.d_k);
  }
  static std::size_t running_numbers(const pc_recurrent& r) {
    return running_factors(r) + simd::state_numbers(r.d_k, r.d_v);
  }
  Running running(float* numbers, const pc_recurrent& r, std::uint32_t layer,
                  std::uint32_t head) const {
    float* const own = numbers + firsts_[layer] + head * running_numbers(r);
    return {own, own + running_factors(r)};
  }

  StateMapShape shape_;
  float* numbers_;
  std::uint32_t n_taken_ = 0, n_done_ = 0;
  std::vector<std::size_t> firsts_;  // [n_layers]
  AlignedBuffer<float> before_, after_;
};

}  // namespace pc
