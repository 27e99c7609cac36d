#include "runtime/constrain/grammar/vocabulary.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "tests/runtime/constrain/small_vocabulary.h"
#include "tests/support/random.h"

namespace pc::constrain::test {
namespace {

// Each token of the tree with the bytes of the way to it.
std::multimap<std::string, std::uint32_t> tokens_of(const Vocabulary& vocabulary) {
  std::multimap<std::string, std::uint32_t> found;
  const auto trie = vocabulary.trie();
  std::string path;
  for (std::uint32_t i = 0; i + 1 < trie.size(); ++i) {
    if (i > 0) {
      path.resize(trie[i].depth - 1u);
      path.push_back(static_cast<char>(trie[i].byte));
    }
    for (std::uint32_t t = trie[i].first_token; t < trie[i + 1].first_token; ++t)
      found.emplace(path, vocabulary.trie_token(t));
  }
  return found;
}

void check_tree(const std::vector<Vocabulary::Token>& tokens) {
  const Vocabulary vocabulary(tokens);
  std::multimap<std::string, std::uint32_t> wanted;
  for (std::uint32_t i = 0; i < tokens.size(); ++i)
    if (!tokens[i].ends_turn && !tokens[i].bytes.empty() &&
        tokens[i].bytes.find('\xFF') == std::string::npos)
      wanted.emplace(tokens[i].bytes, i);
  CHECK(tokens_of(vocabulary) == wanted);
  const auto trie = vocabulary.trie();
  for (std::uint32_t i = 0; i + 1 < trie.size(); ++i) {
    REQUIRE(trie[i].end > i);
    for (std::uint32_t k = i + 1; k < trie[i].end; ++k) REQUIRE(trie[k].depth > trie[i].depth);
    const bool is_last = trie[i].end + 1 == trie.size();
    REQUIRE((is_last || trie[trie[i].end].depth <= trie[i].depth));
  }
}

TEST_CASE("the tree has each token that has bytes, and only these") {
  check_tree(small_tokens());
  check_tree({});
  check_tree({{"ab", false}, {"ab", false}, {"a", false}, {"abc", false}, {"", true}, {"x", true}});
}

TEST_CASE("trees of random tokens") {
  pc::test::Random random(2);
  for (int round = 0; round < 50; ++round) {
    std::vector<Vocabulary::Token> tokens(random.below(60));
    for (Vocabulary::Token& token : tokens)
      for (std::uint32_t n = random.below(5); n > 0; --n)
        token.bytes += static_cast<char>("ab\xff\0"[random.below(random.below(4) == 0 ? 4 : 2)]);
    check_tree(tokens);
  }
}

TEST_CASE("tokens that end the turn are named") {
  const Vocabulary vocabulary({{"a", false}, {"", true}, {"", false}, {"</s>", true}});
  CHECK(std::vector(vocabulary.turn_ends().begin(), vocabulary.turn_ends().end()) ==
        std::vector<std::uint32_t>{1, 3});
  CHECK(vocabulary.n_words() == 1);
}

TEST_CASE("what engines say of tokens: an added text is spelled as its bytes") {
  const TokenFacts facts[] = {{"a", false, false, ""},
                              {"", true, false, "<end>"},
                              {"<call>", false, true, ""},
                              {{}, false, false, "<turn>"}};
  const Vocabulary vocabulary = Vocabulary::read(4, [&](std::size_t i) { return facts[i]; });
  CHECK(vocabulary.size() == 4);
  CHECK(vocabulary.bytes(0) == "a");
  CHECK(vocabulary.marked(0).empty());
  CHECK(vocabulary.ends_turn(1));
  CHECK(vocabulary.bytes(2) == "<call>");
  CHECK(vocabulary.marked(2).ends_with("<call>"));
  CHECK(vocabulary.marked(2) != vocabulary.bytes(2));
  CHECK(vocabulary.with_controls("<turn>") == vocabulary.marked(3));
}

}  // namespace
}  // namespace pc::constrain::test
