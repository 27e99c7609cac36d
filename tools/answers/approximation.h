// How many of a prompt's modules have other states than a full prefill would give them.
//
// Pure. Threads: any.
#pragma once

#include <string>

#include "tools/output/json.h"

namespace pc::cli {

// A sentence from the report of pc_prompt_explain, for an answer with this repair (empty: the
// plan's own): "3 of 4 modules have not seen what stands before them here: the answer is
// approximate"; "" where every module has seen it, or is computed anew.
std::string approximation(const Json& plan, const std::string& repair = {});

}  // namespace pc::cli
