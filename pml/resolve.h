// A prompt and a schema's layout become a plan: which stored runs to use,
// which tokens to compute, and where each stands.
//
// Pure and deterministic. Threads: any; no state. The encoder must be the one
// the layout was made with, and the jobs those of plan_encoding(layout).
#pragma once

#include <vector>

#include "base/status.h"
#include "pml/encode_plan.h"
#include "pml/layout.h"
#include "pml/plan.h"
#include "pml/prompt.h"
#include "pml/text_encoder.h"

namespace pc::pml {

// Errors: kPmlSemantic with line:column for every rule a prompt can break;
// kInvalidArgument if the jobs are not of this layout; what the encoder gave.
Result<Plan> resolve(const Prompt& prompt, const Layout& layout, const std::vector<EncodeJob>& jobs,
                     const TextEncoder& encoder);

}  // namespace pc::pml
