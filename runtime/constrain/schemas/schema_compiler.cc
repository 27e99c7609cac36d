#include "runtime/constrain/schemas/schema_compiler.h"

#include "runtime/constrain/schemas/schema_merge.h"

namespace pc::constrain {
namespace {

// Those that it declares or else, where keywords are about some types alone, these: who says
// "properties" means an object.
Types types_meant(const Json& schema) {
  if (const auto declared = declared_types(schema)) return *declared;
  Types meant = 0;
  for (const std::string& name : schema.keys()) {
    const Types types = types_of_keyword(name);
    if (types != kAllTypes) meant |= types;
  }
  return meant ? meant : kAllTypes;
}

}  // namespace

Result<RuleId> SchemaCompiler::run() {
  PC_CHECK_OK(document_.check());
  if (document_.strictness() == Strictness::kBestEffort) rules_.any_value();
  PC_TRY(const RuleId root, rule_of(document_.root()));
  PC_CHECK_OK(define_open());
  return root;
}

Status SchemaCompiler::define_open() {
  for (; !open_.empty(); open_.pop_front())
    PC_CHECK_OK(define(open_.front().first, open_.front().second));
  return ok();
}

// Parts that say the same are one rule: references inside are from the document's root.
Result<RuleId> SchemaCompiler::rule_of(const SchemaPart& raw) {
  PC_TRY(const SchemaPart part, checked(document_, raw));
  std::string text = part.json.dump();
  budget_.spend(1 + text.size() / 16);
  const auto [at, is_new] = known_.try_emplace(std::move(text));
  if (is_new) {
    at->second = builder_.add_rule();
    open_.emplace_back(at->second, part);
  }
  return at->second;
}

Status SchemaCompiler::define(RuleId id, const SchemaPart& part) {
  const Result<Dfa> value = value_of(part);
  if (value.ok()) {
    builder_.define(id, *value);
    return ok();
  }
  if (has_place(value.error())) return value.error();
  // In its place stands any value: which is a rule already where not all is strict.
  PC_CHECK_OK(document_.leave_out(part, "", value.error().message));
  const Dfa any{{{{}, {{rules_.any_value(), 1}}, false}, {{}, {}, true}}};
  budget_.go_on(4);
  builder_.define(id, any);
  return ok();
}

Result<Dfa> SchemaCompiler::value_of(const SchemaPart& part) {
  Nfa nfa;
  const NodeId end = nfa.add();
  nfa.finish_at(end);
  PC_CHECK_OK(add_value(nfa, end, part));
  Dfa value = determinise(nfa, budget_);
  PC_CHECK_OK(budget_.check());
  return value;
}

Status SchemaCompiler::add_value(Nfa& nfa, NodeId end, const SchemaPart& part) {
  if (part.json.is_boolean()) {
    if (part.json.truth()) nfa.call(Nfa::kStart, rules_.any_value(), end);
    return ok();
  }
  const std::vector<std::string> keywords = part.json.keys();
  if (keywords == std::vector<std::string>{"$ref"}) {
    PC_TRY(const SchemaPart referred, document_.referred(part));
    return add_alternatives(nfa, end, {referred});
  }
  for (const char* const name : {"anyOf", "oneOf"}) {
    if (keywords != std::vector<std::string>{name}) continue;
    bool is_any = keywords.front() == "anyOf";
    if (!is_any) {
      PC_TRY(is_any, is_any_of(document_, part, budget_));
    }
    if (is_any) return add_alternatives(nfa, end, part.items(name));
  }
  PC_TRY(const std::vector<SchemaPart> alternatives, flattened(document_, part, budget_));
  for (const SchemaPart& flat : alternatives) PC_CHECK_OK(add_flat(nfa, end, flat));
  return ok();
}

Status SchemaCompiler::add_alternatives(Nfa& nfa, NodeId end,
                                        const std::vector<SchemaPart>& alternatives) {
  for (const SchemaPart& one : alternatives) {
    PC_TRY(const RuleId rule, rule_of(one));
    nfa.call(Nfa::kStart, rule, end);
  }
  return ok();
}

Status SchemaCompiler::add_flat(Nfa& nfa, NodeId end, const SchemaPart& part) {
  if (const auto values = declared_values(part.json)) return add_values(nfa, end, part, *values);
  if (part.json.keys().empty()) {
    nfa.call(Nfa::kStart, rules_.any_value(), end);
    return ok();
  }
  const Types types = types_meant(part.json);
  const auto words = [&](std::initializer_list<const char*> list) {
    for (const char* const word : list) nfa.skip(nfa.literal(Nfa::kStart, word), end);
  };
  if (types & kNull) words({"null"});
  if (types & kBoolean) words({"true", "false"});
  const auto call = [&](const Result<RuleId>& rule) -> Status {
    if (!rule.ok()) return rule.error();
    nfa.call(Nfa::kStart, *rule, end);
    return ok();
  };
  if (types & kString) PC_CHECK_OK(call(string_rule(part)));
  if (types & kNumber) {
    PC_TRY(const Dfa number, number_text(part, types & kNumber));
    PC_CHECK_OK(call(rules_.rule_of(number)));
  }
  if (types & kArray) PC_CHECK_OK(call(array_rule(part)));
  if (types & kObject) PC_CHECK_OK(call(object_rule(part)));
  return ok();
}

Status SchemaCompiler::add_values(Nfa& nfa, NodeId end, const SchemaPart& part,
                                  const std::vector<Json>& values) {
  const Types types = declared_types(part.json).value_or(kAllTypes);
  PC_TRY(const std::vector<Json> taken, taken_values(part, types, values));
  for (const Json& value : taken) nfa.skip(nfa.literal(Nfa::kStart, value.dump(), budget_), end);
  return ok();
}

}  // namespace pc::constrain
