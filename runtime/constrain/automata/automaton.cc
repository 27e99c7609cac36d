#include "runtime/constrain/automata/automaton.h"

#include <algorithm>
#include <utility>

namespace pc::constrain {
namespace {

constexpr std::uint16_t kNever = std::numeric_limits<std::uint16_t>::max();

}  // namespace

RuleId AutomatonBuilder::add_rule() {
  made_.rules_.emplace_back();
  return static_cast<RuleId>(made_.rules_.size() - 1);
}

void AutomatonBuilder::define(RuleId id, const Dfa& dfa, Rule rule) {
  const auto first = static_cast<NodeId>(made_.nodes_.size());
  rule.entry = first;
  made_.rules_[id] = rule;
  for (const Dfa::Node& node : dfa.nodes) {
    budget_.spend(1 + node.edges.size() + node.calls.size());
    made_.nodes_.push_back({static_cast<std::uint32_t>(made_.edges_.size()),
                            static_cast<std::uint32_t>(made_.calls_.size()), id, kNever,
                            node.is_final});
    for (Edge e : node.edges) {
      e.to += first;
      made_.edges_.push_back(e);
    }
    for (Call c : node.calls) {
      c.to += first;
      made_.calls_.push_back(c);
    }
  }
}

Result<Automaton> AutomatonBuilder::finish(RuleId start) && {
  PC_CHECK_OK(budget_.check());
  made_.nodes_.push_back({static_cast<std::uint32_t>(made_.edges_.size()),
                          static_cast<std::uint32_t>(made_.calls_.size()), 0, kNever, false});
  made_.start_ = start;
  PC_CHECK_OK(order_rules());
  follow_aliases();
  find_needs();
  if (made_.need(made_.start()) == kNever) return refusal("no finite value is valid");
  if (made_.need(made_.start()) > kMaxNesting)
    return refusal("its values have more than " + std::to_string(kMaxNesting) +
                   " arrays and objects in each other");
  return std::move(made_);
}

// Depth first, along the calls that rules begin with; without recursion, as a schema may have
// thousands of rules in a row.
Status AutomatonBuilder::order_rules() {
  enum class Mark : std::uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks(made_.rules_.size(), Mark::kNew);
  auto order = static_cast<std::uint32_t>(made_.rules_.size());
  std::vector<std::pair<RuleId, std::size_t>> path;  // and which of its calls is next
  for (RuleId root = 0; root < made_.rules_.size(); ++root) {
    if (marks[root] != Mark::kNew) continue;
    marks[root] = Mark::kOpen;
    path.emplace_back(root, 0);
    while (!path.empty()) {
      const RuleId rule = path.back().first;
      const auto calls = made_.calls(made_.rules_[rule].entry);
      if (path.back().second == calls.size()) {
        marks[rule] = Mark::kDone;
        made_.rules_[rule].order = --order;
        path.pop_back();
        continue;
      }
      const RuleId next = calls[path.back().second++].rule;
      if (marks[next] == Mark::kOpen) return refusal("a schema is said to be itself");
      if (marks[next] == Mark::kDone) continue;
      marks[next] = Mark::kOpen;
      path.emplace_back(next, 0);
    }
  }
  return ok();
}

// A rule that is nothing but a call of another is called by nobody, who calls the other instead.
void AutomatonBuilder::follow_aliases() {
  std::vector<RuleId> means(made_.rules_.size());
  std::vector<RuleId> deepest_first(made_.rules_.size());
  for (RuleId r = 0; r < made_.rules_.size(); ++r) means[r] = deepest_first[r] = r;
  std::ranges::sort(deepest_first, std::ranges::greater(),
                    [this](RuleId r) { return made_.rules_[r].order; });
  for (const RuleId r : deepest_first) {
    const Rule& rule = made_.rules_[r];
    const auto calls = made_.calls(rule.entry);
    if (rule.nests || calls.size() != 1 || !made_.edges(rule.entry).empty()) continue;
    const NodeId end = calls[0].to;
    if (made_.is_final(end) && made_.edges(end).empty() && made_.calls(end).empty())
      means[r] = means[calls[0].rule];
  }
  for (Call& call : made_.calls_) call.rule = means[call.rule];
}

// From the ends to the beginnings, until nothing changes: a node is looked at again once what
// it goes on with needs less.
void AutomatonBuilder::find_needs() {
  const std::size_t n = made_.n_nodes();
  std::vector<std::vector<NodeId>> users(n), callers(made_.rules_.size());
  for (NodeId node = 0; node < n; ++node) {
    for (const Edge& e : made_.edges(node)) users[e.to].push_back(node);
    for (const Call& c : made_.calls(node)) {
      users[c.to].push_back(node);
      callers[c.rule].push_back(node);
    }
  }
  std::vector<NodeId> changed;
  const auto look_at = [&](NodeId node) {
    std::uint16_t need = made_.is_final(node) ? std::uint16_t{0} : kNever;
    for (const Edge& e : made_.edges(node)) need = std::min(need, made_.need(e.to));
    for (const Call& c : made_.calls(node)) {
      const Rule& rule = made_.rules_[c.rule];
      const std::uint16_t inside = made_.need(rule.entry);
      if (inside == kNever) continue;
      need = std::min(need,
                      std::max(static_cast<std::uint16_t>(inside + rule.nests), made_.need(c.to)));
    }
    if (need >= made_.nodes_[node].need) return;
    made_.nodes_[node].need = need;
    changed.push_back(node);
  };
  for (NodeId node = 0; node < n; ++node)
    if (made_.is_final(node)) look_at(node);
  for (std::size_t i = 0; i < changed.size(); ++i) {
    const NodeId node = changed[i];
    for (const NodeId user : users[node]) look_at(user);
    if (made_.rule_of(node).entry != node) continue;
    for (const NodeId caller : callers[made_.nodes_[node].rule]) look_at(caller);
  }
}

}  // namespace pc::constrain
