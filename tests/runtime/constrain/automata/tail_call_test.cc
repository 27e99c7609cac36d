// Calls at the end of a rule: they take what they took when each had a frame, in bounded room.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/constrain/grammar/gbnf.h"
#include "tests/runtime/constrain/takes.h"
#include "tests/support/random.h"

namespace pc::constrain::test {
namespace {

Automaton automaton_of_gbnf(std::string_view grammar) {
  return gbnf_grammar(grammar, "grammar").compiled().value().automaton;
}

// How many frames are below each other, at most.
std::size_t depth_of(const FramePtr& frame) {
  std::size_t below = 0;
  if (!frame) return 0;
  for (const Frame::Return& to : frame->returns) below = std::max(below, depth_of(to.frame));
  return below + 1;
}

std::size_t depth_of(const State& state) {
  std::size_t depth = 0;
  for (const Thread& thread : state.threads) depth = std::max(depth, depth_of(thread.frame));
  return depth;
}

struct Size {
  std::size_t n_threads, depth;
  Fingerprint fingerprint;
  friend bool operator==(const Size&, const Size&) = default;
};

Size size_behind(const Automaton& automaton, std::string_view text) {
  State state = start_of(automaton);
  for (const char c : text) state = behind_byte(automaton, state, static_cast<std::uint8_t>(c));
  return {state.threads.size(), depth_of(state), state.fingerprint};
}

TEST_CASE("a rule that ends in itself is as deep behind many items as behind few") {
  for (const char* const grammar : {
           R"(root ::= "a" root | "")",
           R"(root ::= "a" root | "a")",
           R"(root ::= "a" [ab]* root | "b")",
           "root ::= \"a\" x | \"b\"\nx ::= \"a\" root | \"b\" y\ny ::= \"a\"",
           "root ::= list \"!\"\nlist ::= \"a\" list | \"a\" \"a\" list | \"b\"",
       }) {
    INFO(grammar);
    const Automaton automaton = automaton_of_gbnf(grammar);
    const Size few = size_behind(automaton, std::string(8, 'a'));
    CHECK(size_behind(automaton, std::string(20'000, 'a')) == few);
    CHECK(few.depth <= 3);
  }
}

TEST_CASE("what stands behind a call keeps the caller's place") {
  const Automaton automaton = automaton_of_gbnf(R"g(root ::= "(" root ")" | "x")g");
  CHECK(size_behind(automaton, std::string(40, '(')).depth >= 40);
}

// Compared with each other these would take minutes.
TEST_CASE("as many rules may be over at one byte as the text is deep") {
  const Automaton automaton = automaton_of_gbnf("root ::= \"a\" root [ ]? | \"b\"");
  const std::string text = std::string(100'000, 'a') + "b";
  State state = start_of(automaton);
  for (const char c : text) state = behind_byte(automaton, state, static_cast<std::uint8_t>(c));
  CHECK(state.threads.size() == 100'000);
  CHECK(takes(automaton, text + "  "));
  CHECK_FALSE(takes(automaton, text + " b"));
}

// The texts of grammars by their definition: where a part can end that begins at a byte.
class Matcher {
 public:
  Matcher(const GbnfRules& rules, std::string_view text) : rules_(rules), text_(text) {}

  bool takes() { return ends(*rules_.at("root"), 0).contains(text_.size()); }

 private:
  using Ends = std::set<std::size_t>;

  const Ends& ends(const GbnfNode& node, std::size_t at) {
    const auto [known, is_new] = known_.try_emplace({&node, at});
    if (!is_new) return known->second;
    Ends found = find(node, at);
    return known_[{&node, at}] = std::move(found);
  }

  Ends behind(const GbnfNode& node, const Ends& begins) {
    Ends all;
    for (const std::size_t at : begins) all.merge(Ends(ends(node, at)));
    return all;
  }

  Ends find(const GbnfNode& node, std::size_t at) {
    Ends found{at};
    switch (node.kind) {
      case GbnfNode::Kind::kCharacter:
        return has(node.characters, at) ? Ends{at + 1} : Ends{};
      case GbnfNode::Kind::kCall:
        return ends(*rules_.at(node.rule), at);
      case GbnfNode::Kind::kSequence:
        for (const GbnfPtr& part : node.parts) found = behind(*part, found);
        return found;
      case GbnfNode::Kind::kChoice:
        found.clear();
        for (const GbnfPtr& part : node.parts) found.merge(Ends(ends(*part, at)));
        return found;
      case GbnfNode::Kind::kRepeat:
        break;
    }
    Ends all;
    for (std::uint32_t i = 0; i <= node.most && i <= node.least + text_.size(); ++i) {
      if (i >= node.least) all.merge(Ends(found));
      found = behind(*node.parts.front(), found);
    }
    return all;
  }

  bool has(const CharacterSet& set, std::size_t at) const {
    if (at == text_.size()) return false;
    const auto c = static_cast<std::uint32_t>(text_[at]);
    return std::ranges::any_of(
        set.ranges(), [c](const auto& range) { return range.first <= c && c <= range.last; });
  }

  const GbnfRules& rules_;
  const std::string_view text_;
  std::map<std::pair<const GbnfNode*, std::size_t>, Ends> known_;
};

// Grammars of a few rules that call each other, most of them behind something.
class RandomGrammar {
 public:
  explicit RandomGrammar(std::uint64_t seed) : random_(seed) {}

  std::string run() {
    std::string text;
    for (const char* const name : {"root", "x", "y"}) text += name + (" ::= " + choice(2)) + "\n";
    return text;
  }

 private:
  std::string choice(int depth) {
    std::string text = sequence(depth);
    for (std::uint32_t n = random_.below(3); n > 0; --n) text += " | " + sequence(depth);
    return text;
  }
  std::string sequence(int depth) {
    std::string text = random_.chance(0.8) ? letter() : item(depth);
    for (std::uint32_t n = random_.below(3); n > 0; --n) text += " " + item(depth);
    return text;
  }
  std::string item(int depth) {
    constexpr const char* kRules[] = {"root", "x", "y"};
    constexpr const char* kRepetitions[] = {"", "", "*", "+", "?", "{1,2}"};
    const std::string repetition = kRepetitions[random_.below(6)];
    if (depth > 0 && random_.chance(0.2)) return "(" + choice(depth - 1) + ")" + repetition;
    if (random_.chance(0.6)) return kRules[random_.below(3)] + repetition;
    return letter() + repetition;
  }
  std::string letter() {
    constexpr const char* kLetters[] = {"\"a\"", "\"b\"", "[ab]", "\"\""};
    return kLetters[random_.below(random_.chance(0.1) ? 4 : 3)];
  }

  pc::test::Random random_;
};

TEST_CASE("random grammars take what their definition says, and nothing else") {
  int n_compiled = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const std::string grammar = RandomGrammar(seed).run();
    const auto compiled = gbnf_grammar(grammar, "grammar").compiled();
    if (!compiled.ok()) continue;  // begins with itself, or never ends
    ++n_compiled;
    const GbnfRules rules = parse_gbnf(grammar).value();
    for (std::size_t length = 1; length <= 6; ++length)
      for (std::uint32_t bits = 0; bits < 1u << length; ++bits) {
        std::string text;
        for (std::size_t i = 0; i < length; ++i) text += bits >> i & 1 ? 'a' : 'b';
        const bool is_taken = takes(compiled->automaton, text);
        if (is_taken == Matcher(rules, text).takes()) continue;
        FAIL(grammar << text << (is_taken ? " is taken" : " is not taken"));
      }
  }
  CHECK(n_compiled > 300);
}

}  // namespace
}  // namespace pc::constrain::test
