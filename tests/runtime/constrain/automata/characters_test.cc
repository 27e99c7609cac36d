#include "runtime/constrain/automata/characters.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/random.h"
#include "tools/output/json.h"

namespace pc::constrain::test {
namespace {

std::string utf8(std::uint32_t c) {
  const auto tail = [c](unsigned shift) { return static_cast<char>(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) return {static_cast<char>(c)};
  if (c < 0x800) return {static_cast<char>(0xC0 | c >> 6), tail(0)};
  if (c < 0x10000) return {static_cast<char>(0xE0 | c >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | c >> 18), tail(12), tail(6), tail(0)};
}

// As JSON writes the character in a string, without the quotes: by another library.
std::string spelled(std::uint32_t c) {
  const std::string quoted = cli::Json(utf8(c)).dump();
  return quoted.substr(1, quoted.size() - 2);
}

Dfa dfa_of(const CharacterSet& set, Spelling spelling = Spelling::kJson) {
  Nfa nfa;
  const NodeId end = nfa.add();
  add_character(nfa, Nfa::kStart, set, end, spelling);
  nfa.finish_at(end);
  Budget budget(1 << 20);
  return determinise(nfa, budget);
}

bool has(const CharacterSet& set, std::uint32_t c) {
  for (const CharacterSet::Range& range : set.ranges())
    if (range.first <= c && c <= range.last) return true;
  return false;
}

bool is_surrogate(std::uint32_t c) {
  return c >= 0xD800 && c <= 0xDFFF;
}

TEST_CASE("each character of a set is taken as JSON spells it or as it is, and no other") {
  pc::test::Random random(3);
  const std::uint32_t edges[] = {0,       0x1F,    0x20,    '"',     '\\',    0x7F,
                                 0x80,    0x7FF,   0x800,   0xD7FF,  0xE000,  0xFFFF,
                                 0x10000, 0x3FFFF, 0x40000, 0xFFFFF, 0x10FFFF};
  const auto any = [&] {
    return random.chance(0.5) ? edges[random.below(std::size(edges))] : random.below(0x110000);
  };
  for (int round = 0; round < 60; ++round) {
    CharacterSet set;
    for (std::uint32_t n = random.below(4); n > 0; --n) {
      const std::uint32_t a = any(), b = any();
      set.add({{std::min(a, b), std::max(a, b)}});
    }
    const Dfa dfa = dfa_of(set), others = dfa_of(set.others());
    const Dfa plain = dfa_of(set, Spelling::kPlain);
    for (int i = 0; i < 200; ++i) {
      const std::uint32_t c = i < 34 ? edges[static_cast<std::size_t>(i / 2)] + (i & 1) : any();
      if (is_surrogate(c) || c > kMaxCharacter) continue;
      INFO(c);
      REQUIRE(takes(dfa, spelled(c)) == has(set, c));
      REQUIRE(takes(others, spelled(c)) != has(set, c));
      REQUIRE(takes(plain, utf8(c)) == has(set, c));
    }
  }
}

// Built range by range, and put in order each time, these would take hours.
TEST_CASE("a set of hundreds of thousands of ranges is what they say together") {
  pc::test::Random random(7);
  std::vector<CharacterSet::Range> ranges;
  std::vector<bool> is_in(kMaxCharacter + 1);
  for (std::uint32_t c = 0; c + 3 <= kMaxCharacter; c += 3) {
    const CharacterSet::Range range{c, c + random.below(3)};
    ranges.push_back(range);
    std::fill(is_in.begin() + range.first, is_in.begin() + range.last + 1, true);
  }
  for (std::size_t i = ranges.size(); i > 1; --i)
    std::swap(ranges[i - 1], ranges[random.below(static_cast<std::uint32_t>(i))]);
  const CharacterSet set(std::move(ranges));
  std::vector<bool> found(kMaxCharacter + 1);
  bool is_tidy = true;
  std::uint32_t next = 0;
  for (const CharacterSet::Range& range : set.ranges()) {
    is_tidy = is_tidy && range.first >= next && range.first <= range.last;
    next = range.last + 2;  // they do not touch
    std::fill(found.begin() + range.first, found.begin() + range.last + 1, true);
  }
  CHECK(is_tidy);
  CHECK(found == is_in);
}

TEST_CASE("what is not UTF-8 is taken by no set") {
  const Dfa all = dfa_of(CharacterSet::all());
  for (const std::string text :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\"", "\\", "\n", "\x01"})
    CHECK_FALSE(takes(all, text));
}

}  // namespace
}  // namespace pc::constrain::test
