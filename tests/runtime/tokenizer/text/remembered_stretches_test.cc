// Known stretches are found by all that decides about their tokens, within a number of bytes; and
// a tokenizer says the same the second time.
#include "runtime/tokenizer/text/remembered_stretches.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "runtime/tokenizer/files/tokenizer_loader.h"
#include "tests/support/expect.h"
#include "tests/support/fixture.h"
#include "tests/support/random.h"

namespace pc::test {
namespace {

using Offsets = std::vector<std::size_t>;

std::string text_of(std::size_t number) {
  return std::string(RememberedStretches::kMinBytes, 'x') + std::to_string(number);
}

bool is_known(RememberedStretches& remembered, const std::string& text, bool prefix = false,
              Offsets cuts = {}) {
  Tokens tokens;
  return remembered.find(text, prefix, cuts, &tokens);
}

TEST_CASE("a stretch is found by its text, its prefix and its cuts") {
  RememberedStretches remembered;
  remembered.add(text_of(1), false, {3, 7}, {1, 2}, {5, 6, 7});
  CHECK_FALSE(is_known(remembered, text_of(2), false, {3, 7}));
  CHECK_FALSE(is_known(remembered, text_of(1), true, {3, 7}));
  CHECK_FALSE(is_known(remembered, text_of(1), false, {3, 8}));
  CHECK_FALSE(is_known(remembered, text_of(1)));
  Offsets cuts{3, 7};
  Tokens tokens{9};
  REQUIRE(remembered.find(text_of(1), false, cuts, &tokens));
  CHECK(tokens == Tokens{9, 5, 6, 7});
  CHECK(cuts == Offsets{1, 2});
}

TEST_CASE("of one text cut in two ways the later is known") {
  RememberedStretches remembered;
  remembered.add(text_of(1), false, {3}, {1}, {5, 6});
  const std::size_t n_bytes = remembered.n_bytes();
  remembered.add(text_of(1), false, {4}, {1}, {5, 6});
  CHECK(remembered.n_bytes() == n_bytes);
  CHECK_FALSE(is_known(remembered, text_of(1), false, {3}));
  CHECK(is_known(remembered, text_of(1), false, {4}));
}

TEST_CASE("short stretches and huge ones are not kept") {
  RememberedStretches remembered(std::size_t{1} << 16);
  remembered.add("short", false, {}, {}, {1});
  remembered.add(std::string(std::size_t{1} << 14, 'x'), false, {}, {}, {1});
  CHECK(remembered.n_bytes() == 0);
}

TEST_CASE("the one that was not asked for the longest goes first") {
  RememberedStretches remembered(4096);
  remembered.add(text_of(0), false, {}, {}, {0});
  std::size_t n = 1;
  for (; n < 100; ++n) {
    remembered.add(text_of(n), false, {}, {}, {0});
    CHECK(remembered.n_bytes() <= 4096);
    CHECK(is_known(remembered, text_of(0)));  // asked for each time
  }
  CHECK_FALSE(is_known(remembered, text_of(1)));
  CHECK(is_known(remembered, text_of(n - 1)));
}

TEST_CASE("a tokenizer says the same the second time, however the text is cut") {
  for (const char* name : {"smollm2", "qwen2", "metaspace", "sentencepiece_bpe"}) {
    const std::string folder = golden(std::string("tokenizers/") + name);
    const auto tokenizer = must(load_tokenizer(folder));
    Random random(37);
    const std::string text = read_file(source_dir() / "docs/PML.md").substr(0, 3000);
    for (int round = 0; round < 2; ++round) {
      const auto fresh = must(load_tokenizer(folder));
      for (std::size_t begin = 0; begin + 700 < text.size(); begin += 350) {
        const std::string_view part = std::string_view(text).substr(begin, 700);
        const std::size_t cut = 100 + random.below(500);
        const std::vector<pml::TextSpan> spans{{part.substr(0, cut), false},
                                               {part.substr(cut), false}};
        for (int again = 0; again < 2; ++again)
          CHECK(must(tokenizer->encode_spans(spans, true)) ==
                must(fresh->encode_spans(spans, true)));
        CHECK(must(tokenizer->encode(part)) == must(fresh->encode(part)));
      }
    }
  }
}

}  // namespace
}  // namespace pc::test
