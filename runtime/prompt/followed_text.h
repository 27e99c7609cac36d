// What was kept behind a place of a conversation, and where another text has it again: a template
// that leaves earlier thoughts out of a history writes an answer where its thought began, and the
// answer's states, computed behind the thought, can stand there all the same (LinkLimits::moves).
//
// Values; borrows nothing. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "modules/module_store.h"
#include "runtime/prompt/chain.h"

namespace pc {

// The newest of each place, one behind the other.
struct FollowedText {
  // Tokens of one file.
  struct Piece {
    ModuleIdentity identity;
    std::uint32_t first = 0;  // the rest of its tokens, from this one on,
    std::size_t begin = 0;    // from here on in `tokens`
  };

  Tokens tokens;
  std::vector<Piece> pieces;
};

// What of a store stands behind a link's tokens, with which a file begins that goes on; of a link
// without tokens, in its place. At most so much as a thought and an answer have.
FollowedText followed_text(const ModuleStore& store, const ModuleIdentity& base, Chain::Link link);

// The same tokens in two texts.
struct SameTokens {
  std::size_t begin = 0, theirs = 0, n = 0;
};

// The longest that begins near the beginning of `text`; of equals the latest in `theirs`. None
// where it is shorter than kLeastMoved.
inline constexpr std::size_t kLeastMoved = 32;
std::optional<SameTokens> same_tokens(std::span<const TokenId> text,
                                      std::span<const TokenId> theirs);

}  // namespace pc
