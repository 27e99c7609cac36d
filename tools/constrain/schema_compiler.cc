#include "tools/constrain/schema_compiler.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <set>

#include "tools/constrain/formats.h"
#include "tools/constrain/schema_merge.h"
#include "tools/constrain/schema_negation.h"

namespace pc::constrain {
namespace {

// Of the automaton of one string; an eighth of what all may have.
constexpr std::size_t kMaxTextUnits = 150'000;

bool has(const Json& object, const char* key) {
  const std::vector<std::string> keys = object.keys();
  return std::ranges::find(keys, key) != keys.end();
}

std::uint32_t count_of(const Json& schema, const char* keyword, std::uint32_t otherwise) {
  const auto count = schema[keyword].integer();
  if (!count) return otherwise;
  return static_cast<std::uint32_t>(std::min<std::int64_t>(*count, UINT32_MAX));
}

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

// In digits without an exponent.
std::string decimal_of(const Json& number) {
  if (const auto integer = number.integer()) return std::to_string(*integer);
  std::array<char, 400> digits;  // 310 before the point, or 326 for the smallest
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number.real(),
                                     std::chars_format::fixed);
  return {digits.data(), written.ptr};
}

bool takes_text(const Dfa& dfa, const std::string& text) {
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

// In which this text alone is found.
std::string pattern_of_text(const std::string& text) {
  std::string pattern = "^";
  for (const char c : text) {
    std::array<char, 8> escape{};
    const auto byte = static_cast<unsigned char>(c);
    std::snprintf(escape.data(), escape.size(), "\\u%04x", byte);
    const bool is_literal = byte >= 0x80 || std::isalnum(byte);
    pattern += is_literal ? std::string(1, c) : std::string(escape.data());
  }
  return pattern + "$";
}

// Texts in which the pattern is not found.
Dfa all_but(const std::string& pattern, Budget& budget, const TextForm& form) {
  return intersection(length_text(0, UINT32_MAX, budget, form),
                      complement(pattern_text(pattern, budget, form)), budget);
}

// What one of both takes.
Dfa united(Dfa a, Dfa b, Budget& budget) {
  return complement(intersection(complement(std::move(a)), complement(std::move(b)), budget));
}

// The least integer whose multiples are multiples of this number; 0: none that is small.
std::int64_t integer_factor(const Json& number) {
  constexpr std::int64_t kMost = 1000;
  std::int64_t scale = 1;
  double scaled = number.real();
  for (; std::trunc(scaled) != scaled && scale < 1'000'000;
       scaled = number.real() * static_cast<double>(scale))
    scale *= 10;
  if (std::trunc(scaled) != scaled || scaled < 1 || scaled > 1e15) return 0;
  const auto factor = static_cast<std::int64_t>(scaled);
  const std::int64_t least = factor / std::gcd(factor, scale);
  return least <= kMost ? least : 0;
}

// Digits of integers by what is left of them.
Dfa multiples_of(std::int64_t factor, Budget& budget) {
  const auto n = static_cast<NodeId>(factor);
  budget.spend(11 * std::size_t{n});
  Dfa dfa;
  dfa.nodes.resize(n + 2);  // the start, behind a sign, by what is left
  for (NodeId at = 0; at < n + 2; ++at)
    for (NodeId digit = 0; digit < 10; ++digit) {
      const NodeId left = at < 2 ? 0 : at - 2;
      const auto byte = static_cast<std::uint8_t>('0' + digit);
      dfa.nodes[at].edges.push_back({byte, byte, 2 + (left * 10 + digit) % n});
    }
  dfa.nodes[0].edges.insert(dfa.nodes[0].edges.begin(), Edge{'-', '-', 1});
  dfa.nodes[2].is_final = true;
  return dfa;
}

// Numbers that are no integers, without exponents.
Dfa fractions(Budget& budget) {
  Nfa nfa;
  const NodeId behind_sign = nfa.add(), point = nfa.add(), end = nfa.add();
  nfa.skip(Nfa::kStart, behind_sign);
  nfa.edge(Nfa::kStart, '-', '-', behind_sign);
  nfa.edge(behind_sign, '0', '9', behind_sign);
  nfa.edge(behind_sign, '.', '.', point);
  nfa.edge(point, '0', '9', point);
  nfa.edge(point, '1', '9', end);
  nfa.edge(end, '0', '9', end);
  nfa.finish_at(end);
  return determinise(nfa, budget);
}

// The one of two bounds that counts, of which at most one is missing.
bool excluded_counts(const Json& inclusive, const Json& excluded, bool is_least) {
  if (inclusive.is_null() || excluded.is_null()) return inclusive.is_null();
  return is_least ? excluded.real() >= inclusive.real() : excluded.real() <= inclusive.real();
}

}  // namespace

RuleId SchemaCompiler::run() {
  if (document_.strictness() == Strictness::kBestEffort) rules_.any_value();
  const RuleId root = rule_of(document_.root());
  define_open();
  return root;
}

void SchemaCompiler::define_open() {
  for (; !open_.empty(); open_.pop_front()) define(open_.front().first, open_.front().second);
}

// Parts that say the same are one rule: references inside are from the document's root.
RuleId SchemaCompiler::rule_of(const SchemaPart& raw) {
  const SchemaPart part = checked(document_, raw);
  std::string text = part.json.dump();
  budget_.spend(1 + text.size() / 16);
  const auto [at, is_new] = known_.try_emplace(std::move(text));
  if (is_new) {
    at->second = builder_.add_rule();
    open_.emplace_back(at->second, part);
  }
  return at->second;
}

void SchemaCompiler::define(RuleId id, const SchemaPart& part) try {
  Nfa nfa;
  const NodeId end = nfa.add();
  nfa.finish_at(end);
  add_value(nfa, end, part);
  builder_.define(id, determinise(nfa, budget_));
} catch (const Refusal& refusal) {
  // In its place stands any value: which is a rule already where not all is strict.
  document_.leave_out(part, "", refusal.what());
  const Dfa any{{{{}, {{rules_.any_value(), 1}}, false}, {{}, {}, true}}};
  budget_.allow(4);
  builder_.define(id, any);
}

void SchemaCompiler::add_value(Nfa& nfa, NodeId end, const SchemaPart& part) {
  if (part.json.is_boolean()) {
    if (part.json.truth()) nfa.call(Nfa::kStart, rules_.any_value(), end);
    return;
  }
  const std::vector<std::string> keywords = part.json.keys();
  if (keywords == std::vector<std::string>{"$ref"}) {
    nfa.call(Nfa::kStart, rule_of(document_.referred(part)), end);
    return;
  }
  for (const char* const name : {"anyOf", "oneOf"}) {
    if (keywords != std::vector<std::string>{name}) continue;
    if (keywords.front() == "oneOf" && !is_any_of(document_, part, budget_)) break;
    for (const SchemaPart& one : part.items(name)) nfa.call(Nfa::kStart, rule_of(one), end);
    return;
  }
  for (const SchemaPart& flat : flattened(document_, part, budget_)) add_flat(nfa, end, flat);
}

void SchemaCompiler::add_flat(Nfa& nfa, NodeId end, const SchemaPart& part) {
  if (const auto values = declared_values(part.json)) return add_values(nfa, end, part, *values);
  if (part.json.keys().empty()) {
    nfa.call(Nfa::kStart, rules_.any_value(), end);
    return;
  }
  const Types types = types_meant(part.json);
  const auto words = [&](std::initializer_list<const char*> list) {
    for (const char* const word : list) nfa.skip(nfa.literal(Nfa::kStart, word), end);
  };
  if (types & kNull) words({"null"});
  if (types & kBoolean) words({"true", "false"});
  if (types & kString) nfa.call(Nfa::kStart, string_rule(part), end);
  if (types & kNumber)
    nfa.call(Nfa::kStart, rules_.rule_of(number_text(part, types & kNumber)), end);
  if (types & kArray) nfa.call(Nfa::kStart, array_rule(part), end);
  if (types & kObject) nfa.call(Nfa::kStart, object_rule(part), end);
}

void SchemaCompiler::add_values(Nfa& nfa, NodeId end, const SchemaPart& part,
                                const std::vector<Json>& values) {
  const Types types = declared_types(part.json).value_or(kAllTypes);
  for (const Json& value : taken_values(part, types, values))
    nfa.skip(nfa.literal(Nfa::kStart, value.dump()), end);
}

// Those enumerated ones of these types that the keywords beside them take.
std::vector<Json> SchemaCompiler::taken_values(const SchemaPart& part, Types types,
                                               const std::vector<Json>& values) {
  std::vector<Json> taken;
  std::optional<Dfa> text, number;
  for (const Json& value : values) {
    const Types type = types_of_value(value);
    if ((type & types) == 0) continue;
    if (type == kString && !text) text = string_text(part, {});
    if (type == kString && !takes_text(*text, value.dump().substr(1))) continue;
    if ((type & kNumber) && !number) number = number_text(part, kNumber);
    if ((type & kNumber) && !takes_text(*number, decimal_of(value))) continue;
    for (const std::string& name : part.json.keys())
      if ((type & (kArray | kObject)) && types_of_keyword(name) == type)
        document_.leave_out(part, name,
                            "\"" + name + "\" beside enumerated values cannot be enforced here");
    taken.push_back(value);
  }
  return taken;
}

RuleId SchemaCompiler::string_rule(const SchemaPart& part) {
  const std::uint32_t least = count_of(part.json, "minLength", 0);
  const std::uint32_t most = count_of(part.json, "maxLength", UINT32_MAX);
  const bool has_pattern = has(part.json, "pattern") || has(part.json, "format") ||
                           has(part.json, kNoneOf) || has(part.json, kNoPattern);
  if (!has_pattern || least > most) return rules_.string(least, most);
  return rules_.string_of(string_text(part, {}));
}

// What this keyword takes as well, where that is not too large.
void SchemaCompiler::narrow(std::optional<Dfa>& text, const SchemaPart& part, const char* keyword,
                            const TextMaker& make) try {
  Budget some = budget_.part(kMaxTextUnits);
  const std::size_t before = some.left();
  Dfa taken = make(some);
  text = text ? intersection(*text, taken, some) : std::move(taken);
  budget_.spend(before - some.left());
} catch (const Refusal& refusal) {
  document_.leave_out(part, keyword, refusal.what());
}

// What all its keywords take.
Dfa SchemaCompiler::string_text(const SchemaPart& part, const TextForm& form) {
  const std::uint32_t least = count_of(part.json, "minLength", 0);
  const std::uint32_t most = count_of(part.json, "maxLength", UINT32_MAX);
  if (least > most) return {{Dfa::Node{}}};
  std::optional<Dfa> text;
  if (has(part.json, "pattern"))
    narrow(text, part, "pattern", [&](Budget& budget) {
      return pattern_text(part.json["pattern"].string(), budget, form);
    });
  if (has(part.json, "format"))
    narrow(text, part, "format", [&](Budget& budget) {
      const std::string format = part.json["format"].string();
      const auto pattern = pattern_of_format(format);
      if (!pattern) throw Refusal("the format \"" + format + "\" cannot be enforced here");
      return pattern_text(*pattern, budget, form);
    });
  for (const char* const excluded : {kNoneOf, kNoPattern})
    for (const Json& item : part.json[excluded].items())
      narrow(text, part, "not", [&](Budget& budget) {
        const bool is_text = excluded == kNoneOf;
        return all_but(is_text ? pattern_of_text(item.string()) : item.string(), budget, form);
      });
  if (least > 0 || most != UINT32_MAX)
    narrow(text, part, most != UINT32_MAX ? "maxLength" : "minLength",
           [&](Budget& budget) { return length_text(least, most, budget, form); });
  return text ? std::move(*text) : length_text(0, UINT32_MAX, budget_, form);
}

Dfa SchemaCompiler::number_text(const SchemaPart& part, Types types) {
  const Json factor = part.json["multipleOf"];
  const std::int64_t least_factor = factor.is_null() ? 1 : integer_factor(factor);
  if (least_factor == 0) document_.leave_out(part, "multipleOf");
  NumberRange range;
  range.is_integer = types == kInteger || (!factor.is_null() && least_factor > 0);
  range.least = bound(part, "minimum", "exclusiveMinimum", true);
  range.most = bound(part, "maximum", "exclusiveMaximum", false);
  Dfa number = number_dfa(range, budget_);
  if (types == kFraction) number = intersection(number, fractions(budget_), budget_);
  if (least_factor <= 1) return number;
  return intersection(number, multiples_of(least_factor, budget_), budget_);
}

std::optional<Bound> SchemaCompiler::bound(const SchemaPart& part, const char* inclusive,
                                           const char* excluded, bool is_least) const {
  if (!has(part.json, inclusive) && !has(part.json, excluded)) return std::nullopt;
  const bool is_excluded = excluded_counts(part.json[inclusive], part.json[excluded], is_least);
  const Json number = part.json[is_excluded ? excluded : inclusive];
  Bound bound = bound_of(decimal_of(number));
  bound.is_excluded = is_excluded;
  return bound;
}

// What a member of this name is, where patterns of names say something of it, too.
SchemaPart SchemaCompiler::with_patterns(const SchemaPart& part, const std::string& name,
                                         SchemaPart value) {
  if (has(part.json, "propertyNames") &&
      !takes_text(names_of(part.at("propertyNames")), Json(name).dump().substr(1)))
    return {false, value.pointer};
  Json all = Json::array().push(value.json);
  for (const auto& [pattern, schema] : part.members("patternProperties"))
    if (takes_text(pattern_text(pattern, budget_), Json(name).dump().substr(1)))
      all.push(schema.json);
  if (all.items().size() > 1) value.json = Json::object().set("allOf", all);
  return value;
}

// The names that "propertyNames" takes.
Dfa SchemaCompiler::names_of(const SchemaPart& part) {
  Dfa names{{Dfa::Node{}}};
  for (const SchemaPart& flat : flattened(document_, part, budget_)) {
    const Types types = declared_types(flat.json).value_or(kAllTypes);
    if (!(types & kString)) continue;
    const auto values = declared_values(flat.json);
    Nfa texts;
    for (const Json& value : taken_values(flat, kString, values.value_or(std::vector<Json>())))
      texts.finish_at(texts.literal(Nfa::kStart, value.dump().substr(1)));
    names = united(std::move(names), values ? determinise(texts, budget_) : string_text(flat, {}),
                   budget_);
  }
  return names;
}

// Names that are not named: of printable ASCII, in which all engines find the same.
void SchemaCompiler::add_other_members(const SchemaPart& part, bool takes_any, ObjectShape* shape) {
  const auto patterns = part.members("patternProperties");
  Dfa rest = pattern_text("^[ -~]*$", budget_);
  if (has(part.json, "propertyNames"))
    rest = intersection(rest, names_of(part.at("propertyNames")), budget_);
  for (const auto& [pattern, value] : patterns) {
    Dfa names = intersection(rest, pattern_text(pattern, budget_), budget_);
    for (const auto& [other, other_value] : patterns)
      if (other != pattern && !(other_value.json == value.json))
        names = intersection(names, all_but(other, budget_, {}), budget_);
    shape->some_others.push_back({std::move(names), rule_of(value)});
  }
  if (!takes_any) return;
  for (const auto& [pattern, value] : patterns)
    rest = intersection(rest, all_but(pattern, budget_, {}), budget_);
  const SchemaPart others = has(part.json, "additionalProperties") ? part.at("additionalProperties")
                                                                   : SchemaPart{true, part.pointer};
  shape->some_others.push_back({std::move(rest), rule_of(others)});
}

// What is required without being named: what patterns say of its name, or of all others is said.
SchemaPart SchemaCompiler::others_named(const SchemaPart& part, const std::string& name,
                                        const SchemaPart& others) {
  for (const auto& [pattern, schema] : part.members("patternProperties"))
    if (takes_text(pattern_text(pattern, budget_), Json(name).dump().substr(1)))
      return {true, part.pointer};
  return others;
}

RuleId SchemaCompiler::object_rule(const SchemaPart& part) {
  ObjectShape shape;
  const bool has_patterns = has(part.json, "patternProperties");
  const bool names_some =
      has(part.json, "properties") || has(part.json, "required") || has_patterns;
  const bool tells_others = has(part.json, "additionalProperties");
  const SchemaPart others =
      tells_others ? part.at("additionalProperties") : SchemaPart{true, part.pointer};
  std::vector<std::string> required;
  for (const Json& name : part.json["required"].items()) required.push_back(name.string());
  const std::set<std::string> all_required(required.begin(), required.end());
  std::set<std::string> named;
  const auto add = [&](const std::string& name, const SchemaPart& value) {
    named.insert(name);
    shape.properties.push_back({Json(name).dump(), rule_of(with_patterns(part, name, value)),
                                all_required.contains(name)});
  };
  for (const auto& [name, property] : part.members("properties")) add(name, property);
  for (const std::string& name : required)
    if (!named.contains(name)) add(name, others_named(part, name, others));
  const bool takes_any =
      tells_others ? !others.json.is_boolean() || others.json.truth() : !names_some;
  if (has_patterns || has(part.json, "propertyNames"))
    add_other_members(part, takes_any, &shape);
  else if (takes_any)
    shape.others = rule_of(others);
  const std::uint32_t least = count_of(part.json, "minProperties", 0);
  const auto n_required = static_cast<std::uint32_t>(std::ranges::count_if(
      shape.properties, [](const Property& property) { return property.is_required; }));
  if (least > std::max(n_required, 1u))
    document_.leave_out(part, "minProperties",
                        "\"minProperties\" cannot be enforced here beyond 1 and what is required");
  shape.may_be_empty = least == 0;
  const std::uint32_t most = count_of(part.json, "maxProperties", UINT32_MAX);
  if (most == 0) {
    shape.others.reset();
    shape.some_others.clear();
  }
  const bool has_others = shape.others || !shape.some_others.empty();
  if (most < shape.properties.size() || (has_others && most != UINT32_MAX))
    document_.leave_out(part, "maxProperties",
                        "\"maxProperties\" cannot be enforced here below those that are named");
  return rules_.object(shape);
}

// Items that are told apart by being enumerated; nothing where they are not, or too many.
std::optional<RuleId> SchemaCompiler::distinct_items(const SchemaPart& part) {
  constexpr std::size_t kMostItems = 48;
  if (has(part.json, "prefixItems") || !has(part.json, "items")) return std::nullopt;
  DistinctItems shape;
  std::vector<Json> seen;
  for (const SchemaPart& flat : flattened(document_, part.at("items"), budget_)) {
    auto values = declared_values(flat.json);
    if (!values && declared_types(flat.json) == kBoolean) values = std::vector<Json>{false, true};
    if (!values) return std::nullopt;
    const Types types = declared_types(flat.json).value_or(kAllTypes);
    for (const Json& value : taken_values(flat, types, *values))
      if (std::ranges::find(seen, value) == seen.end()) seen.push_back(value);
  }
  if (seen.size() > kMostItems) return std::nullopt;
  for (const Json& value : seen)
    shape.items.push_back(rule_of({Json::object().set("const", value), part.pointer}));
  shape.least = count_of(part.json, "minItems", 0);
  shape.most = count_of(part.json, "maxItems", UINT32_MAX);
  return rules_.array(shape);
}

RuleId SchemaCompiler::array_rule(const SchemaPart& part) {
  const bool is_distinct = part.json["uniqueItems"].truth();
  if (is_distinct)
    if (const auto distinct = distinct_items(part)) return *distinct;
  ArrayShape shape;
  for (const SchemaPart& item : part.items("prefixItems")) shape.first.push_back(rule_of(item));
  const SchemaPart rest =
      has(part.json, "items") ? part.at("items") : SchemaPart{true, part.pointer};
  // As with properties: where the first items are told, others come only where "items" tells them.
  if (has(part.json, "items") ? !rest.json.is_boolean() || rest.json.truth() : shape.first.empty())
    shape.rest = rule_of(rest);
  shape.least = count_of(part.json, "minItems", 0);
  shape.most = count_of(part.json, "maxItems", UINT32_MAX);
  if (shape.least > shape.first.size() && !shape.rest && !has(part.json, "items"))
    shape.rest = rule_of(rest);
  // One item differs from all others.
  if (is_distinct && shape.least <= 1 && document_.strictness() == Strictness::kStrict)
    shape.most = std::min(shape.most, 1u);
  else if (is_distinct && shape.most > 1)
    document_.leave_out(part, "uniqueItems",
                        "\"uniqueItems\" cannot be enforced here but of enumerated items");
  return rules_.array(shape);
}

}  // namespace pc::constrain
