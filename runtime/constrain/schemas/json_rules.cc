#include "runtime/constrain/schemas/json_rules.h"

#include <algorithm>

#include "runtime/constrain/automata/json_text.h"
#include "runtime/constrain/automata/regex.h"

namespace pc::constrain {

namespace {

// Its white space alone has 40 nodes, each of which is in some sets.
constexpr std::size_t kUnitsPerItem = 256;

}  // namespace

NodeId add_spaces(Nfa& nfa, NodeId from) {
  const NodeId end = nfa.add();
  nfa.skip(from, end);
  nfa.edge(from, ' ', ' ', end);
  NodeId at = nfa.literal(from, "\n");
  for (int i = 0;; ++i) {
    nfa.skip(at, end);
    if (i == kMaxIndent) return end;
    at = nfa.literal(at, " ");
  }
}

RuleId JsonRules::add(const Nfa& nfa, Rule rule) {
  const RuleId id = builder_.add_rule();
  builder_.define(id, determinise(nfa, budget_), rule);
  return id;
}

RuleId JsonRules::text(std::uint32_t least, std::uint32_t most) {
  const auto [at, is_new] = texts_.try_emplace({least, most});
  if (!is_new) return at->second;
  if (least > most) return at->second = add(Nfa());  // which takes nothing
  Rule rule;
  rule.kind = Rule::Kind::kCounted;
  rule.least = least;
  rule.most = most;
  at->second = builder_.add_rule();
  builder_.define(at->second, json_text(), rule);
  return at->second;
}

RuleId JsonRules::string(std::uint32_t least, std::uint32_t most) {
  const auto [at, is_new] = strings_.try_emplace({least, most});
  if (!is_new) return at->second;
  Nfa nfa;
  nfa.finish_at(nfa.call(nfa.literal(Nfa::kStart, "\""), text(least, most)));
  return at->second = add(nfa);
}

NodeId JsonRules::add_string(Nfa& nfa, NodeId from) {
  return nfa.call(nfa.literal(from, "\""), text(0, UINT32_MAX));
}

RuleId JsonRules::string_of(const Dfa& inside) {
  const RuleId id = builder_.add_rule();
  Rule rule;
  rule.kind = Rule::Kind::kText;
  builder_.define(id, inside, rule);
  Nfa nfa;
  nfa.finish_at(nfa.call(nfa.literal(Nfa::kStart, "\""), id));
  return add(nfa);
}

RuleId JsonRules::number(const NumberRange& range) {
  return rule_of(number_dfa(range, budget_));
}

RuleId JsonRules::rule_of(const Dfa& dfa) {
  const RuleId id = builder_.add_rule();
  builder_.define(id, dfa);
  return id;
}

RuleId JsonRules::any_value() {
  if (any_value_) return *any_value_;
  any_value_ = builder_.add_rule();
  ObjectShape members;
  members.others = *any_value_;
  ArrayShape items;
  items.rest = *any_value_;
  Nfa nfa;
  for (const char* const word : {"null", "true", "false"})
    nfa.finish_at(nfa.literal(Nfa::kStart, word));
  nfa.finish_at(add_string(nfa, Nfa::kStart));
  for (const RuleId rule : {number({}), object(members), array(items)})
    nfa.finish_at(nfa.call(Nfa::kStart, rule));
  builder_.define(*any_value_, determinise(nfa, budget_));
  return *any_value_;
}

// From behind the opening quote.
RuleId JsonRules::other_name(const std::vector<Property>& properties) {
  if (properties.empty()) return text(0, UINT32_MAX);
  return name_among(length_text(0, UINT32_MAX, budget_), properties);
}

RuleId JsonRules::name_among(const Dfa& names, const std::vector<Property>& properties) {
  Nfa named;
  for (const Property& property : properties)
    named.finish_at(named.literal(Nfa::kStart, property.quoted_name.substr(1), budget_));
  const RuleId id = builder_.add_rule();
  Rule rule;
  rule.kind = Rule::Kind::kText;
  builder_.define(id, intersection(names, complement(determinise(named, budget_)), budget_), rule);
  return id;
}

NodeId JsonRules::add_value(Nfa& nfa, NodeId behind_name, RuleId value) {
  const NodeId colon = nfa.literal(behind_name, ":");
  const NodeId begin = nfa.add();
  nfa.skip(colon, begin);
  nfa.edge(colon, ' ', ' ', begin);
  return nfa.call(begin, value);
}

RuleId JsonRules::object(const ObjectShape& shape) {
  const std::size_t n = shape.properties.size();
  Nfa nfa;
  const NodeId open = add_spaces(nfa, nfa.literal(Nfa::kStart, "{"));
  const NodeId close = nfa.add();
  nfa.finish_at(nfa.literal(close, "}"));
  // named[i]: behind the opening quote of a name, where the first i properties cannot come any
  // more. more[i]: behind a value, likewise.
  std::vector<NodeId> named(n + 1), more(n + 1);
  for (NodeId& node : named) node = nfa.add();
  for (NodeId& node : more) node = nfa.add();
  nfa.edge(open, '"', '"', named[0]);
  bool may_close = true;  // all properties from i on may be missing
  for (std::size_t i = n + 1; i-- > 0;) {
    nfa.edge(add_spaces(nfa, nfa.literal(more[i], ",")), '"', '"', named[i]);
    if (i < n) {
      const Property& property = shape.properties[i];
      const NodeId name = nfa.literal(named[i], property.quoted_name.substr(1), budget_);
      nfa.skip(add_value(nfa, name, property.value), more[i + 1]);
      if (!property.is_required) nfa.skip(named[i], named[i + 1]);
      may_close = may_close && !property.is_required;
    }
    if (may_close) nfa.skip(add_spaces(nfa, more[i]), close);
  }
  if (may_close && shape.may_be_empty) nfa.skip(open, close);
  if (shape.others) {
    const NodeId name = nfa.call(named[n], other_name(shape.properties));
    nfa.skip(add_value(nfa, name, *shape.others), more[n]);
  }
  for (const OtherMembers& some : shape.some_others) {
    const NodeId name = nfa.call(named[n], name_among(some.names, shape.properties));
    nfa.skip(add_value(nfa, name, some.value), more[n]);
  }
  Rule rule;
  rule.nests = true;
  return add(nfa, rule);
}

RuleId JsonRules::array(const ArrayShape& shape) {
  Nfa nfa;
  const NodeId close = nfa.add();
  nfa.finish_at(nfa.literal(close, "]"));
  NodeId item = add_spaces(nfa, nfa.literal(Nfa::kStart, "["));  // where the next one may begin
  if (shape.least == 0) nfa.skip(item, close);
  const std::uint32_t first = static_cast<std::uint32_t>(shape.first.size());
  const std::uint32_t told_apart =
      shape.most == UINT32_MAX ? std::max({shape.least, first, 1u}) : shape.most;
  for (std::uint32_t i = 0; i < told_apart && !budget_.is_over(); ++i) {
    budget_.spend(kUnitsPerItem);
    if (i >= first && !shape.rest) break;
    const NodeId behind = nfa.call(item, i < first ? shape.first[i] : *shape.rest);
    if (i + 1 >= shape.least) nfa.skip(add_spaces(nfa, behind), close);
    if (i + 1 == shape.most) break;
    item = add_spaces(nfa, nfa.literal(behind, ","));
    if (i + 1 == told_apart && shape.rest) nfa.call(item, *shape.rest, behind);
  }
  Rule rule;
  rule.nests = true;
  return add(nfa, rule);
}

// Rows of nodes, by how many items there are; in each, by which may come next.
RuleId JsonRules::array(const DistinctItems& shape) {
  const auto n = static_cast<std::uint32_t>(shape.items.size());
  const std::uint32_t most = std::min(shape.most, n);
  budget_.spend(kUnitsPerItem * (1 + std::size_t{n} * most / 4));
  Nfa nfa;
  const NodeId close = nfa.add();
  nfa.finish_at(nfa.literal(close, "]"));
  std::vector<NodeId> row(n + 1), next(n + 1);
  for (NodeId& node : row) node = nfa.add();
  nfa.skip(add_spaces(nfa, nfa.literal(Nfa::kStart, "[")), row[0]);
  if (shape.least == 0) nfa.skip(row[0], close);
  for (std::uint32_t count = 1; count <= most; ++count) {
    for (NodeId& node : next) node = nfa.add();
    for (std::uint32_t i = 0; i < n; ++i) {
      nfa.skip(row[i], row[i + 1]);
      const NodeId behind = nfa.call(row[i], shape.items[i]);
      if (count >= shape.least) nfa.skip(add_spaces(nfa, behind), close);
      nfa.skip(add_spaces(nfa, nfa.literal(behind, ",")), next[i + 1]);
    }
    row = next;
  }
  Rule rule;
  rule.nests = true;
  return add(nfa, rule);
}

}  // namespace pc::constrain
