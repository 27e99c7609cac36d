#include "runtime/prompt/followed_text.h"

#include <catch2/catch.hpp>
#include <random>

namespace pc::test {
namespace {

// Trying all.
std::size_t longest(const Tokens& text, const Tokens& theirs) {
  std::size_t most = 0;
  for (std::size_t begin = 0; begin < text.size() && begin < 32; ++begin)
    for (std::size_t at = 0; at < theirs.size(); ++at) {
      std::size_t n = 0;
      while (begin + n < text.size() && at + n < theirs.size() && text[begin + n] == theirs[at + n])
        ++n;
      most = std::max(most, n);
    }
  return most < kLeastMoved ? 0 : most;
}

TEST_CASE("the longest that two texts have in common near the beginning of one") {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    // Few tokens, so that much is alike; a stretch of one in the other.
    Tokens theirs(random() % 300), text(random() % 50);
    for (Tokens* tokens : {&theirs, &text})
      for (TokenId& token : *tokens) token = static_cast<TokenId>(random() % 3);
    if (!theirs.empty() && i % 2 == 0) {
      const std::size_t begin = random() % theirs.size();
      text.insert(text.begin() + static_cast<std::ptrdiff_t>(random() % (text.size() + 1)),
                  theirs.begin() + static_cast<std::ptrdiff_t>(begin), theirs.end());
    }
    const auto same = same_tokens(text, theirs);
    REQUIRE((same ? same->n : 0) == longest(text, theirs));
    if (!same) continue;
    for (std::size_t k = 0; k < same->n; ++k)
      REQUIRE(text[same->begin + k] == theirs[same->theirs + k]);
  }
}

TEST_CASE("of two that are equal the latest is taken: a thought may have the answer, too") {
  Tokens answer(40), theirs;
  for (std::size_t i = 0; i < answer.size(); ++i) answer[i] = static_cast<TokenId>(i);
  for (const TokenId between : {100, 101}) {
    theirs.push_back(between);
    theirs.insert(theirs.end(), answer.begin(), answer.end());
  }
  const auto same = same_tokens(answer, theirs);
  REQUIRE(same);
  CHECK(same->theirs == 42);
  CHECK_FALSE(same_tokens(std::span(answer).first(31), theirs));
  CHECK_FALSE(same_tokens({}, theirs));
  CHECK_FALSE(same_tokens(answer, {}));
}

}  // namespace
}  // namespace pc::test
