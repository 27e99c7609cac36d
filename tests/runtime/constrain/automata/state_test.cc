#include "runtime/constrain/automata/state.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/runtime/constrain/takes.h"

namespace pc::constrain::test {
namespace {

State behind(const Automaton& automaton, std::string_view text) {
  State state = start_of(automaton);
  for (const char c : text) state = behind_byte(automaton, state, static_cast<std::uint8_t>(c));
  return state;
}

TEST_CASE("the same place has the same fingerprint, and another has another") {
  const Automaton automaton = automaton_of(
      R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","maxLength":9}}})");
  const auto print = [&](std::string_view text) { return behind(automaton, text).fingerprint; };
  CHECK(print(R"({"a":"x)") == print(R"({"a": "some other)"));
  CHECK(print(R"({"a":"x)") != print(R"({"b":"x)"));
  CHECK(print(R"({"b":"x)") != print(R"({"b":"xy)"));  // its characters are counted
  CHECK(print(R"({"a":"\)") != print(R"({"a":")"));
}

TEST_CASE("alternatives that go on alike do not multiply") {
  // Each "left" may be of either kind, which shows at its end: 2^n ways behind n of them.
  const Automaton automaton = automaton_of(
      R"({"$ref":"#/$defs/e","$defs":{"e":{"anyOf":[{"type":"null"},
        {"type":"object","properties":{"l":{"$ref":"#/$defs/e"},"op":{"const":"+"}},"required":["l","op"]},
        {"type":"object","properties":{"l":{"$ref":"#/$defs/e"},"op":{"const":"-"}},"required":["l","op"]}]}}})");
  std::string text;
  for (int depth = 0; depth < 30; ++depth) text += R"({"l":)";
  CHECK(behind(automaton, text).threads.size() < 10);
  text += "null";
  for (int depth = 0; depth < 30; ++depth) text += depth % 3 ? R"(,"op":"+"})" : R"(,"op":"-"})";
  CHECK(takes(automaton, text));
  CHECK(behind(automaton, text.substr(0, text.size() - 2) + "!").is_dead());
}

TEST_CASE("objects and arrays are nested as deep as may be, whatever they are") {
  const Automaton automaton = automaton_of(R"({"type":"object"})");
  std::string text;
  for (int depth = 0; depth < kMaxNesting - 1; ++depth) text += R"({"a":)";
  CHECK(takes(automaton, text + "{}" + std::string(kMaxNesting - 1, '}')));
  CHECK(behind(automaton, text + R"({"a":[)").is_dead());
  CHECK_FALSE(behind(automaton, text + R"({"a":1)").is_dead());
}

TEST_CASE("a text may be as deep in rules as it is long") {
  const Automaton automaton =
      gbnf_grammar("root ::= \"(\" root \")\" | \"x\"", "grammar").compiled().value().automaton;
  const std::string open(300'000, '('), closed(300'000, ')');
  CHECK(takes(automaton, open + "x" + closed));
  CHECK_FALSE(takes(automaton, open + "x" + closed + ")"));
  CHECK_FALSE(behind(automaton, open).is_dead());  // freed while it is open
}

}  // namespace
}  // namespace pc::constrain::test
