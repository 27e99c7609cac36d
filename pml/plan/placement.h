// The positions of a prompt's runs, in the two layouts.
//
// Pure. Threads: any.
#pragma once

#include <optional>
#include <vector>

#include "pml/plan/plan.h"

namespace pc::pml {

// A run of the plan, in the prompt's order, while its position is not known yet.
struct Step {
  PlanRun run;
  std::optional<Position> anchor;  // schema position; none for what is written now
  Position floor = 0;              // written now, but not before this schema position
  bool opening = false;            // its tokens are those behind BOS
  bool ends_user = false;          // the closing of a user's turn
  bool is_border = false;          // a turn that holds anchored steps begins or ends in its group
};

struct Placement {
  Position end = 0;    // after the last run
  Position shift = 0;  // how far the last anchored step stands behind its anchor
};

// Both set every run's position.

// compact: no gaps, everything follows what is before it.
Placement place_compact(std::vector<Step>& steps);

// schema: pieces and arguments (anchored steps) stand at their schema positions. What the
// prompt writes between two of them starts behind the first, and stays there if all of it
// fits the gap; else it moves behind everything. But if a turn that holds anchored steps
// begins or ends in what is written, that stays, and the steps behind it are shifted by the
// missing room. Sorts the steps by position.
Placement place_at_schema(std::vector<Step>& steps);

}  // namespace pc::pml
