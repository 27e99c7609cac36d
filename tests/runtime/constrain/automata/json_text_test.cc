#include "runtime/constrain/automata/json_text.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/random.h"
#include "tools/output/json.h"

namespace pc::constrain::test {
namespace {

// A parser of JSON takes surrogates in escapes as we do, and bytes in UTF-8 alone.
bool is_string(const std::string& inside) {
  return inside.ends_with('"') && cli::Json::read("\"" + inside).is_string();
}

TEST_CASE("what is taken is what a parser of JSON reads") {
  pc::test::Random random(4);
  const std::string parts[] = {
      "a",    "\"",    "\\",   "\\u",  "D83D", "de00", "\\ud83d\\ude00",   "\\uD800",
      "0041", "\xC3",  "\xA9", "\xE2", "\x82", "\xAC", "\xF0\x9F\x98\x80", "\xED\xA0\x80",
      "\n",   "\\n\"", "/",    "n",    "\x7F", "\xFF", "\\u0000",          "\xF4\x8F\xBF\xBF"};
  int strings = 0;
  for (int round = 0; round < 40'000; ++round) {
    std::string text;
    for (std::uint32_t n = random.below(4); n > 0; --n)
      text += parts[random.below(std::size(parts))];
    if (random.chance(0.8)) text += "\"";
    INFO(text);
    REQUIRE(takes(json_text(), text) == is_string(text));
    strings += is_string(text);
  }
  CHECK(strings > 2000);
}

}  // namespace
}  // namespace pc::constrain::test
