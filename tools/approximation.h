// How many of a prompt's modules have other states than a full prefill would give them.
//
// Pure. Threads: any.
#pragma once

#include <string>

#include "tools/json.h"

namespace pc::cli {

// Of pc_prompt_explain: "3 of 4 modules have not seen what stands before them here: the answer is
// approximate"; "" where each of them has.
std::string approximation(const Json& plan);

}  // namespace pc::cli
