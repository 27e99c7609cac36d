#include "runtime/constrain/schemas/schema_merge.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "runtime/constrain/schemas/joined_members.h"
#include "runtime/constrain/schemas/schema_negation.h"

namespace pc::constrain {
namespace {

constexpr int kMaxDepth = 32;  // of combinations in each other
constexpr std::size_t kMaxAlternatives = 256;
constexpr std::int64_t kMostContained = 16;
constexpr std::size_t kUnitsPerQuestion = 40;  // whether two alternatives overlap: 3 us

bool is_combination(std::string_view keyword) {
  constexpr std::string_view kCombinations[] = {"$ref",
                                                "allOf",
                                                "anyOf",
                                                "oneOf",
                                                "not",
                                                "if",
                                                "then",
                                                "else",
                                                "dependencies",
                                                "contains",
                                                "minContains",
                                                "maxContains",
                                                "dependentRequired",
                                                "dependentSchemas",
                                                "unevaluatedProperties",
                                                "unevaluatedItems"};
  return std::ranges::find(kCombinations, keyword) != std::end(kCombinations);
}

// Nothing is valid by it, as far as that shows at once.
bool is_never(const Json& schema) {
  return schema == Json(false) || (schema["enum"].is_array() && schema["enum"].items().empty());
}

// A property that must be there can be nothing.
bool is_dead(const Json& flat) {
  std::set<std::string> nothing;
  for (const auto& [name, value] : flat["properties"].members())
    if (is_never(value)) nothing.insert(name);
  return std::ranges::any_of(flat["required"].items(),
                             [&](const Json& name) { return nothing.contains(name.string()); });
}

// What to copy it costs.
std::size_t weight_of(const Json& json) {
  return 1 + json.dump().size() / 16;
}

bool is_less(const Json& a, const Json& b) {
  if (a.integer() && b.integer()) return *a.integer() < *b.integer();
  return a.real() < b.real();
}

// ---- Merging two schemas without combinations

class Merger {
 public:
  Merger(SchemaDocument& document, const SchemaPart& part) : document_(document), part_(part) {}

  // Nothing where no value is valid by both.
  Result<std::optional<Json>> merged(const Json& one, const Json& other) {
    PC_TRY(const Json a, told(one, other));
    PC_TRY(const Json b, told(other, one));
    Json both = a;
    for (const std::string& name : b.keys()) {
      if (!a.has(name)) {
        both.set(name, b[name]);
        continue;
      }
      PC_TRY(const std::optional<Json> value, merged_keyword(name, a[name], b[name]));
      if (!value) return std::optional<Json>();
      both.set(name, *value);
    }
    return is_dead(both) ? std::nullopt : std::optional(both);
  }

 private:
  Status leave_out(const std::string& keyword) {
    return document_.leave_out(part_, keyword,
                               "\"" + keyword + "\" in several parts of it cannot be merged here");
  }

  // What the other names, and this one is about as well: as what it leaves over.
  Result<Json> told(const Json& one, const Json& other) {
    Json out = one;
    const Json others = one["additionalProperties"], rest = one["items"];
    const bool limits = !others.is_null() && !others.truth();
    if (limits && other.has("patternProperties") &&
        !(one["patternProperties"] == other["patternProperties"]))
      PC_CHECK_OK(leave_out("additionalProperties"));
    if (limits && other.has("properties"))
      out.set("properties", with_names(one["properties"], other["properties"].keys(), others));
    const std::size_t n = one["prefixItems"].items().size();
    if (rest.is_null() || other["prefixItems"].items().size() <= n) return out;
    Json items = one["prefixItems"].is_null() ? Json::array() : one["prefixItems"];
    for (std::size_t i = n; i < other["prefixItems"].items().size(); ++i) items.push(rest);
    return out.set("prefixItems", items);
  }

  Result<std::optional<Json>> merged_keyword(const std::string& name, const Json& a,
                                             const Json& b) {
    if (name == "type") return merged_types(a, b);
    if (name == "const" && !(a == b)) return std::optional<Json>();
    if (const auto both = simply_merged(name, a, b)) return both;
    PC_CHECK_OK(leave_out(name));
    return std::optional(a);
  }

  // Nothing where it is not simple.
  static std::optional<Json> simply_merged(const std::string& name, const Json& a, const Json& b) {
    if (a == b) return a;
    if (name == "properties" || name == "patternProperties")
      return joined_members(a, b, valid_by_both);
    if (name == "prefixItems") return merged_items(a.items(), b.items());
    if (name == "required" || name == kNoneOf || name == kNoPattern) return united(a, b);
    if (name == "enum") return common(a.items(), b.items());
    if (name == "additionalProperties" || name == "items" || name == "propertyNames")
      return valid_by_both(a, b);
    if (name.starts_with("min") || name == "exclusiveMinimum") return is_less(a, b) ? b : a;
    if (name.starts_with("max") || name == "exclusiveMaximum") return is_less(a, b) ? a : b;
    if (name == "uniqueItems") return Json(true);
    return std::nullopt;
  }

  static Json merged_items(const std::vector<Json>& a, const std::vector<Json>& b) {
    Json items = Json::array();
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i)
      items.push(i >= a.size() ? b[i] : i >= b.size() ? a[i] : valid_by_both(a[i], b[i]));
    return items;
  }

  static std::optional<Json> merged_types(const Json& a, const Json& b) {
    const Types both = *declared_types(Json::object().set("type", a)) &
                       *declared_types(Json::object().set("type", b));
    if (both == 0) return std::nullopt;
    return type_names(both);
  }

  // Parts that both have come once, lest schemas that refer to each other grow without end.
  static Json valid_by_both(const Json& a, const Json& b) {
    if (is_never(a) || is_never(b)) return false;
    if (a == Json(true) || a == Json::object()) return b;
    if (b == Json(true) || b == Json::object()) return a;
    if (const auto values = common_values(a, b)) return *values;
    const auto parts = [](const Json& json) {
      const bool is_all_of = constraints_of(json) == std::vector<std::string>{"allOf"};
      return is_all_of ? json["allOf"] : Json::array().push(json);
    };
    const Json all = united(parts(a), parts(b));
    const std::vector<Json> items = all.items();
    return items.size() == 1 ? items.front() : Json::object().set("allOf", all);
  }

  // Where one enumerates values and the other says no more than which ones it has, or has not.
  static std::optional<Json> common_values(const Json& a, const Json& b) {
    for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      const auto values = declared_values(*one);
      if (!values) continue;
      const Json denied = (*other)["not"];
      const bool denies = constraints_of(*other) == std::vector<std::string>{"not"} &&
                          constraints_of(denied).size() == 1 && declared_values(denied);
      const auto others = denies ? declared_values(denied) : declared_values(*other);
      if (!others || (!denies && constraints_of(*other).size() != 1)) continue;
      Json left = Json::array();
      for (const Json& value : *values)
        if ((std::ranges::find(*others, value) != others->end()) != denies) left.push(value);
      Json both = Json::object();
      for (const std::string& name : one->keys())
        if (name != "const" && name != "enum") both.set(name, (*one)[name]);
      return both.set("enum", left);
    }
    return std::nullopt;
  }

  static Json united(const Json& a, const Json& b) {
    Json all = a;
    const std::vector<Json> before = a.items();
    for (const Json& item : b.items())
      if (std::ranges::find(before, item) == before.end()) all.push(item);
    return all;
  }

  static Json common(const std::vector<Json>& a, const std::vector<Json>& b) {
    Json both = Json::array();
    for (const Json& item : a)
      if (std::ranges::find(b, item) != b.end()) both.push(item);
    return both;
  }

  SchemaDocument& document_;
  const SchemaPart& part_;
};

// ---- Multiplying out

class Flattener {
 public:
  Flattener(SchemaDocument& document, const SchemaPart& part, Budget& budget)
      : document_(document), part_(part), budget_(budget) {}

  using Alternatives = std::vector<Json>;

  Result<Alternatives> run(const SchemaPart& raw, int depth) {
    if (depth > kMaxDepth) return refusal("its combinations are too deep in each other");
    if (raw.json.is_boolean())
      return raw.json.truth() ? Alternatives{Json::object()} : Alternatives();
    budget_.spend(weight_of(raw.json));
    PC_CHECK_OK(budget_.check());
    PC_TRY(const SchemaPart part, checked(document_, raw));
    Json own = Json::object();
    for (const std::string& name : part.json.keys())
      if (!is_combination(name)) own.set(name, part.json[name]);
    Alternatives all{own};
    if (part.json.has("$ref")) {
      PC_TRY(const SchemaPart referred, document_.referred(part));
      PC_CHECK_OK(multiply(all, run(referred, depth + 1)));
    }
    for (const SchemaPart& one : part.items("allOf"))
      PC_CHECK_OK(multiply(all, run(one, depth + 1)));
    if (part.json.has("anyOf"))
      PC_CHECK_OK(multiply(all, alternatives(part.items("anyOf"), depth)));
    if (part.json.has("oneOf")) PC_CHECK_OK(multiply_by_one_of(all, part, depth));
    for (const char* const name : {"if", "not"})
      if (part.json.has(name)) PC_CHECK_OK(narrow_where_said(all, part, name, depth));
    for (const char* const name : {"dependencies", "dependentRequired", "dependentSchemas"})
      for (const auto& [key, wanted] : part.members(name))
        PC_CHECK_OK(narrow(all, part, name, alternatives(dependent(key, wanted), depth)));
    if (part.json.has("contains")) {
      names_others_ = true;
      PC_TRY(Json array, containing(part));
      PC_CHECK_OK(narrow(all, part, "contains", Alternatives{std::move(array)}));
    }
    for (Json& flat : all) PC_CHECK_OK(close(part, flat));
    return all;
  }

 private:
  Result<Alternatives> alternatives(const std::vector<SchemaPart>& parts, int depth) {
    Alternatives all;
    for (const SchemaPart& one : parts) {
      PC_TRY(const Alternatives some, run(one, depth + 1));
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  Status multiply_by_one_of(Alternatives& all, const SchemaPart& part, int depth) {
    PC_TRY(const std::vector<SchemaPart> apart, one_of(document_, part, budget_));
    PC_TRY(const bool is_narrow, narrow(all, part, "oneOf", alternatives(apart, depth)));
    return is_narrow ? ok() : multiply(all, alternatives(part.items("oneOf"), depth));
  }

  // Without the keyword where not all is strict and nothing would be left, since not all that is
  // valid is among the alternatives: false.
  Result<bool> narrow(Alternatives& all, const SchemaPart& part, const char* keyword,
                      const Result<Alternatives>& others) {
    Alternatives left = all;
    PC_CHECK_OK(multiply(left, others));
    const bool is_lost = left.empty() && document_.strictness() == Strictness::kBestEffort;
    if (is_lost)
      PC_CHECK_OK(document_.leave_out(part, keyword));
    else
      all = std::move(left);
    return !is_lost;
  }

  // "not" and "if", which are about what is invalid: where that cannot be said, "not" is left out,
  // and of "if" those values are left that are valid by it.
  Status narrow_where_said(Alternatives& all, const SchemaPart& part, const std::string& name,
                           int depth) {
    names_others_ = true;
    const Result<Alternatives> invalid = negated(document_, part.at(name), budget_);
    if (!invalid.ok() && has_place(invalid.error())) return invalid.error();
    if (!invalid.ok() && name == "not")
      return document_.leave_out(part, name, invalid.error().message);
    std::vector<SchemaPart> parts;
    if (invalid.ok())
      for (const Json& json : *invalid) parts.push_back({json, part.pointer});
    if (name == "if") parts = conditional(part, parts);
    PC_CHECK_OK(narrow(all, part, name.c_str(), alternatives(parts, depth)));
    return ok();
  }

  static Json both_of(const Json& a, const Json& b) {
    return Json::object().set("allOf", Json::array().push(a).push(b));
  }

  // "if" and "then"; or "else" where it is one of these, which are invalid by "if".
  static std::vector<SchemaPart> conditional(const SchemaPart& part,
                                             const std::vector<SchemaPart>& others) {
    const auto branch = [&](const char* name) {
      return part.json[name].is_null() ? Json(true) : part.json[name];
    };
    std::vector<SchemaPart> parts{{both_of(part.json["if"], branch("then")), part.pointer}};
    for (const SchemaPart& other : others)
      parts.push_back({both_of(other.json, branch("else")), part.pointer});
    return parts;
  }

  // The name is absent, or is there with what it wants: other names, or a schema.
  static std::vector<SchemaPart> dependent(const std::string& key, const SchemaPart& wanted) {
    const Json absent = Json::object().set("properties", Json::object().set(key, false));
    Json names = Json::array().push(key);
    for (const Json& name : wanted.json.items()) names.push(name);
    if (wanted.json.is_string()) names.push(wanted.json);
    const Json there = Json::object().set("required", names);
    const bool is_schema = wanted.json.is_object() || wanted.json.is_boolean();
    return {{is_schema ? both_of(there, wanted.json) : there, wanted.pointer},
            {absent, wanted.pointer}};
  }

  static Result<Json> containing(const SchemaPart& part) {
    const auto least = part.json["minContains"].integer().value_or(1);
    const auto most = part.json["maxContains"].integer().value_or(least);
    if (least > kMostContained) return refusal("\"minContains\" is too large to be enforced");
    if (most < least) return Json::object().set("enum", Json::array());
    Json first = Json::array(), rest = true;
    for (std::int64_t i = 0; i < least; ++i) first.push(part.json["contains"]);
    if (part.json.has("maxContains")) rest = Json::object().set("not", part.json["contains"]);
    const Json array = Json::object().set("items", rest).set("minItems", least);
    return least == 0 ? array : Json(array).set("prefixItems", first);
  }

  // What no part names does not come, or is what is said of it.
  Status close(const SchemaPart& part, Json& flat) {
    for (const auto& [unevaluated, others] :
         {std::pair("unevaluatedProperties", "additionalProperties"),
          std::pair("unevaluatedItems", "items")}) {
      if (!part.json.has(unevaluated)) continue;
      if (names_others_) return document_.leave_out(part, unevaluated);
      if (flat.has(others)) continue;
      flat.set(others, part.json[unevaluated]);
    }
    return ok();
  }

  Status multiply(Alternatives& all, const Result<Alternatives>& others) {
    if (!others.ok()) return others.error();
    Alternatives products;
    std::set<std::string> seen;
    for (const Json& a : all)
      for (const Json& b : *others) {
        PC_TRY(std::optional<Json> both, Merger(document_, part_).merged(a, b));
        if (!both) continue;
        budget_.spend(weight_of(*both));
        PC_CHECK_OK(budget_.check());
        if (products.size() == kMaxAlternatives)
          return refusal("its combinations have too many alternatives");
        if (seen.insert(both->dump()).second) products.push_back(std::move(*both));
      }
    all = std::move(products);
    return ok();
  }

  SchemaDocument& document_;
  const SchemaPart& part_;
  Budget& budget_;
  // What is invalid by something was said by names and items that are not evaluated thereby.
  bool names_others_ = false;
};

// ---- Can a value be valid by both?

class Overlap {
 public:
  Overlap(SchemaDocument& document, Budget& budget) : document_(document), budget_(budget) {}

  Result<bool> is_possible(const SchemaPart& left, const SchemaPart& right, int depth = 0) {
    if (depth > kMaxDepth) return true;
    budget_.spend(kUnitsPerQuestion + weight_of(left.json) + weight_of(right.json));
    PC_CHECK_OK(budget_.check());
    PC_TRY(const SchemaPart a, resolved(document_, left));
    PC_TRY(const SchemaPart b, resolved(document_, right));
    for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)})
      for (const char* const name : {"anyOf", "oneOf"})
        if (one->json.has(name)) return any_overlaps(*one, name, *other, depth);
    const Types both = types_of(a.json) & types_of(b.json);
    if (both == 0) return false;
    if (values_differ(a.json, b.json)) return false;
    if (both != kObject) return true;
    PC_TRY(const bool differ, objects_differ(a, b, depth));
    return !differ;
  }

 private:
  Result<bool> any_overlaps(const SchemaPart& one, const char* name, const SchemaPart& other,
                            int depth) {
    for (const SchemaPart& alternative : one.items(name)) {
      PC_TRY(const bool overlaps, is_possible(alternative, other, depth + 1));
      if (overlaps) return true;
    }
    return false;
  }

  static Types types_of(const Json& schema) {
    if (schema.is_boolean()) return schema.truth() ? kAllTypes : 0;
    const Types declared = declared_types(schema).value_or(kAllTypes);
    const auto values = declared_values(schema);
    if (!values) return declared;
    Types types = 0;
    for (const Json& value : *values) types |= types_of_value(value);
    return types & declared;
  }

  static bool values_differ(const Json& a, const Json& b) {
    const auto in_a = declared_values(a), in_b = declared_values(b);
    return in_a && in_b && std::ranges::none_of(*in_a, [&](const Json& value) {
             return std::ranges::find(*in_b, value) != in_b->end();
           });
  }

  static std::map<std::string, SchemaPart> properties_of(const SchemaPart& part) {
    const auto members = part.members("properties");
    return {members.begin(), members.end()};
  }

  // A property that one wants cannot be what the other says of it, or one wants what the other
  // forbids.
  Result<bool> objects_differ(const SchemaPart& a, const SchemaPart& b, int depth) {
    for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      const auto in_one = properties_of(*one), in_other = properties_of(*other);
      const Json others = other->json["additionalProperties"];
      const bool forbids_others = others.is_boolean() && !others.truth();
      for (const Json& item : one->json["required"].items()) {
        const auto here = in_one.find(item.string()), there = in_other.find(item.string());
        if (there == in_other.end() && forbids_others) return true;
        if (here == in_one.end() || there == in_other.end()) continue;
        PC_TRY(const bool is_both, is_possible(here->second, there->second, depth + 1));
        if (!is_both) return true;
      }
    }
    return false;
  }

  SchemaDocument& document_;
  Budget& budget_;
};

}  // namespace

Result<std::vector<SchemaPart>> flattened(SchemaDocument& document, const SchemaPart& part,
                                          Budget& budget) {
  std::vector<SchemaPart> parts;
  PC_TRY(const std::vector<Json> alternatives, Flattener(document, part, budget).run(part, 0));
  for (const Json& json : alternatives) parts.push_back({json, part.pointer});
  return parts;
}

Result<bool> is_any_of(SchemaDocument& document, const SchemaPart& part, Budget& budget) {
  const std::vector<SchemaPart> plain = part.items("oneOf");
  PC_TRY(const std::vector<SchemaPart> apart, one_of(document, part, budget));
  return std::ranges::equal(apart, plain, {}, &SchemaPart::json, &SchemaPart::json);
}

Result<std::vector<SchemaPart>> one_of(SchemaDocument& document, const SchemaPart& part,
                                       Budget& budget) {
  const std::vector<SchemaPart> parts = part.items("oneOf");
  Overlap overlap(document, budget);
  std::vector<SchemaPart> apart;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Json all = Json::array().push(parts[i].json);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (k == i) continue;
      PC_TRY(const bool overlaps, overlap.is_possible(parts[i], parts[k]));
      if (overlaps) all.push(Json::object().set("not", parts[k].json));
    }
    const bool is_alone = all.items().size() == 1;
    apart.push_back(is_alone ? parts[i]
                             : SchemaPart{Json::object().set("allOf", all), parts[i].pointer});
  }
  return apart;
}

}  // namespace pc::constrain
