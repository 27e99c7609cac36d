// How large plan_encoding's answer for a layout would be, found without
// making it: jobs repeat what their modules see, so a hostile schema of a few
// megabytes could ask for terabytes.
//
// Pure. Threads: any.
#pragma once

#include <cstdint>

#include "pml/layout.h"

namespace pc::pml {

// 256 MiB of token ids: ten thousand documents of six thousand tokens, say.
inline constexpr std::uint64_t kMaxEncodingCost = std::uint64_t{1} << 26;

// An upper bound of the tokens in all jobs, where every piece, slot or bound
// of a module counts as kItemCost tokens more (what a JobRun takes in memory).
inline constexpr std::uint64_t kItemCost = 16;
std::uint64_t encoding_cost(const Layout& layout);

}  // namespace pc::pml
