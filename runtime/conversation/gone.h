// Stretches of a conversation that go, and where what stays stands then.
//
// What stood behind a stretch moves up to where that stood. Pure values. Threads: any.
#pragma once

#include <utility>
#include <vector>

#include "pml/turns/text_encoder.h"  // Position

namespace pc {

// Positions [begin, end).
struct Stretch {
  Position begin, end;
  Position size() const { return end - begin; }
};

// Stretches that go, sorted and apart.
class Gone {
 public:
  Gone() = default;
  explicit Gone(std::vector<Stretch> stretches) : stretches_(std::move(stretches)) {}

  bool has(Position position) const;
  Position n_tokens() const;
  // Where what stood at `position` is then; of what goes, where that stood.
  Position moved(Position position) const;
  // What stays of a stretch, in order.
  std::vector<Stretch> left_of(Stretch stretch) const;

 private:
  std::vector<Stretch> stretches_;
};

}  // namespace pc
