#include "runtime/constrain/automata/automaton.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/runtime/constrain/takes.h"

namespace pc::constrain::test {
namespace {

// Builds automata of a few rules.
class Rules {
 public:
  RuleId name() { return builder_.add_rule(); }
  void define(RuleId id, const Nfa& nfa, bool nests = false) {
    Rule rule;
    rule.nests = nests;
    builder_.define(id, determinise(nfa, budget_), rule);
  }
  Result<Automaton> finish(RuleId start) { return std::move(builder_).finish(start); }

 private:
  Budget budget_{1 << 20};
  AutomatonBuilder builder_{budget_};
};

// Brackets in each other: each rule is "[" rule "]", or "x".
Result<Automaton> brackets(bool has_way_out) {
  Rules rules;
  const RuleId rule = rules.name();
  Nfa nfa;
  nfa.finish_at(nfa.literal(nfa.call(nfa.literal(Nfa::kStart, "["), rule), "]"));
  if (has_way_out) nfa.finish_at(nfa.literal(Nfa::kStart, "x"));
  rules.define(rule, nfa, /*nests=*/true);
  const RuleId start = rules.name();
  Nfa all;
  all.finish_at(all.call(Nfa::kStart, rule));
  rules.define(start, all);
  return rules.finish(start);
}

TEST_CASE("rules call themselves as deep as may be, and no way leads into the open") {
  const Automaton automaton = brackets(true).value();
  const auto nested = [](std::size_t n) { return std::string(n, '[') + "x" + std::string(n, ']'); };
  CHECK(takes(automaton, "x"));
  CHECK(takes(automaton, nested(kMaxNesting - 1)));
  // The 33rd would open none other: it cannot be entered, so what leads to it cannot come.
  State state = start_of(automaton);
  for (std::size_t i = 0; i + 1 < kMaxNesting; ++i) state = behind_byte(automaton, state, '[');
  CHECK_FALSE(state.is_dead());
  CHECK(behind_byte(automaton, state, '[').is_dead());
  CHECK_FALSE(behind_byte(automaton, state, 'x').is_dead());
}

TEST_CASE("what has no finite text is refused, and what begins with itself") {
  CHECK_FALSE(brackets(false).ok());
  Rules rules;
  const RuleId a = rules.name(), b = rules.name();
  for (const auto& [rule, other] : {std::pair(a, b), std::pair(b, a)}) {
    Nfa nfa;
    nfa.finish_at(nfa.literal(nfa.call(Nfa::kStart, other), "x"));
    nfa.finish_at(nfa.literal(Nfa::kStart, "y"));
    rules.define(rule, nfa);
  }
  CHECK_FALSE(rules.finish(a).ok());
}

TEST_CASE("callers that differ in what follows share the rule that they call") {
  Rules rules;
  const RuleId digits = rules.name(), start = rules.name();
  Nfa nfa, all;
  const NodeId digit = nfa.add();
  nfa.edge(Nfa::kStart, '0', '9', digit);
  nfa.edge(digit, '0', '9', digit);
  nfa.finish_at(digit);
  rules.define(digits, nfa);
  for (const char* const word : {"a", "b", "c"}) {
    const NodeId from = all.add();
    all.skip(Nfa::kStart, from);
    all.finish_at(all.literal(all.call(from, digits), word));
  }
  rules.define(start, all);
  const Automaton automaton = rules.finish(start).value();
  State state = start_of(automaton);
  CHECK(state.threads.size() == 1);
  state = behind_byte(automaton, state, '7');
  CHECK(state.threads.size() == 2);  // in the number, and behind it
  CHECK(takes(automaton, "12b"));
  CHECK_FALSE(takes(automaton, "12d"));
}

}  // namespace
}  // namespace pc::constrain::test
