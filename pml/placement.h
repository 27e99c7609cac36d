// The positions of a prompt's runs, in the two layouts.
//
// Pure. Threads: any.
#pragma once

#include <optional>
#include <vector>

#include "pml/plan.h"

namespace pc::pml {

// A run in the prompt's order; its position comes last.
struct Step {
  PlanRun run;
  std::optional<Position> anchor;  // schema position; none for the prompt's own text
  bool opening = false;            // markup whose tokens are those behind BOS
};

// Both set every run's position and give the position after the last.

// compact: no gaps, everything follows what is before it.
Position place_compact(std::vector<Step>& steps);

// schema: pieces and arguments at their schema positions. What the prompt
// writes between two of them stays there if all of it fits, else it moves
// behind everything; what it writes last follows. Sorts by position.
Position place_at_schema(std::vector<Step>& steps);

}  // namespace pc::pml
