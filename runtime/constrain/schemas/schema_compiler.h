// JSON Schema as rules of an automaton.
//
// What the automaton takes is valid by the schema; not all that is valid is taken: properties come
// in the order of the schema, others than those that are named only where "additionalProperties"
// says so or nothing is named, an enumerated value in one spelling, a number without more digits
// than readers keep. docs/CONSTRAINED.md has the keywords.
//
// Of one automaton that is built. Threads: one at a time.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/constrain/automata/regex.h"
#include "runtime/constrain/schemas/json_rules.h"
#include "runtime/constrain/schemas/member_words.h"
#include "runtime/constrain/schemas/schema_document.h"
#include "runtime/constrain/schemas/schema_keywords.h"

namespace pc::constrain {

class SchemaCompiler {
 public:
  // Borrows all but the document.
  SchemaCompiler(SchemaDocument document, AutomatonBuilder& builder, JsonRules& rules,
                 Budget& budget)
      : document_(std::move(document)), builder_(builder), rules_(rules), budget_(budget) {}

  // The rule of the whole schema.
  Result<RuleId> run();
  // The same of an object's members as these words write them; gives the node behind them.
  Result<NodeId> add_members(Nfa& nfa, NodeId from, const MemberWords& words);

 private:
  Status define_open();
  Result<RuleId> rule_of(const SchemaPart& part);
  Status define(RuleId id, const SchemaPart& part);
  Result<Dfa> value_of(const SchemaPart& part);
  Status add_value(Nfa& nfa, NodeId end, const SchemaPart& part);
  Status add_alternatives(Nfa& nfa, NodeId end, const std::vector<SchemaPart>& alternatives);
  Status add_flat(Nfa& nfa, NodeId end, const SchemaPart& part);
  Status add_values(Nfa& nfa, NodeId end, const SchemaPart& part, const std::vector<Json>& values);
  Result<std::vector<Json>> taken_values(const SchemaPart& part, Types types,
                                         const std::vector<Json>& values);
  Result<RuleId> string_rule(const SchemaPart& part);
  Result<Dfa> string_text(const SchemaPart& part, const TextForm& form);
  using TextMaker = std::function<Result<Dfa>(Budget&)>;
  Status narrow(std::optional<Dfa>& text, const SchemaPart& part, const char* keyword,
                const TextMaker& make);
  Result<Dfa> narrowed(const std::optional<Dfa>& text, const TextMaker& make, Budget& budget) const;

  struct Member {
    std::string name;
    SchemaPart value;
    bool is_required, is_string;
  };
  std::vector<Member> members_of(const SchemaPart& root) const;
  Status check_members(const SchemaPart& root);
  Status check_name(const Member& member, const MemberWords& words) const;
  Result<NodeId> add_member(Nfa& nfa, NodeId from, const Member& member, const MemberWords& words);
  Result<NodeId> add_written(Nfa& nfa, NodeId from, const Member& member, const MemberWords& words);
  Result<RuleId> written_string(const SchemaPart& part, const std::string& end);
  Result<Dfa> number_text(const SchemaPart& part, Types types);  // of numbers
  std::optional<Bound> bound(const SchemaPart& part, const char* inclusive, const char* excluded,
                             bool is_least) const;
  Result<RuleId> object_rule(const SchemaPart& part);
  Status add_properties(const SchemaPart& part, const SchemaPart& others, ObjectShape* shape);
  Status add_property(const SchemaPart& part, const std::string& name, const SchemaPart& value,
                      bool is_required, ObjectShape* shape);
  Status limit_members(const SchemaPart& part, ObjectShape* shape);
  Status add_other_members(const SchemaPart& part, bool takes_any, ObjectShape* shape);
  Result<Dfa> names_of(const SchemaPart& part);
  Result<SchemaPart> others_named(const SchemaPart& part, const std::string& name,
                                  const SchemaPart& others);
  Result<SchemaPart> with_patterns(const SchemaPart& part, const std::string& name,
                                   SchemaPart value);
  Result<std::optional<RuleId>> distinct_items(const SchemaPart& part);
  Result<RuleId> array_rule(const SchemaPart& part);

  SchemaDocument document_;
  AutomatonBuilder& builder_;
  JsonRules& rules_;
  Budget& budget_;
  std::map<std::string, RuleId> known_;    // by what the part says
  std::map<std::string, RuleId> written_;  // strings of members, likewise
  std::deque<std::pair<RuleId, SchemaPart>> open_;
};

}  // namespace pc::constrain
