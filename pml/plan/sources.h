// Which stored states a plan uses for each piece: those of its module's own
// job, or of a scaffold.
//
// Pure. Threads: any.
#pragma once

#include <cstdint>
#include <vector>

#include "base/function_ref.h"
#include "pml/layout/binding.h"
#include "pml/layout/contexts.h"
#include "pml/layout/encode_plan.h"
#include "pml/layout/flat_prompt.h"
#include "pml/layout/layout.h"
#include "pml/layout/slot_choice.h"

namespace pc::pml {

// Where a piece's states come from: kept run `run` of jobs[job], or of
// none (job == kNone), as for modules with cache="false".
struct Source {
  std::uint32_t job = kNone;
  std::uint32_t run = 0;
};

struct Sources {
  std::vector<JobSpec> jobs;     // those that serve
  std::vector<Source> of_piece;  // [pieces]
};

// What a plan asks of states that are there; none: it does as if there were none.
struct StoredStates {
  IsStored together = {};  // of all modules that the prompt imports; asked at most once
  IsStored in_slot = {};   // of one (slot_choice.h)
};

// Where all of them are encoded together, that serves; it is not asked for where a scaffold lists
// all. A scaffold serves when all its modules are
// imported and no larger one has taken any of them; of equal ones the first written serves. The
// always-present text that it keeps is its own unless a scaffold before it has claimed it.
Sources choose_sources(const Layout& layout, const Binding& binding, const FlatPrompt& flat,
                       const std::vector<TurnTokens>& turns, const StoredStates& stored = {});

}  // namespace pc::pml
