#include "runtime/tokenizer/bpe/bpe_merges.h"

#include <catch2/catch.hpp>
#include <map>
#include <utility>

#include "tests/support/random.h"

using namespace pc;

namespace {

using Table = std::map<std::pair<TokenId, TokenId>, BpeMerges::Merge>;

// The definition, step by step: the best pair of all, again and again.
Tokens merge_slowly(const Table& table, Tokens tokens) {
  for (;;) {
    const BpeMerges::Merge* best = nullptr;
    std::size_t where = 0;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      const auto found = table.find({tokens[i], tokens[i + 1]});
      if (found == table.end() || (best != nullptr && found->second.rank >= best->rank)) continue;
      best = &found->second;
      where = i;
    }
    if (best == nullptr) return tokens;
    tokens[where] = best->merged;
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(where) + 1);
  }
}

}  // namespace

TEST_CASE("merging equals the definition on random tables and words") {
  test::Random random(3);
  for (int round = 0; round < 300; ++round) {
    const std::uint32_t n_letters = random.between(1, 4), n_merges = random.between(0, 30);
    std::vector<BpeMerges::Merge> merges;
    Table table;
    std::uint32_t n_tokens = n_letters;
    for (std::uint32_t rank = 0; rank < n_merges; ++rank) {
      // Pairs may repeat, and several pairs may give one token.
      const auto left = static_cast<TokenId>(random.below(n_tokens));
      const auto right = static_cast<TokenId>(random.below(n_tokens));
      const auto merged =
          static_cast<TokenId>(random.chance(0.8) ? n_tokens++ : random.below(n_tokens));
      merges.push_back({left, right, merged, rank});
      table[{left, right}] = merges.back();  // the later counts
    }
    const BpeMerges fast(merges, n_tokens);
    BpeMerges::Workspace workspace;
    for (int word = 0; word < 30; ++word) {
      Tokens tokens(random.below(40));
      for (TokenId& token : tokens) token = static_cast<TokenId>(random.below(n_letters));
      const Tokens expected = merge_slowly(table, tokens);
      TextWatch watch({}, 0);
      REQUIRE(fast.apply(&tokens, watch, &workspace).ok());
      REQUIRE(tokens == expected);
    }
  }
}

TEST_CASE("of two merges of one pair the later counts") {
  const BpeMerges merges({{0, 1, 2, 0}, {0, 1, 3, 1}}, 4);
  CHECK(merges.find(0, 1)->merged == 3);
  CHECK(merges.find(1, 0) == nullptr);
}
