#include "runtime/sampling/prompt_lookup.h"

#include <catch2/catch.hpp>
#include <random>

namespace pc {
namespace {

Tokens proposed(PromptLookup& lookup, std::size_t most) {
  const auto tokens = lookup.propose(most).tokens;
  return {tokens.begin(), tokens.end()};
}

TEST_CASE("what followed the latest tokens before is proposed, and as much as is wanted") {
  PromptLookup lookup;
  const Tokens text = {1, 2, 3, 4, 5, 6, 9, 1, 2, 3};
  lookup.append(text);
  CHECK(proposed(lookup, 2) == Tokens{4, 5});
  CHECK(proposed(lookup, 9) == Tokens{4, 5, 6, 9, 1, 2, 3, 4, 5});  // and round again
  CHECK(proposed(lookup, 0).empty());
  CHECK(lookup.propose(1).n_agreeing == 3);
  const Tokens other = {7};
  lookup.append(other);
  CHECK(proposed(lookup, 2).empty());
}

TEST_CASE("the place that agrees longest counts, of equals the latest") {
  PromptLookup lookup;
  const Tokens text = {8, 1, 2, 3, 40, 7, 1, 2, 3, 50, 7, 1, 2, 3, 51, 9, 1, 2, 3, 60, 7, 1, 2, 3};
  lookup.append(text);
  CHECK(proposed(lookup, 1) == Tokens{51});
}

TEST_CASE("nothing reaches over the end of a text") {
  PromptLookup lookup;
  const Tokens one = {1, 2, 3, 4}, two = {5, 1, 2, 3};
  lookup.append(one);
  lookup.end_text();
  lookup.append(two);
  CHECK(proposed(lookup, 9) == Tokens{4});
  lookup.end_text();
  const Tokens three = {4, 5};
  lookup.append(three);
  CHECK(proposed(lookup, 9).empty());
  lookup.append(one);
  CHECK(PromptLookup().propose(9).tokens.empty());
}

// By looking everywhere: those that may be proposed, one token of each, and how far they agree.
struct Best {
  std::size_t n_agreeing = 0;
  Tokens next;
};
Best longest_agreement(const Tokens& text) {
  Best best;
  for (std::size_t end = PromptLookup::kGram; end < text.size(); ++end) {
    std::size_t n = 0;
    while (n < end && n < 32 && text[end - 1 - n] == text[text.size() - 1 - n]) ++n;
    if (n < PromptLookup::kGram || n < best.n_agreeing) continue;
    if (n > best.n_agreeing) best = {n, {}};
    best.next.push_back(text[end]);
  }
  return best;
}

TEST_CASE("of random texts, what is proposed stands behind the longest agreement") {
  std::minstd_rand random(3);
  for (unsigned round = 0; round < 20; ++round) {
    PromptLookup lookup;
    Tokens text;
    const unsigned n_words = 20 + round * 5;  // so few places of a gram that all are compared
    for (int i = 0; i < 300; ++i) {
      const bool repeats = text.size() > 60 && random() % 3 != 0;
      text.push_back(repeats ? text[text.size() - 50] : static_cast<TokenId>(random() % n_words));
      lookup.append({&text.back(), 1});
      const auto proposal = lookup.propose(1);
      const Best best = longest_agreement(text);
      REQUIRE(proposal.n_agreeing == best.n_agreeing);
      if (best.n_agreeing != 0) REQUIRE(proposal.tokens[0] == best.next.back());
    }
  }
}

}  // namespace
}  // namespace pc
