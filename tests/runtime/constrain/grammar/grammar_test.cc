#include "runtime/constrain/grammar/grammar.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/constrain/takes.h"

namespace pc::constrain::test {
namespace {

TEST_CASE("texts that are too large are refused by their names, and all together by another") {
  const std::string large(200'000, 'a'), too_large(2'000'000, 'a');
  const auto why = [](const std::vector<std::string>& texts) {
    std::vector<Grammar> all;
    for (const std::string& text : texts)
      all.push_back(literal(text, "choices[" + std::to_string(all.size()) + "]"));
    return refusal_of(choice(std::move(all), "choices"));
  };
  CHECK(why({"a", large + large}) == "choices: this is too large to be enforced");
  CHECK(why({"a", too_large, "b"}) == "choices[1]: this is too large to be enforced");
  CHECK(why({too_large}) == "choices[0]: this is too large to be enforced");
  CHECK(refusal_of(matching_text(too_large, "regex")) ==
        "regex: more than 256 KiB cannot be enforced");
  CHECK(why({"a", "ab", large.substr(0, 50'000)}).empty());
}

}  // namespace
}  // namespace pc::constrain::test
