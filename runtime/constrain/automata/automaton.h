// A grammar that is ready to be walked: rules that call each other, each a Dfa. A pushdown
// automaton over bytes; XGrammar (arXiv 2411.15100) constrains models by such ones.
//
// Rules of text are leaves, in which a model spends most of its tokens: masks know them
// (masks.h). Counted ones are the insides of JSON strings whose characters are counted while they
// are walked, so that a limit of a million costs no nodes.
//
// No way leads into the open: a node knows how many arrays and objects it needs to open inside
// each other to come to the end of its rule, and what needs more than kMaxNesting is not entered.
//
// Invariants: no rule takes the empty text; no rule begins with itself. Immutable value, cheap to
// share by pointer. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "runtime/constrain/automata/dfa.h"

namespace pc::constrain {

// Arrays and objects in each other.
inline constexpr std::uint16_t kMaxNesting = 32;

struct Rule {
  enum class Kind {
    kSyntax,
    kText,     // without calls
    kCounted,  // kText, as json_text() makes it: its entry stands between two characters
  };
  Kind kind = Kind::kSyntax;
  bool nests = false;                          // an array or an object
  std::uint32_t least = 0, most = UINT32_MAX;  // kCounted: characters
  NodeId entry = 0;
  std::uint32_t order = 0;  // higher than that of each rule that may begin with this one
};

class Automaton {
 public:
  std::span<const Edge> edges(NodeId node) const {
    return std::span(edges_).subspan(nodes_[node].first_edge,
                                     nodes_[node + 1].first_edge - nodes_[node].first_edge);
  }
  std::span<const Call> calls(NodeId node) const {
    return std::span(calls_).subspan(nodes_[node].first_call,
                                     nodes_[node + 1].first_call - nodes_[node].first_call);
  }
  bool is_final(NodeId node) const { return nodes_[node].is_final; }
  const Rule& rule_of(NodeId node) const { return rules_[nodes_[node].rule]; }
  const Rule& rule(RuleId rule) const { return rules_[rule]; }
  // Arrays and objects in each other from here to the end of the rule, at least.
  std::uint16_t need(NodeId node) const { return nodes_[node].need; }
  NodeId start() const { return rules_[start_].entry; }
  std::size_t n_nodes() const { return nodes_.size() - 1; }

 private:
  friend class AutomatonBuilder;
  struct Node {
    std::uint32_t first_edge, first_call;
    RuleId rule;
    std::uint16_t need;
    bool is_final;
  };
  std::vector<Node> nodes_;  // [n + 1]
  std::vector<Edge> edges_;
  std::vector<Call> calls_;
  std::vector<Rule> rules_;
  RuleId start_ = 0;
};

// Rules are named first and told later, as they may be about each other.
class AutomatonBuilder {
 public:
  explicit AutomatonBuilder(Budget& budget) : budget_(budget) {}

  RuleId add_rule();
  // Once for each rule. Of `rule`, kind, nests, least and most count.
  void define(RuleId id, const Dfa& dfa, Rule rule = {});

  // Refused where a rule begins with itself, where no text at all is taken, and where the budget is
  // over.
  Result<Automaton> finish(RuleId start) &&;

 private:
  void follow_aliases();
  Status order_rules();
  void find_needs();

  Budget& budget_;
  Automaton made_;
};

}  // namespace pc::constrain
