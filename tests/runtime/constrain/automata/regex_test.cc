#include "runtime/constrain/automata/regex.h"

#include <catch2/catch.hpp>
#include <regex>
#include <string>

#include "runtime/constrain/schemas/formats.h"
#include "tests/support/random.h"

namespace pc::constrain::test {
namespace {

using pc::test::Random;

bool finds(const std::string& pattern, const std::string& text) {
  Budget budget(1 << 20);
  return takes(pattern_text(pattern, budget).value(), text + "\"");
}

std::string refusal_of(const std::string& pattern) {
  const auto parsed = parse_pattern(pattern);
  return parsed.ok() ? "" : parsed.error().message;
}

std::string random_pattern(Random& random, int depth) {
  const std::string atoms[] = {"a", "b", "[ab]", "[^a]", ".", "\\d", "c", "[a-c1]", "\\w"};
  const std::string counts[] = {"", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,1}?", "*?"};
  std::string pattern;
  for (std::uint32_t n = random.between(1, 3); n > 0; --n) {
    if (depth > 0 && random.chance(0.3))
      pattern += (random.chance(0.5) ? "(?:" : "(") + random_pattern(random, depth - 1) + "|" +
                 random_pattern(random, depth - 1) + ")";
    else
      pattern += atoms[random.below(std::size(atoms))];
    pattern += counts[random.below(std::size(counts))];
  }
  return pattern;
}

TEST_CASE("patterns find what ECMA-262's engine of the standard library finds") {
  Random random(6);
  int found = 0;
  for (int round = 0; round < 150; ++round) {
    const std::string pattern = (random.chance(0.5) ? "^" : "") + random_pattern(random, 2) +
                                (random.chance(0.5) ? "$" : "");
    const std::regex oracle(pattern, std::regex::ECMAScript);
    Budget budget(1 << 22);
    const Dfa dfa = pattern_text(pattern, budget).value();
    for (int i = 0; i < 30; ++i) {
      std::string text;
      for (std::uint32_t n = random.below(6); n > 0; --n) text += "abc1-"[random.below(5)];
      INFO(pattern << "   " << text);
      REQUIRE(takes(dfa, text + "\"") == std::regex_search(text, oracle));
      found += std::regex_search(text, oracle);
    }
  }
  CHECK(found > 600);
}

TEST_CASE("classes take what engines agree on") {
  CHECK(finds("^\\d$", "7"));
  CHECK_FALSE(finds("^\\d$", "\xD9\xA3"));  // a digit in Arabic: Python's, not ECMA-262's
  CHECK_FALSE(finds("^\\D$", "\xD9\xA3"));
  CHECK_FALSE(finds("^[^\\w]$", "\xC3\xA9"));
  CHECK_FALSE(finds("^\\W$", "\xC3\xA9"));
  CHECK(finds("^\\W$", "-"));
  CHECK(finds("^\\S$", "\xC3\xA9"));
  CHECK_FALSE(finds("^\\S$", "\xC2\xA0"));
  CHECK_FALSE(finds("^.$", "\\n"));
  CHECK(finds("^[\\s\\S]$", "\\n"));
  CHECK(finds("^[^x]$", "\\n"));
}

TEST_CASE("a class may have tens of thousands of ranges") {
  constexpr std::uint32_t kFirst = 0x10000, kRanges = 50'000;
  std::string pattern = "[";
  for (std::uint32_t i = 0; i < kRanges; ++i) {  // every other one, from the middle to both ends
    const std::uint32_t c = kFirst + 2 * (i % 2 ? kRanges / 2 + i / 2 : kRanges / 2 - 1 - i / 2);
    for (const unsigned shift : {18u, 12u, 6u, 0u})
      pattern += static_cast<char>(shift == 18 ? 0xF0 | c >> 18 : 0x80 | (c >> shift & 0x3F));
  }
  const auto parsed = parse_pattern(pattern + "]").value();
  const auto ranges = parsed.at(0).regex->characters.ranges();
  REQUIRE(ranges.size() == kRanges);
  bool is_every_other = true;
  for (std::uint32_t i = 0; i < kRanges; ++i)
    is_every_other =
        is_every_other && ranges[i].first == kFirst + 2 * i && ranges[i].last == ranges[i].first;
  CHECK(is_every_other);
}

TEST_CASE("escapes, and characters that JSON escapes") {
  CHECK(finds("^\\\\$", "\\\\"));
  CHECK(finds("^\"$", "\\\""));
  CHECK(finds("^\\x41\\u00e9\\/\\.\\-$", "A\xC3\xA9/.-"));
  CHECK(finds("^[\\]\\-\\\\]+$", "]-\\\\"));
}

TEST_CASE("what is not regular, or read differently by engines, is refused") {
  for (const char* const pattern :
       {"a(?=b)", "(?!a)", "(?<=a)b", "(?<!a)b", "\\bx", "(a)\\1",       "\\p{L}",
        "a^b",    "a$b",   "(^a)",    "(a$)",    "(a",   "a)",           "[a",
        "[b-a]",  "[]a]",  "[\\d-x]", "a**",     "*a",   "a{2,1}",       "a{,2}",
        "a{x",    "\\",    "\\u12",   "\\ud83d", "\\cA", "a{999999999}", "\\1"})
    CHECK(refusal_of(pattern) != "");
  for (const char* const pattern :
       {"", "a|", "^$", "(?<name>a)", "()", "a{2}?", "[-a]", "[a-]", "]", "\\$"})
    CHECK(refusal_of(pattern) == "");
}

TEST_CASE("a text that is matched is matched wholly, and has no end of its own") {
  Budget budget(1 << 20);
  const Dfa dfa = matched_text("[0-9]{2}|b\\+?", budget).value();
  for (const char* const text : {"12", "b", "b+"}) CHECK(takes(dfa, text));
  for (const char* const text : {"", "1", "123", "b++", "ab", "12\""})
    CHECK_FALSE(takes(dfa, text));
}

TEST_CASE("what is refused in a pattern is told with its place") {
  CHECK(refusal_of("ab(?=c)").find("at byte 4: it looks ahead") != std::string::npos);
  CHECK(refusal_of("a{3,1}").find("at byte 6: what stands in") != std::string::npos);
}

TEST_CASE("texts of a length") {
  Budget budget(1 << 20);
  const Dfa dfa = length_text(2, 3, budget);
  for (const char* const text : {"ab\"", "\xC3\xA9\\n\"", "abc\"", "\\u0001\xF0\x9F\x98\x80z\""})
    CHECK(takes(dfa, text));
  for (const char* const text : {"\"", "a\"", "abcd\"", "ab"}) CHECK_FALSE(takes(dfa, text));
}

TEST_CASE("a length that is too large is refused before anything is made of it") {
  for (const auto& [least, most] :
       {std::pair(0u, 900'000'000u), std::pair(900'000'000u, Regex::kUnlimited)}) {
    Budget budget(1 << 20);
    CHECK_FALSE(takes(length_text(least, most, budget), "\""));
    CHECK(budget.is_over());
    CHECK(budget.left() == 1 << 20);  // nothing of it was used
  }
}

TEST_CASE("each format has a pattern that can be enforced") {
  for (const char* const format :
       {"date", "time", "date-time", "duration", "uuid", "email", "hostname", "ipv4", "uri",
        "idn-email", "idn-hostname", "ipv6", "uri-reference", "uri-template", "iri",
        "iri-reference", "json-pointer", "relative-json-pointer", "regex"}) {
    INFO(format);
    const auto pattern = pattern_of_format(format);
    REQUIRE(pattern);
    Budget budget(1 << 20);
    CHECK(pattern_text(*pattern, budget).value().nodes.size() < 10'000);
  }
  CHECK_FALSE(pattern_of_format("phone"));
}

}  // namespace
}  // namespace pc::constrain::test
