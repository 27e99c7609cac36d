// Pure validators of what plan.h and encode_plan.h promise. They share no
// code with the makers, and serve the tests and the engine's own self-check.
//
// Threads: any; no state.
#pragma once

#include <vector>

#include "base/status.h"
#include "pml/layout/encode_plan.h"
#include "pml/layout/layout.h"
#include "pml/plan/plan.h"

namespace pc::pml {

// kInternal with one sentence naming the first broken invariant.
Status check_layout(const Layout& layout);
Status check_job(const Layout& layout, const EncodeJob& job);
// The jobs of plan_encoding(layout): each is right, and none is missing.
Status check_jobs(const Layout& layout, const std::vector<EncodeJob>& jobs);
Status check_plan(const Layout& layout, const Plan& plan);

}  // namespace pc::pml
