#include "runtime/constrain/grammar/gbnf.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/constrain/automata/refusal.h"

namespace pc::constrain {
namespace {

using Kind = GbnfNode::Kind;

void add_calls(const GbnfNode& node, std::set<std::string>* calls) {
  if (node.kind == Kind::kCall) calls->insert(node.rule);
  for (const GbnfPtr& part : node.parts) add_calls(*part, calls);
}

// Which rules take the empty text: a rule is looked at again once one that it calls does.
class EmptyTexts {
 public:
  explicit EmptyTexts(const GbnfRules& rules) {
    std::map<std::string, std::vector<std::string>> callers;
    std::vector<std::string> open;
    for (const auto& [name, body] : rules) {
      std::set<std::string> calls;
      add_calls(*body, &calls);
      for (const std::string& called : calls) callers[called].push_back(name);
      open.push_back(name);
    }
    while (!open.empty()) {
      const std::string name = open.back();
      open.pop_back();
      if (names_.contains(name) || !takes(*rules.at(name))) continue;
      names_.insert(name);
      open.insert(open.end(), callers[name].begin(), callers[name].end());
    }
  }

  bool takes(const GbnfNode& node) const {
    const auto is_empty = [this](const GbnfPtr& part) { return takes(*part); };
    switch (node.kind) {
      case Kind::kCharacter:
        return false;
      case Kind::kSequence:
        return std::ranges::all_of(node.parts, is_empty);
      case Kind::kChoice:
        return std::ranges::any_of(node.parts, is_empty);
      case Kind::kRepeat:
        return node.least == 0 || is_empty(node.parts.front());
      case Kind::kCall:
        return names_.contains(node.rule);
    }
    return false;
  }

 private:
  std::set<std::string> names_;
};

// The rules that may stand at its very beginning; gives whether what is behind it may, too.
bool add_first_rules(const GbnfNode& node, const EmptyTexts& empty, std::set<std::string>* first) {
  if (node.kind == Kind::kCall) first->insert(node.rule);
  for (const GbnfPtr& part : node.parts)
    if (!add_first_rules(*part, empty, first) && node.kind == Kind::kSequence) return false;
  return empty.takes(node);
}

// Depth first: a rule that is met within itself begins with itself.
Status check_left_recursion(const GbnfRules& rules, const EmptyTexts& empty) {
  struct Visit {
    std::string name;
    std::vector<std::string> first;  // not looked at yet
  };
  std::set<std::string> inside, done;
  std::vector<Visit> path;
  const auto enter = [&](const std::string& name) -> Status {
    const auto found = rules.find(name);
    if (found == rules.end() || done.contains(name)) return ok();
    if (!inside.insert(name).second)
      return refusal("the rule \"" + name +
                     "\" may begin with itself, which cannot be enforced: write the repetition "
                     "behind what it begins with");
    std::set<std::string> first;
    add_first_rules(*found->second, empty, &first);
    path.push_back({name, {first.begin(), first.end()}});
    return ok();
  };
  for (const auto& [name, body] : rules) {
    PC_CHECK_OK(enter(name));
    while (!path.empty()) {
      if (path.back().first.empty()) {
        inside.erase(path.back().name);
        done.insert(path.back().name);
        path.pop_back();
        continue;
      }
      const std::string next = path.back().first.back();
      path.back().first.pop_back();
      PC_CHECK_OK(enter(next));
    }
  }
  return ok();
}

// Calls of rules that take the empty text may be left out, so that no rule needs to take it.
class Emitter {
 public:
  Emitter(const GbnfRules& rules, const EmptyTexts& empty, AutomatonBuilder& builder,
          Budget& budget)
      : rules_(rules), empty_(empty), builder_(builder), budget_(budget) {}

  RuleId rule(const std::string& name) {
    if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
    if (!rules_.contains(name)) missing_ = name;
    const RuleId id = builder_.add_rule();
    ids_.emplace(name, id);
    open_.push_back(name);
    return id;
  }

  Status define_all() {
    while (!open_.empty()) {
      if (!missing_.empty()) return refusal("the rule \"" + missing_ + "\" is missing");
      const std::string name = open_.back();
      open_.pop_back();
      Nfa nfa;
      const NodeId begin = nfa.add();  // nothing leads back to the very start
      nfa.skip(Nfa::kStart, begin);
      nfa.finish_at(emit(*rules_.at(name), nfa, begin));
      Dfa dfa = determinise(nfa, budget_);
      dfa.nodes.front().is_final = false;
      builder_.define(ids_.at(name), dfa);
    }
    return ok();
  }

 private:
  // Gives the node behind.
  NodeId emit(const GbnfNode& node, Nfa& nfa, NodeId from) {
    budget_.spend(1);
    if (budget_.is_over()) return from;
    switch (node.kind) {
      case Kind::kCharacter:
        return one_of(node.characters, nfa, from);
      case Kind::kSequence:
        for (const GbnfPtr& part : node.parts) from = emit(*part, nfa, from);
        return from;
      case Kind::kRepeat:
        return repeat(node, nfa, from);
      case Kind::kCall: {
        const NodeId end = nfa.call(from, rule(node.rule));
        if (empty_.takes(node)) nfa.skip(from, end);
        return end;
      }
      case Kind::kChoice:
        break;
    }
    const NodeId end = nfa.add();
    for (const GbnfPtr& part : node.parts) nfa.skip(emit(*part, nfa, from), end);
    return end;
  }

  NodeId one_of(const CharacterSet& set, Nfa& nfa, NodeId from) {
    const std::size_t before = nfa.size();
    budget_.expect(set.ranges().size());
    if (budget_.is_over()) return from;
    const NodeId to = nfa.add();
    add_character(nfa, from, set, to, Spelling::kPlain);
    budget_.spend(nfa.size() - before);
    return to;
  }

  NodeId repeat(const GbnfNode& node, Nfa& nfa, NodeId from) {
    const GbnfNode& part = *node.parts.front();
    for (std::uint32_t i = 0; i < node.least; ++i) from = emit(part, nfa, from);
    const NodeId end = nfa.add();
    if (node.most == GbnfNode::kUnlimited) {
      const NodeId loop = nfa.add();
      nfa.skip(from, loop);
      nfa.skip(emit(part, nfa, loop), loop);
      nfa.skip(loop, end);
      return end;
    }
    for (std::uint32_t i = node.least; i < node.most; ++i) {
      nfa.skip(from, end);
      from = emit(part, nfa, from);
    }
    nfa.skip(from, end);
    return end;
  }

  const GbnfRules& rules_;
  const EmptyTexts& empty_;
  AutomatonBuilder& builder_;
  Budget& budget_;
  std::map<std::string, RuleId> ids_;
  std::vector<std::string> open_;  // named, and not defined yet
  std::string missing_;            // named, and nowhere
};

}  // namespace

Result<RuleId> add_gbnf(const GbnfRules& rules, AutomatonBuilder& builder, Budget& budget) {
  const EmptyTexts empty(rules);
  PC_CHECK_OK(check_left_recursion(rules, empty));
  Emitter emitter(rules, empty, builder, budget);
  const RuleId root = emitter.rule("root");
  PC_CHECK_OK(emitter.define_all());
  return root;
}

}  // namespace pc::constrain
