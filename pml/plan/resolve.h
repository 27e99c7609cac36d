// A prompt and a schema's layout become a plan: which stored runs to use,
// which tokens to compute, and where each stands.
//
// Pure and deterministic. Threads: any; no state. The encoder must be the one
// the layout was made with.
#pragma once

#include "base/status.h"
#include "pml/layout/layout.h"
#include "pml/plan/plan.h"
#include "pml/plan/sources.h"  // StoredStates
#include "pml/syntax/prompt.h"
#include "pml/turns/text_encoder.h"

namespace pc::pml {

// stored: whether there are states of all imported modules encoded together, which then serve
// (docs/PML.md, 4.5), and of a module in a slot (4.7).
// Errors: kPmlSemantic with line:column for every rule a prompt can break;
// what the encoder gave.
Result<Plan> resolve(const Prompt& prompt, const Layout& layout, const TextEncoder& encoder,
                     const StoredStates& stored = {});

}  // namespace pc::pml
