// Where cuts in a text lie once the text is rewritten, step by step.
//
// A cut is an offset, and the border between the text before it and behind it;
// cuts are increasing. Whoever rewrites a text tells, from left to right, what
// became of it, and the cuts move along.
//
// A view of its cuts; thread-compatible.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace pc {

using Cuts = std::span<std::size_t>;

class MovingCuts {
 public:
  explicit MovingCuts(Cuts cuts) : cuts_(cuts) {}

  // The old text between the last call's `from` and this one became the new text between
  // the last call's `to` and this one. A cut at `from` now lies at `to`. A cut before it
  // keeps its distance from the beginning of this part, but stays inside the part.
  void move(std::size_t from, std::size_t to) {
    for (; next_ < cuts_.size() && cuts_[next_] <= from; ++next_) {
      std::size_t& cut = cuts_[next_];
      cut = cut == from ? to : std::min(to, to_ + (cut - from_));
    }
    from_ = from;
    to_ = to;
  }

 private:
  Cuts cuts_;
  std::size_t next_ = 0, from_ = 0, to_ = 0;
};

}  // namespace pc
