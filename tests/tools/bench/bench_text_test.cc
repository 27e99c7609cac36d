#include "tools/bench/bench_text.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace pc::cli;

namespace {

std::uint64_t bytes_of(std::string_view text) {
  return text.size();
}

// A word begun counts two, a word and its blank one: more text may be fewer tokens.
std::uint64_t words_of(std::string_view text) {
  const auto blanks = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), ' '));
  return blanks + (text.back() == ' ' ? 0 : 2);
}

}  // namespace

TEST_CASE("a text has as many tokens as are asked for") {
  for (const std::uint64_t n : {1, 2, 3, 47, 512, 4096, 10'000}) {
    for (const CountTokens& count : {CountTokens(bytes_of), CountTokens(words_of)}) {
      const BenchText text = text_of_tokens(n, count);
      CHECK(text.tokens == n);
      CHECK(count(text.text) == n);
    }
  }
}

TEST_CASE("a number that cannot be had gives the next one, and says so") {
  const auto pairs = [](std::string_view text) { return (text.size() + 1) / 2 * 2; };
  const BenchText text = text_of_tokens(7, pairs);
  CHECK(text.tokens == pairs(text.text));
  CHECK((text.tokens == 6 || text.tokens == 8));
}

TEST_CASE("where there are always more tokens than asked for, there are as few as may be") {
  const auto with_bos = [](std::string_view text) { return text.size() + 1; };
  CHECK(text_of_tokens(1, with_bos).tokens == 2);
}

TEST_CASE("the search ends where tokens do not grow with the text") {
  const BenchText text = text_of_tokens(100, [](std::string_view) -> std::uint64_t { return 5; });
  CHECK(text.tokens == 5);
  CHECK(!text.text.empty());
}

TEST_CASE("no character of a text means anything in PML") {
  const std::string text = text_of_tokens(5000, bytes_of).text;
  CHECK(text.find_first_of("<>&\"'") == text.npos);
  CHECK(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }));
}
