// What all grammars of JSON have in common: white space, strings, numbers, any value.
//
// White space is bounded, so that a model cannot go on with it for ever: behind a colon one space;
// elsewhere between tokens one space, or one line break and up to kMaxIndent spaces.
//
// Of one automaton that is built. Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/constrain/automata/automaton.h"
#include "runtime/constrain/automata/number_range.h"

namespace pc::constrain {

inline constexpr int kMaxIndent = 16;

// A member of an object. value: a rule.
struct Property {
  std::string quoted_name;  // as JSON writes it
  RuleId value;
  bool is_required;
};

// Of members whose names are among these texts, and none that is named.
struct OtherMembers {
  Dfa names;  // insides of JSON strings, as json_text.h has it
  RuleId value;
};

struct ObjectShape {
  std::vector<Property> properties;  // come in this order
  // Of members with other names, which come behind: any others, or some.
  std::optional<RuleId> others;
  std::vector<OtherMembers> some_others;
  bool may_be_empty = true;  // where no property is required
};

// Each of these items once at most, in this order.
struct DistinctItems {
  std::vector<RuleId> items;
  std::uint32_t least = 0, most = UINT32_MAX;
};

struct ArrayShape {
  std::vector<RuleId> first;   // of the first items
  std::optional<RuleId> rest;  // of those behind; none: there are none
  std::uint32_t least = 0, most = UINT32_MAX;
};

class JsonRules {
 public:
  // Borrows both.
  JsonRules(AutomatonBuilder& builder, Budget& budget) : builder_(builder), budget_(budget) {}

  RuleId add(const Nfa& nfa, Rule rule = {});
  RuleId string(std::uint32_t least, std::uint32_t most);
  RuleId string_of(const Dfa& text);  // of its inside, as json_text.h has it
  RuleId number(const NumberRange& range);
  RuleId rule_of(const Dfa& dfa);
  RuleId any_value();
  RuleId object(const ObjectShape& shape);
  RuleId array(const ArrayShape& shape);
  RuleId array(const DistinctItems& shape);

  // Gives the node behind.
  NodeId add_string(Nfa& nfa, NodeId from);

 private:
  RuleId text(std::uint32_t least, std::uint32_t most);
  RuleId other_name(const std::vector<Property>& properties);
  RuleId name_among(const Dfa& names, const std::vector<Property>& properties);
  NodeId add_value(Nfa& nfa, NodeId behind_name, RuleId value);

  AutomatonBuilder& builder_;
  Budget& budget_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, RuleId> texts_, strings_;
  std::optional<RuleId> any_value_;
};

// Gives the node behind.
NodeId add_spaces(Nfa& nfa, NodeId from);

}  // namespace pc::constrain
