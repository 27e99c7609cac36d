// A prompt and a schema's layout become a plan: which stored runs to use,
// which tokens to compute, and where each stands.
//
// Pure and deterministic. Threads: any; no state. The encoder must be the one
// the layout was made with.
#pragma once

#include "base/status.h"
#include "pml/layout/layout.h"
#include "pml/plan/plan.h"
#include "pml/plan/sources.h"  // AreTogether
#include "pml/syntax/prompt.h"
#include "pml/turns/text_encoder.h"

namespace pc::pml {

// are_together: whether there are states of all imported modules encoded together, which then serve
// (docs/PML.md, 4.5); none: they are not asked for.
// Errors: kPmlSemantic with line:column for every rule a prompt can break;
// what the encoder gave.
Result<Plan> resolve(const Prompt& prompt, const Layout& layout, const TextEncoder& encoder,
                     AreTogether are_together = {});

}  // namespace pc::pml
