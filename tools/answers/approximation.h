// How many of a prompt's modules have other states than a full prefill would give them.
//
// Pure. Threads: any.
#pragma once

#include <string>

#include "tools/output/json.h"

namespace pc::cli {

// Of pc_prompt_explain, answered with this repair (empty: that of the plan): "3 of 4 modules have
// not seen what stands before them here: the answer is approximate"; "" where each of them has, or
// is computed anew.
std::string approximation(const Json& plan, const std::string& repair = {});

}  // namespace pc::cli
