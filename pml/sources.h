// Which stored states a plan uses for each piece: those of its module's own
// job, or of a scaffold.
//
// Pure. Threads: any.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "pml/binding.h"
#include "pml/encode_plan.h"
#include "pml/layout.h"

namespace pc::pml {

// Where a piece's states come from: kept run `run` of jobs[job], or of
// none (job == kNone), as for modules with cache="false".
struct Source {
  std::uint32_t job = kNone;
  std::uint32_t run = 0;
};
using Sources = std::vector<Source>;  // one for each of Layout::pieces

// A scaffold serves when all its modules are imported and no larger one has
// taken any of them; of equal ones the first written serves. The always-present
// text that it keeps is its own unless a scaffold before it has claimed it.
Result<Sources> choose_sources(const Layout& layout, const std::vector<EncodeJob>& jobs,
                               const Binding& binding);

// The error of jobs that are not those of the layout.
Error foreign_jobs(const Layout& layout);

}  // namespace pc::pml
