// Text of a number of tokens: the beginning of a passage of prose, over and over. Pure; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace pc::cli {

// The tokens that a text takes where it will stand. More text may take fewer tokens: a word that is
// complete is one where its beginning was two.
using CountTokens = std::function<std::uint64_t(std::string_view)>;

struct BenchText {
  std::string text;  // no character of it means anything in PML
  std::uint64_t tokens = 0;
};

// A text of n tokens or, where none is found, of as many as come next to that: what a tokenizer
// makes of a text cannot always be told from its length. Never empty. Precondition: n > 0.
BenchText text_of_tokens(std::uint64_t n, const CountTokens& count);

}  // namespace pc::cli
