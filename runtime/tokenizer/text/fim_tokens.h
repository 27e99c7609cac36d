// The tokens that mark a text with a gap, for models that fill in the middle: an editor sends
// prefix, what stands before the gap, suffix, what stands behind it, middle, and the model writes
// what belongs there.
//
// A value. Threads: pure functions.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "pml/turns/text_encoder.h"  // TokenId

namespace pc {

struct FimTokens {
  std::optional<TokenId> prefix, suffix, middle;  // in front of the three parts
  std::optional<TokenId> pad;                     // stands for no text
  std::optional<TokenId> repo, file;              // before a repository's name, and a file's

  friend bool operator==(const FimTokens&, const FimTokens&) = default;
};

// Those of `named`, by a model's files, and, where they name none, those of the spellings that
// publishers of such models use. find: the token of a spelling, as Tokenizer::token_to_id.
FimTokens find_fim_tokens(
    const FimTokens& named,
    const std::function<std::optional<TokenId>(std::string_view spelling)>& find);

}  // namespace pc
