#include "runtime/constrain/grammar/masks.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/runtime/constrain/small_vocabulary.h"
#include "tests/runtime/constrain/takes.h"
#include "tests/support/random.h"

namespace pc::constrain::test {
namespace {

// Byte by byte, each token by itself.
bool may_come(const Automaton& automaton, const Vocabulary& vocabulary, State state,
              std::uint32_t token) {
  if (vocabulary.ends_turn(token)) return state.may_end;
  for (const char c : vocabulary.bytes(token))
    state = behind_byte(automaton, state, static_cast<std::uint8_t>(c));
  return !vocabulary.bytes(token).empty() && !state.is_dead();
}

void check_walks(std::string_view schema) {
  INFO(schema);
  const Automaton automaton = automaton_of(schema);
  const Vocabulary vocabulary(small_tokens());
  StringTokens strings(vocabulary);
  Masks masks(automaton, vocabulary, strings);
  pc::test::Random random(7);
  for (int walk = 0; walk < 12; ++walk) {
    State state = start_of(automaton);
    for (int step = 0; step < 40 && !state.threads.empty(); ++step) {
      TokenBits bits(vocabulary.n_words(), ~std::uint32_t{0});
      masks.of(state)->keep_in(bits);
      std::vector<std::uint32_t> allowed;
      for (std::uint32_t token = 0; token < vocabulary.size(); ++token) {
        const bool is_set = bits[token / 32] >> token % 32 & 1;
        INFO(vocabulary.bytes(token));
        REQUIRE(is_set == may_come(automaton, vocabulary, state, token));
        if (is_set && !vocabulary.ends_turn(token)) allowed.push_back(token);
      }
      if (allowed.empty()) break;
      for (const char c :
           vocabulary.bytes(allowed[random.below(static_cast<std::uint32_t>(allowed.size()))]))
        state = behind_byte(automaton, state, static_cast<std::uint8_t>(c));
    }
  }
}

TEST_CASE("a mask has each token whose bytes can come, and no other") {
  check_walks("{}");
  check_walks(R"({"type":"string"})");
  check_walks(R"({"type":"string","minLength":3,"maxLength":6})");
  check_walks(R"({"type":"string","pattern":"^(a|tre)*\\\\?[^e]{2,5}$"})");
  check_walks(
      R"({"type":"object","properties":{"name":{"type":"string","maxLength":5},"a":{"enum":["the","true"]}},
                  "additionalProperties":{"type":"string","format":"date"}})");
  check_walks(
      R"({"anyOf":[{"type":"string","maxLength":2},{"type":"string","pattern":"^the"},{"type":"array"}]})");
}

TEST_CASE("what a memo cannot hold is made again") {
  struct Sized {
    int value;
    static std::size_t bytes() { return 10; }
  };
  Memo<Fingerprint, Sized> memo(25);
  int made = 0;
  const auto get = [&](std::uint64_t key) {
    return memo.get({0, key}, [&] { return Sized{++made}; })->value;
  };
  CHECK(get(1) == 1);
  CHECK(get(2) == 2);
  CHECK(get(1) == 1);
  CHECK(get(3) == 3);  // no room: all others are forgotten
  CHECK(get(3) == 3);
  CHECK(get(1) == 4);
}

}  // namespace
}  // namespace pc::constrain::test
