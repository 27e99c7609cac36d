// Which of a conversation's oldest exchanges go where it has become longer than the window.
//
// The same ones whenever the conversation is asked about again with more behind it, so that what
// was computed of the rest is found: some of the window is free each time that any go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pc::cli {

// exchanges: tokens of each, the oldest first: a user's message and what follows up to the next
// one's. n_fixed: tokens that stay in front of them. At least the last exchange stays. The first so
// many go.
std::size_t exchanges_that_go(std::span<const std::uint64_t> exchanges, std::uint64_t n_fixed,
                              std::uint64_t window);

}  // namespace pc::cli
