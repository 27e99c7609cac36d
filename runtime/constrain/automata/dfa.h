// Automata over bytes in which an edge may also be a call of a rule: what the rule says stands
// there.
//
// An Nfa is what one writes down, a Dfa what one walks: no two of its edges take the same byte, and
// no two of its calls are of the same rule. Values. Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/constrain/automata/refusal.h"

namespace pc::constrain {

using NodeId = std::uint32_t;
using RuleId = std::uint32_t;

struct Edge {
  std::uint8_t first, last;  // bytes
  NodeId to;
};
struct Call {
  RuleId rule;
  NodeId to;  // where it goes on behind
};

struct Dfa {
  static Dfa of_nothing() { return {{Node{}}}; }

  struct Node {
    std::vector<Edge> edges;  // by their bytes
    std::vector<Call> calls;
    bool is_final = false;
  };
  std::vector<Node> nodes;  // the first is the start
};

class Nfa {
 public:
  Nfa() : nodes_(1) {}

  static constexpr NodeId kStart = 0;
  NodeId add();
  void edge(NodeId from, std::uint8_t first, std::uint8_t last, NodeId to);
  void skip(NodeId from, NodeId to);  // takes nothing
  void call(NodeId from, RuleId rule, NodeId to);
  void finish_at(NodeId node) { nodes_[node].is_final = true; }

  // These give the node behind.
  NodeId literal(NodeId from, std::string_view bytes);
  NodeId call(NodeId from, RuleId rule);
  // Of a text that somebody else wrote: adds nothing, and the budget is over, where it could not
  // pay for all that is there then, which determinise() wants.
  NodeId literal(NodeId from, std::string_view bytes, Budget& budget);

  std::size_t size() const { return nodes_.size(); }

 private:
  friend class Determiniser;
  struct Node {
    std::vector<Edge> edges;
    std::vector<NodeId> skips;
    std::vector<Call> calls;
    bool is_final = false;
  };
  std::vector<Node> nodes_;
};

// These take nothing where the budget is over.

// By sets of nodes (Rabin and Scott 1959).
Dfa determinise(const Nfa& nfa, Budget& budget);

// What both take; of automata without calls.
Dfa intersection(const Dfa& a, const Dfa& b, Budget& budget);
Dfa united(Dfa a, Dfa b, Budget& budget);  // what one of both takes
// What it does not take.
Dfa complement(Dfa dfa);
bool takes(const Dfa& dfa, std::string_view text);

}  // namespace pc::constrain
