// The states of a timeline's recurrent layers, layer after layer, as one block of numbers
// (docs/adr/0057-recurrent-layers.md), the blocks of places that it may go back to, and what is
// attached, which rows come behind in the order of positions.
//
// A block is never written once its rows are computed: a copy, which is a fork, shares all of them,
// and whoever computes writes a new one. Numbers of modules are used where they lie, and borrowed.
// Owner of the others. Threads: one at a time for one object; blocks that two share are only read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "base/aligned_buffer.h"
#include "runtime/backend/state_map.h"  // AttachedMap

namespace pc {

class RecurrentStates {
 public:
  // n_numbers: of all layers; 0: the model has no such layers, and any place is one to go back to.
  // Zeros, as before the first token.
  explicit RecurrentStates(std::size_t n_numbers);

  bool has_numbers() const { return n_numbers_ != 0; }

  // ---- What is attached

  // Tokens from `position` on; nothing: they have no map, and what comes behind them is to bring
  // states. Throws std::bad_alloc, and is as it was then. Precondition: is_behind(position).
  void attach(std::int32_t position, const std::optional<AttachedMap>& map);
  // Is `position` behind all rows that were computed?
  bool is_behind(std::int32_t position) const {
    return !has_numbers() || position >= places_.back().end;
  }

  // Are the states known that a row at `position` would come behind?
  bool knows(std::int32_t position) const;
  // Rows at `position` come next: what is attached in front of them and behind all rows before is
  // added to *maps, in order. Throws std::bad_alloc. Precondition: knows(position).
  void pass(std::int32_t position, std::vector<AttachedMap>* maps);
  // The first of what is attached and was not passed; kAnywhere: nothing is.
  std::int32_t next_attached() const;
  // A sweep begins anew: what it passed is in front of it again.
  void pass_again();

  // ---- Blocks

  // [n_numbers] behind the latest rows, and where those behind the rows at hand go: another block,
  // of unspecified numbers. next() throws std::bad_alloc. Precondition: there are some.
  const float* now() const { return places_.back().numbers->data(); }
  float* next();

  // What was written to next() is the state behind so many of the timeline's own tokens, the last
  // of which stands in front of `end`, and behind all that was passed. kept: it stays when the step
  // ends, and is one of kPlaces that do.
  void commit(std::uint32_t n_tokens, std::int32_t end, bool kept);

  // A step has ended that began behind `first` tokens. Its own place and that where it began stay;
  // of those before, the ones that are kept, and those where a step of several tokens began,
  // kPlaces of each.
  void end_step(std::uint32_t first, std::uint32_t n_tokens);

  // The states behind the first n_tokens and all that is attached in front of them; null where they
  // are not kept.
  const float* at(std::uint32_t n_tokens) const;

  // Own tokens at the nearest place at or before `n_tokens` from which rows may go on behind the
  // first n_attached attachments; nothing where there is none.
  std::optional<std::uint32_t> nearest(std::uint32_t n_tokens, std::uint32_t n_attached) const;
  // Precondition: nearest(n_tokens, n_attached) == n_tokens.
  void rewind(std::uint32_t n_tokens, std::uint32_t n_attached);

  static constexpr std::int32_t kAnywhere = std::numeric_limits<std::int32_t>::max();
  static constexpr std::size_t kPlaces = 8;  // at most; fewer where a block is large, at least two
  static constexpr std::size_t kPlaceBytes = std::size_t{256} << 20;  // of the places of a kind

 private:
  using Block = AlignedBuffer<float>;
  struct Place {
    std::uint32_t n_tokens;
    std::int32_t end;      // of the rows before it
    std::size_t n_passed;  // of passed_, which its states are behind
    std::shared_ptr<Block> numbers;
    bool kept, begins_many;  // the latter: a step of several tokens began here
  };
  struct Attachment {
    std::int32_t position;
    std::optional<AttachedMap> map;
  };
  const Place* find(std::uint32_t n_tokens, std::uint32_t n_attached) const;
  bool knows(std::int32_t position, std::size_t n_passed, std::uint32_t n_attached) const;
  std::vector<std::uint32_t> in_front(std::int32_t position, std::size_t n_passed,
                                      std::uint32_t n_attached) const;
  void limit(bool Place::*reason);

  std::size_t n_numbers_, most_places_;
  std::vector<Attachment> attached_;
  std::vector<std::uint32_t> passed_;  // of attached_, in the order in which rows came behind them
  std::vector<Place> places_;          // in order; never empty where there are numbers
  std::shared_ptr<Block> next_;        // of the rows at hand
};

}  // namespace pc
