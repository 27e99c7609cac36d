// How large the jobs of a layout, or of a prompt, would be, found without making
// them. Jobs repeat what their modules see, so a hostile schema of a few megabytes
// could ask for terabytes, and so could a prompt whose turns open with much text.
//
// Pure. Threads: any.
#pragma once

#include <cstdint>
#include <vector>

#include "pml/layout/contexts.h"  // TurnTokens
#include "pml/layout/flat_prompt.h"
#include "pml/layout/layout.h"

namespace pc::pml {

// 256 MiB of token ids: ten thousand documents of six thousand tokens, say.
inline constexpr std::uint64_t kMaxEncodingCost = std::uint64_t{1} << 26;

// An upper bound of the tokens in all of plan_encoding's jobs, where every piece,
// slot or bound of a module counts as kItemCost tokens more (what a JobRun takes in
// memory). With attend=self modules see nothing else, and kMaxLayoutTokens bounds
// what is their own; it is not counted.
inline constexpr std::uint64_t kItemCost = 16;
std::uint64_t encoding_cost(const Layout& layout);

// The same of a prompt's jobs (choose_sources), in which modules see the openings and
// ends of the prompt's turns.
std::uint64_t encoding_cost(const Layout& layout, const FlatPrompt& flat,
                            const std::vector<TurnTokens>& turns);

}  // namespace pc::pml
