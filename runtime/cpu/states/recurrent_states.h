// The states of a timeline's recurrent layers, layer after layer, as one block of numbers
// (docs/adr/0057-recurrent-layers.md), and the blocks of places that it may go back to.
//
// A block is never written once its rows are computed: a copy, which is a fork, shares all of them,
// and whoever computes writes a new one. Owner. Threads: one at a time for one object; blocks that
// two share are only read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/aligned_buffer.h"

namespace pc {

class RecurrentStates {
 public:
  // n_numbers: of all layers; 0: the model has no such layers, and any place is one to go back to.
  // Zeros, as before the first token.
  explicit RecurrentStates(std::size_t n_numbers);

  bool has_numbers() const { return n_numbers_ != 0; }

  // [n_numbers] behind the latest tokens, and where those behind the rows at hand go: another
  // block, of unspecified numbers. next() throws std::bad_alloc. Precondition: there are some.
  const float* now() const { return places_.back().block->data(); }
  float* next();

  // What was written to next() is the state behind so many of the timeline's own tokens.
  void commit(std::uint32_t n_tokens);

  // A step has ended that began behind `first` tokens. Its own place and that where it began stay;
  // of those before, the ones where a step of several tokens began, kPlaces of them, and the first.
  void end_step(std::uint32_t first, std::uint32_t n_tokens);

  // The nearest place at or before `n_tokens` of which there is a state.
  std::uint32_t nearest(std::uint32_t n_tokens) const;
  // Precondition: nearest(n_tokens) == n_tokens.
  void rewind(std::uint32_t n_tokens);

  static constexpr std::size_t kPlaces = 8;

 private:
  using Block = AlignedBuffer<float>;
  struct Place {
    std::uint32_t n_tokens;
    std::shared_ptr<Block> block;
    bool begins_many;  // a step of several tokens began here
  };

  std::size_t n_numbers_;
  std::vector<Place> places_;    // rising; never empty where there are numbers
  std::shared_ptr<Block> next_;  // of the rows at hand
};

}  // namespace pc
