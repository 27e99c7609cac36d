// The states of a timeline's recurrent layers, layer after layer, as one block of numbers
// (docs/adr/0057-recurrent-layers.md), and the blocks of places that it may go back to.
//
// A block is never written once its rows are computed: a copy, which is a fork, shares all of them,
// and whoever computes writes a new one. A block of a module is used where it lies, and borrowed.
// Owner of the others. Threads: one at a time for one object; blocks that two share are only read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/aligned_buffer.h"

namespace pc {

class RecurrentStates {
 public:
  // n_numbers: of all layers; 0: the model has no such layers, and any place is one to go back to.
  // Zeros, as before the first token.
  explicit RecurrentStates(std::size_t n_numbers);

  bool has_numbers() const { return n_numbers_ != 0; }

  // Attachments whose states are in those of now(): all up to this one, where the latest of them
  // had some.
  std::uint32_t n_attached() const { return places_.empty() ? 0 : places_.back().n_attached; }

  // [n_numbers] behind the latest tokens, and where those behind the rows at hand go: another
  // block, of unspecified numbers. next() throws std::bad_alloc. Precondition: there are some.
  const float* now() const { return places_.back().numbers; }
  float* next();

  // What was written to next() is the state behind so many of the timeline's own tokens. kept: it
  // stays when the step ends, and is one of kPlaces that do.
  void commit(std::uint32_t n_tokens, bool kept);

  // Attachment number n_attached (from 1) has come, behind which the states are these: [n_numbers],
  // borrowed. Fails nowhere behind make_room(), which throws std::bad_alloc.
  void make_room();
  void attach(std::uint32_t n_attached, const float* numbers);

  // A step has ended that began behind `first` tokens. Its own place and that where it began stay;
  // of those before, the ones that are kept, those where a step of several tokens began, kPlaces of
  // each, and where something was attached.
  void end_step(std::uint32_t first, std::uint32_t n_tokens);

  // The states behind the first n_tokens and all that is attached; null where they are not kept.
  const float* at(std::uint32_t n_tokens) const;

  // Own tokens at the nearest place at or before `n_tokens` of which there is a state with the
  // first n_attached attachments; nothing where there is none. n_all: attachments that came.
  std::optional<std::uint32_t> nearest(std::uint32_t n_tokens, std::uint32_t n_attached,
                                       std::uint32_t n_all) const;
  // Precondition: nearest(n_tokens, n_attached, ...) == n_tokens.
  void rewind(std::uint32_t n_tokens, std::uint32_t n_attached);

  static constexpr std::size_t kPlaces = 8;  // at most; fewer where a block is large, at least two
  static constexpr std::size_t kPlaceBytes = std::size_t{256} << 20;  // of the places of a kind

 private:
  using Block = AlignedBuffer<float>;
  struct Place {
    std::uint32_t n_tokens, n_attached;
    std::shared_ptr<Block> block;  // of numbers; null: they are a module's
    const float* numbers;
    bool attached, kept, begins_many;  // the last: a step of several tokens began here
  };
  const Place* find(std::uint32_t n_tokens, std::uint32_t n_attached) const;
  void limit(bool Place::*reason);

  std::size_t n_numbers_, most_places_;
  std::vector<Place>
      places_;  // in the order in which they came; never empty where there are numbers
  std::shared_ptr<Block> next_;  // of the rows at hand
};

}  // namespace pc
