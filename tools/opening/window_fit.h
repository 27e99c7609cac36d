// Which of a conversation's oldest exchanges go where it has become longer than the window.
//
// The same ones whenever the conversation is asked about again with more behind it, so that what
// was computed of the rest is found: some of the window is free each time that any go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pc::cli {

// How many of the exchanges go, from the first on; the last one always stays. An exchange is a
// user's message and what follows it up to the next user's message. exchanges: the tokens of each,
// the oldest first. n_fixed: tokens that stay in front of them.
std::size_t exchanges_that_go(std::span<const std::uint64_t> exchanges, std::uint64_t n_fixed,
                              std::uint64_t window);

}  // namespace pc::cli
