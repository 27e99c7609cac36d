#include "runtime/constrain/automata/dfa.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/random.h"

namespace pc::constrain::test {
namespace {

using pc::test::Random;

// Its edges again, to walk it without making it deterministic.
struct Loose {
  struct Move {
    NodeId from;
    int first, last;  // -1: takes nothing
    NodeId to;
  };
  std::vector<Move> moves;
  std::vector<bool> is_final;

  bool takes(std::string_view text) const {
    std::vector<bool> at(is_final.size());
    at[0] = true;
    close(at);
    for (const char c : text) {
      std::vector<bool> next(at.size());
      for (const Move& move : moves)
        if (at[move.from] && move.first >= 0 && move.first <= c && c <= move.last)
          next[move.to] = true;
      at = next;
      close(at);
    }
    for (std::size_t i = 0; i < at.size(); ++i)
      if (at[i] && is_final[i]) return true;
    return false;
  }
  void close(std::vector<bool>& at) const {
    for (std::size_t round = 0; round < at.size(); ++round)
      for (const Move& move : moves)
        if (move.first < 0 && at[move.from]) at[move.to] = true;
  }
};

std::pair<Nfa, Loose> random_nfa(Random& random) {
  Nfa nfa;
  Loose loose;
  const std::uint32_t n = random.between(1, 7);
  while (nfa.size() < n) nfa.add();
  loose.is_final.resize(n);
  for (std::uint32_t i = 0; i < n; ++i)
    if (random.chance(0.3)) {
      nfa.finish_at(i);
      loose.is_final[i] = true;
    }
  for (std::uint32_t i = random.below(16); i > 0; --i) {
    const NodeId from = random.below(n), to = random.below(n);
    const int first = 'a' + static_cast<int>(random.below(4)),
              last = first + static_cast<int>(random.below(3));
    if (random.chance(0.25)) {
      nfa.skip(from, to);
      loose.moves.push_back({from, -1, -1, to});
    } else {
      nfa.edge(from, static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(last), to);
      loose.moves.push_back({from, first, last, to});
    }
  }
  return {nfa, loose};
}

std::string random_text(Random& random) {
  std::string text;
  for (std::uint32_t n = random.below(7); n > 0; --n)
    text += static_cast<char>('a' + random.below(7));
  return text;
}

TEST_CASE(
    "a deterministic automaton takes what it was made of takes; so do both at once, and neither") {
  Random random(1);
  for (int round = 0; round < 400; ++round) {
    Budget budget(1 << 20);
    const auto [a, loose_a] = random_nfa(random);
    const auto [b, loose_b] = random_nfa(random);
    const Dfa in_a = determinise(a, budget), in_b = determinise(b, budget);
    const Dfa in_both = intersection(in_a, in_b, budget), not_in_a = complement(in_a);
    for (int i = 0; i < 40; ++i) {
      const std::string text = random_text(random);
      INFO(text);
      REQUIRE(takes(in_a, text) == loose_a.takes(text));
      REQUIRE(takes(in_both, text) == (loose_a.takes(text) && loose_b.takes(text)));
      REQUIRE(takes(not_in_a, text) != loose_a.takes(text));
    }
    for (const Dfa::Node& node : in_a.nodes)
      REQUIRE(std::ranges::is_sorted(node.edges, {}, &Edge::first));
  }
}

TEST_CASE("calls of one rule become one call") {
  Nfa nfa;
  const NodeId a = nfa.call(Nfa::kStart, 7), b = nfa.call(Nfa::kStart, 7),
               c = nfa.call(Nfa::kStart, 8);
  nfa.finish_at(nfa.literal(a, "x"));
  nfa.finish_at(nfa.literal(b, "y"));
  nfa.finish_at(c);
  Budget budget(1000);
  const Dfa dfa = determinise(nfa, budget);
  REQUIRE(dfa.nodes[0].calls.size() == 2);
  CHECK(dfa.nodes[0].calls[0].rule == 7);
  CHECK(dfa.nodes[dfa.nodes[0].calls[0].to].edges.size() == 2);
}

TEST_CASE("what would be too large is refused before it is made") {
  Nfa nfa;  // its 13th byte from the end is an "a": 2^13 sets
  NodeId at = nfa.add();
  nfa.skip(Nfa::kStart, at);
  nfa.edge(at, 'a', 'b', at);
  at = nfa.literal(at, "a");
  for (int i = 0; i < 12; ++i) {
    const NodeId next = nfa.add();
    nfa.edge(at, 'a', 'b', next);
    at = next;
  }
  nfa.finish_at(at);
  Budget small(1000), large(1'000'000);
  CHECK(determinise(nfa, small).nodes.size() == 1);
  CHECK_FALSE(small.check().ok());
  CHECK(determinise(nfa, large).nodes.size() > 4000);
}

TEST_CASE("a text that the budget cannot pay for adds nothing") {
  Nfa nfa;
  Budget budget(100);
  const NodeId end = nfa.literal(Nfa::kStart, "abc", budget);
  CHECK(nfa.size() == 4);
  CHECK(nfa.literal(end, std::string(97, 'x'), budget) == end);
  CHECK(nfa.size() == 4);
  CHECK(budget.is_over());
  CHECK(nfa.literal(end, "x", budget) == end);  // nor does what comes behind it
}

}  // namespace
}  // namespace pc::constrain::test
