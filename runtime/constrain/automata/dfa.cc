#include "runtime/constrain/automata/dfa.h"

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>

namespace pc::constrain {

NodeId Nfa::add() {
  nodes_.emplace_back();
  return static_cast<NodeId>(nodes_.size() - 1);
}

void Nfa::edge(NodeId from, std::uint8_t first, std::uint8_t last, NodeId to) {
  nodes_[from].edges.push_back({first, last, to});
}

void Nfa::skip(NodeId from, NodeId to) {
  nodes_[from].skips.push_back(to);
}

void Nfa::call(NodeId from, RuleId rule, NodeId to) {
  nodes_[from].calls.push_back({rule, to});
}

NodeId Nfa::literal(NodeId from, std::string_view bytes) {
  for (const char c : bytes) {
    const NodeId to = add();
    edge(from, static_cast<std::uint8_t>(c), static_cast<std::uint8_t>(c), to);
    from = to;
  }
  return from;
}

NodeId Nfa::literal(NodeId from, std::string_view bytes, Budget& budget) {
  budget.expect(nodes_.size() + bytes.size());
  return budget.is_over() ? from : literal(from, bytes);
}

NodeId Nfa::call(NodeId from, RuleId rule) {
  const NodeId to = add();
  call(from, rule, to);
  return to;
}

namespace {

// Behind the last byte of a node's edges, and where they change: between two of these, all bytes
// have the same targets.
std::vector<unsigned> borders_of(std::span<const Edge> edges) {
  std::vector<unsigned> borders;
  for (const Edge& e : edges) {
    borders.push_back(e.first);
    borders.push_back(e.last + 1u);
  }
  std::ranges::sort(borders);
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  return borders;
}

// Behind the others; joined with the last one where it goes on with it.
void add_edge(std::vector<Edge>& edges, Edge edge) {
  if (!edges.empty() && edges.back().to == edge.to && edges.back().last + 1 == edge.first)
    edges.back().last = edge.last;
  else
    edges.push_back(edge);
}

}  // namespace

class Determiniser {
 public:
  Determiniser(const Nfa& nfa, Budget& budget)
      : nfa_(nfa), budget_(budget), seen_(nfa.nodes_.size()) {}

  Dfa run() {
    node_of({Nfa::kStart});
    for (std::size_t i = 0; i < sets_.size() && !budget_.is_over(); ++i) expand(i);
    return budget_.is_over() ? Dfa::of_nothing() : std::move(dfa_);
  }

 private:
  using Set = std::vector<NodeId>;
  struct SetHash {  // FNV-1a, node by node
    std::size_t operator()(const Set& set) const {
      std::uint64_t hash = 0xcbf29ce484222325;
      for (const NodeId node : set) hash = (hash ^ node) * 0x100000001b3;
      return hash;
    }
  };

  // All that is reached without a byte.
  Set closed(const Set& kernel) {
    ++round_;
    Set set;
    const auto add = [&](NodeId node) {
      if (std::exchange(seen_[node], round_) != round_) set.push_back(node);
    };
    for (const NodeId node : kernel) add(node);
    for (std::size_t i = 0; i < set.size(); ++i)
      for (const NodeId to : nfa_.nodes_[set[i]].skips) add(to);
    return set;
  }

  NodeId node_of(const Set& kernel) {
    budget_.spend(1 + kernel.size());
    const auto known = kernels_.find(kernel);
    if (known != kernels_.end()) return known->second;
    Set set = closed(kernel);
    std::ranges::sort(set);
    budget_.spend(1 + set.size());
    const auto [at, is_new] = ids_.try_emplace(std::move(set), static_cast<NodeId>(sets_.size()));
    if (is_new) {
      sets_.push_back(&at->first);
      dfa_.nodes.emplace_back();
    }
    kernels_.emplace(kernel, at->second);
    return at->second;
  }

  void expand(std::size_t i) {
    std::vector<Edge> edges;
    std::map<RuleId, Set> calls;
    bool is_final = false;
    for (const NodeId node : *sets_[i]) {
      const Nfa::Node& n = nfa_.nodes_[node];
      edges.insert(edges.end(), n.edges.begin(), n.edges.end());
      for (const Call& call : n.calls) calls[call.rule].push_back(call.to);
      is_final = is_final || n.is_final;
    }
    Dfa::Node made{deterministic(edges), {}, is_final};
    for (const auto& [rule, targets] : calls) made.calls.push_back({rule, node_of(targets)});
    dfa_.nodes[i] = std::move(made);
  }

  std::vector<Edge> deterministic(const std::vector<Edge>& edges) {
    std::vector<Edge> made;
    const std::vector<unsigned> borders = borders_of(edges);
    for (std::size_t b = 0; b + 1 < borders.size(); ++b) {
      Set targets;
      for (const Edge& e : edges)
        if (e.first <= borders[b] && borders[b] <= e.last) targets.push_back(e.to);
      budget_.spend(1 + edges.size() / 8);
      if (targets.empty()) continue;
      add_edge(made, {static_cast<std::uint8_t>(borders[b]),
                      static_cast<std::uint8_t>(borders[b + 1] - 1), node_of(targets)});
    }
    return made;
  }

  const Nfa& nfa_;
  Budget& budget_;
  std::unordered_map<Set, NodeId, SetHash> ids_;      // of all that is reached, sorted
  std::unordered_map<Set, NodeId, SetHash> kernels_;  // of what it is reached from
  std::vector<const Set*> sets_;                      // keys of ids_
  std::vector<std::uint32_t> seen_;                   // the latest round in which a node was met
  std::uint32_t round_ = 0;
  Dfa dfa_;
};

Dfa determinise(const Nfa& nfa, Budget& budget) {
  budget.spend(nfa.size());
  return Determiniser(nfa, budget).run();
}

Dfa intersection(const Dfa& a, const Dfa& b, Budget& budget) {
  Dfa both;
  std::map<std::pair<NodeId, NodeId>, NodeId> ids;
  std::vector<std::pair<NodeId, NodeId>> pairs;
  const auto node_of = [&](NodeId in_a, NodeId in_b) {
    const auto [at, is_new] = ids.try_emplace({in_a, in_b}, static_cast<NodeId>(pairs.size()));
    if (is_new) pairs.emplace_back(in_a, in_b);
    return at->second;
  };
  node_of(0, 0);
  for (std::size_t i = 0; i < pairs.size() && !budget.is_over(); ++i) {
    const Dfa::Node &in_a = a.nodes[pairs[i].first], &in_b = b.nodes[pairs[i].second];
    Dfa::Node made{{}, {}, in_a.is_final && in_b.is_final};
    for (const Edge& e : in_a.edges)
      for (const Edge& f : in_b.edges) {
        const std::uint8_t first = std::max(e.first, f.first), last = std::min(e.last, f.last);
        if (first <= last) add_edge(made.edges, {first, last, node_of(e.to, f.to)});
      }
    budget.spend(1 + made.edges.size());
    both.nodes.push_back(std::move(made));
  }
  return budget.is_over() ? Dfa::of_nothing() : both;
}

Dfa united(Dfa a, Dfa b, Budget& budget) {
  return complement(intersection(complement(std::move(a)), complement(std::move(b)), budget));
}

Dfa complement(Dfa dfa) {
  const auto all_else = static_cast<NodeId>(dfa.nodes.size());
  dfa.nodes.emplace_back();
  for (Dfa::Node& node : dfa.nodes) {
    std::vector<Edge> edges;
    unsigned next = 0;  // the first byte that has no edge yet
    const auto fill_to = [&](unsigned byte) {
      if (next < byte)
        edges.push_back(
            {static_cast<std::uint8_t>(next), static_cast<std::uint8_t>(byte - 1), all_else});
    };
    for (const Edge& e : node.edges) {
      fill_to(e.first);
      edges.push_back(e);
      next = e.last + 1u;
    }
    fill_to(256);
    node.edges = std::move(edges);
    node.is_final = !node.is_final;
  }
  return dfa;
}

bool takes(const Dfa& dfa, std::string_view text) {
  NodeId at = 0;
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    const auto& edges = dfa.nodes[at].edges;
    const auto edge = std::ranges::lower_bound(edges, byte, {}, &Edge::last);
    if (edge == edges.end() || edge->first > byte) return false;
    at = edge->to;
  }
  return dfa.nodes[at].is_final;
}

}  // namespace pc::constrain
