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

// The text that was kept behind a place: of each further place the newest link, one behind the
// other.
struct FollowedText {
  // One file's part of the text: the file's tokens from `first` to its last.
  struct Piece {
    ModuleIdentity identity;
    std::uint32_t first = 0;
    std::size_t begin = 0;  // index in `tokens` of its first token
  };

  Tokens tokens;
  std::vector<Piece> pieces;
};

// The text that the store has behind a link's tokens: of a file that begins with these tokens and
// is longer, and of the files behind that. For a link without tokens: the text that stands in its
// place. As much at most as a thought and an answer have.
FollowedText followed_text(const ModuleStore& store, const ModuleIdentity& base, Chain::Link link);

// n tokens that two texts have in common: from `begin` on in the first, from `theirs` on in the
// second.
struct SameTokens {
  std::size_t begin = 0, theirs = 0, n = 0;
};

// The longest stretch in common that begins near the beginning of `text`; of equally long ones the
// last in `theirs`. None where it is shorter than kLeastMoved.
inline constexpr std::size_t kLeastMoved = 32;
std::optional<SameTokens> same_tokens(std::span<const TokenId> text,
                                      std::span<const TokenId> theirs);

}  // namespace pc
