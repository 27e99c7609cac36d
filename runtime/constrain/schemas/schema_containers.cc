// Objects and arrays of a schema (SchemaCompiler).

#include <algorithm>
#include <optional>
#include <set>

#include "runtime/constrain/schemas/schema_compiler.h"
#include "runtime/constrain/schemas/schema_merge.h"

namespace pc::constrain {
namespace {

// Is the pattern found in this text?
Result<bool> is_found(const std::string& pattern, const std::string& text, Budget& budget) {
  PC_TRY(const Dfa found, pattern_text(pattern, budget));
  return takes(found, Json(text).dump().substr(1));
}

}  // namespace

// What a member of this name is, where patterns of names say something of it, too.
Result<SchemaPart> SchemaCompiler::with_patterns(const SchemaPart& part, const std::string& name,
                                                 SchemaPart value) {
  if (part.json.has("propertyNames")) {
    PC_TRY(const Dfa names, names_of(part.at("propertyNames")));
    if (!takes(names, Json(name).dump().substr(1))) return SchemaPart{false, value.pointer};
  }
  Json all = Json::array().push(value.json);
  for (const auto& [pattern, schema] : part.members("patternProperties")) {
    PC_TRY(const bool is_one, is_found(pattern, name, budget_));
    if (is_one) all.push(schema.json);
  }
  if (all.items().size() > 1) value.json = Json::object().set("allOf", all);
  return value;
}

// The names that "propertyNames" takes.
Result<Dfa> SchemaCompiler::names_of(const SchemaPart& part) {
  Dfa names = Dfa::of_nothing();
  PC_TRY(const std::vector<SchemaPart> alternatives, flattened(document_, part, budget_));
  for (const SchemaPart& flat : alternatives) {
    const Types types = declared_types(flat.json).value_or(kAllTypes);
    if (!(types & kString)) continue;
    const auto values = declared_values(flat.json);
    Nfa texts;
    PC_TRY(const std::vector<Json> taken,
           taken_values(flat, kString, values.value_or(std::vector<Json>())));
    for (const Json& value : taken)
      texts.finish_at(texts.literal(Nfa::kStart, value.dump().substr(1), budget_));
    PC_TRY(Dfa some, values ? Result<Dfa>(determinise(texts, budget_)) : string_text(flat, {}));
    names = united(std::move(names), std::move(some), budget_);
  }
  return names;
}

// Names that are not named: of printable ASCII, in which all engines find the same.
Status SchemaCompiler::add_other_members(const SchemaPart& part, bool takes_any,
                                         ObjectShape* shape) {
  const auto patterns = part.members("patternProperties");
  PC_TRY(Dfa rest, pattern_text("^[ -~]*$", budget_));
  if (part.json.has("propertyNames")) {
    PC_TRY(const Dfa names, names_of(part.at("propertyNames")));
    rest = intersection(rest, names, budget_);
  }
  for (const auto& [pattern, value] : patterns) {
    PC_TRY(const Dfa found, pattern_text(pattern, budget_));
    Dfa names = intersection(rest, found, budget_);
    for (const auto& [other, other_value] : patterns) {
      if (other == pattern || other_value.json == value.json) continue;
      PC_TRY(const Dfa not_other, all_but(other, budget_, {}));
      names = intersection(names, not_other, budget_);
    }
    PC_TRY(const RuleId rule, rule_of(value));
    shape->some_others.push_back({std::move(names), rule});
  }
  if (!takes_any) return ok();
  for (const auto& [pattern, value] : patterns) {
    PC_TRY(const Dfa not_this, all_but(pattern, budget_, {}));
    rest = intersection(rest, not_this, budget_);
  }
  const SchemaPart others = part.json.has("additionalProperties") ? part.at("additionalProperties")
                                                                  : SchemaPart{true, part.pointer};
  PC_TRY(const RuleId rule, rule_of(others));
  shape->some_others.push_back({std::move(rest), rule});
  return ok();
}

// What is required without being named: what patterns say of its name, or of all others is said.
Result<SchemaPart> SchemaCompiler::others_named(const SchemaPart& part, const std::string& name,
                                                const SchemaPart& others) {
  for (const auto& [pattern, schema] : part.members("patternProperties")) {
    PC_TRY(const bool is_one, is_found(pattern, name, budget_));
    if (is_one) return SchemaPart{true, part.pointer};
  }
  return others;
}

Result<RuleId> SchemaCompiler::object_rule(const SchemaPart& part) {
  ObjectShape shape;
  const bool has_patterns = part.json.has("patternProperties");
  const bool names_some = part.json.has("properties") || part.json.has("required") || has_patterns;
  const bool tells_others = part.json.has("additionalProperties");
  const SchemaPart others =
      tells_others ? part.at("additionalProperties") : SchemaPart{true, part.pointer};
  PC_CHECK_OK(add_properties(part, others, &shape));
  const bool takes_any =
      tells_others ? !others.json.is_boolean() || others.json.truth() : !names_some;
  if (has_patterns || part.json.has("propertyNames")) {
    PC_CHECK_OK(add_other_members(part, takes_any, &shape));
  } else if (takes_any) {
    PC_TRY(shape.others, rule_of(others));
  }
  PC_CHECK_OK(limit_members(part, &shape));
  return rules_.object(shape);
}

// Those that are named, and those that are required without being named.
Status SchemaCompiler::add_properties(const SchemaPart& part, const SchemaPart& others,
                                      ObjectShape* shape) {
  std::set<std::string> required, named;
  for (const Json& name : part.json["required"].items()) required.insert(name.string());
  for (const auto& [name, property] : part.members("properties")) {
    named.insert(name);
    PC_CHECK_OK(add_property(part, name, property, required.contains(name), shape));
  }
  for (const Json& item : part.json["required"].items()) {
    const std::string name = item.string();
    if (!named.insert(name).second) continue;
    PC_TRY(const SchemaPart value, others_named(part, name, others));
    PC_CHECK_OK(add_property(part, name, value, true, shape));
  }
  return ok();
}

Status SchemaCompiler::add_property(const SchemaPart& part, const std::string& name,
                                    const SchemaPart& value, bool is_required, ObjectShape* shape) {
  PC_TRY(const SchemaPart whole, with_patterns(part, name, value));
  PC_TRY(const RuleId rule, rule_of(whole));
  shape->properties.push_back({Json(name).dump(), rule, is_required});
  return ok();
}

// "minProperties" and "maxProperties".
Status SchemaCompiler::limit_members(const SchemaPart& part, ObjectShape* shape) {
  const std::uint32_t least = count_of(part.json, "minProperties", 0);
  const auto n_required = static_cast<std::uint32_t>(std::ranges::count_if(
      shape->properties, [](const Property& property) { return property.is_required; }));
  if (least > std::max(n_required, 1u))
    PC_CHECK_OK(document_.leave_out(
        part, "minProperties",
        "\"minProperties\" cannot be enforced here beyond 1 and what is required"));
  shape->may_be_empty = least == 0;
  const std::uint32_t most = count_of(part.json, "maxProperties", UINT32_MAX);
  if (most == 0) {
    shape->others.reset();
    shape->some_others.clear();
  }
  const bool has_others = shape->others || !shape->some_others.empty();
  if (most < shape->properties.size() || (has_others && most != UINT32_MAX))
    PC_CHECK_OK(document_.leave_out(
        part, "maxProperties",
        "\"maxProperties\" cannot be enforced here below those that are named"));
  return ok();
}

// Items that are told apart by being enumerated; nothing where they are not, or too many.
Result<std::optional<RuleId>> SchemaCompiler::distinct_items(const SchemaPart& part) {
  constexpr std::size_t kMostItems = 48;
  constexpr std::optional<RuleId> kNone;
  if (part.json.has("prefixItems") || !part.json.has("items")) return kNone;
  DistinctItems shape;
  std::vector<Json> seen;
  PC_TRY(const std::vector<SchemaPart> items, flattened(document_, part.at("items"), budget_));
  for (const SchemaPart& flat : items) {
    auto values = declared_values(flat.json);
    if (!values && declared_types(flat.json) == kBoolean) values = std::vector<Json>{false, true};
    if (!values) return kNone;
    const Types types = declared_types(flat.json).value_or(kAllTypes);
    PC_TRY(const std::vector<Json> taken, taken_values(flat, types, *values));
    for (const Json& value : taken)
      if (std::ranges::find(seen, value) == seen.end()) seen.push_back(value);
  }
  if (seen.size() > kMostItems) return kNone;
  for (const Json& value : seen) {
    PC_TRY(shape.items.emplace_back(), rule_of({Json::object().set("const", value), part.pointer}));
  }
  shape.least = count_of(part.json, "minItems", 0);
  shape.most = count_of(part.json, "maxItems", UINT32_MAX);
  return std::optional(rules_.array(shape));
}

Result<RuleId> SchemaCompiler::array_rule(const SchemaPart& part) {
  const bool is_distinct = part.json["uniqueItems"].truth();
  if (is_distinct) {
    PC_TRY(const std::optional<RuleId> distinct, distinct_items(part));
    if (distinct) return *distinct;
  }
  ArrayShape shape;
  for (const SchemaPart& item : part.items("prefixItems")) {
    PC_TRY(shape.first.emplace_back(), rule_of(item));
  }
  const SchemaPart rest =
      part.json.has("items") ? part.at("items") : SchemaPart{true, part.pointer};
  shape.least = count_of(part.json, "minItems", 0);
  shape.most = count_of(part.json, "maxItems", UINT32_MAX);
  // As with properties: where the first items are told, others come only where "items" tells them,
  // or where more are wanted.
  const bool takes_others = part.json.has("items")
                                ? !rest.json.is_boolean() || rest.json.truth()
                                : shape.first.empty() || shape.least > shape.first.size();
  if (takes_others) {
    PC_TRY(shape.rest, rule_of(rest));
  }
  // One item differs from all others.
  if (is_distinct && shape.least <= 1 && document_.strictness() == Strictness::kStrict)
    shape.most = std::min(shape.most, 1u);
  else if (is_distinct && shape.most > 1)
    PC_CHECK_OK(document_.leave_out(
        part, "uniqueItems", "\"uniqueItems\" cannot be enforced here but of enumerated items"));
  return rules_.array(shape);
}

}  // namespace pc::constrain
