#include "tools/constrain/schema_merge.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "tools/constrain/schema_negation.h"

namespace pc::constrain {
namespace {

constexpr int kMaxDepth = 32;  // of combinations in each other
constexpr std::size_t kMaxAlternatives = 256;
constexpr std::int64_t kMostContained = 16;
constexpr std::size_t kUnitsPerQuestion = 40;  // whether two alternatives overlap: 3 us

bool has(const Json& object, std::string_view key) {
  const std::vector<std::string> keys = object.keys();
  return std::ranges::find(keys, key) != keys.end();
}

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
  const std::vector<Json> required = flat["required"].items();
  return std::ranges::any_of(
      required, [&](const Json& name) { return is_never(flat["properties"][name.string()]); });
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
  std::optional<Json> merged(const Json& one, const Json& other) {
    Json a = told(one, other), b = told(other, one);
    Json both = a;
    for (const std::string& name : b.keys()) {
      if (!has(a, name)) {
        both.set(name, b[name]);
        continue;
      }
      const auto value = merged_keyword(name, a[name], b[name]);
      if (!value) return std::nullopt;
      both.set(name, *value);
    }
    return is_dead(both) ? std::nullopt : std::optional(both);
  }

 private:
  void leave_out(const std::string& keyword) {
    document_.leave_out(part_, keyword,
                        "\"" + keyword + "\" in several parts of it cannot be merged here");
  }

  // What the other names, and this one is about as well: as what it leaves over.
  Json told(const Json& one, const Json& other) {
    Json out = one;
    const Json others = one["additionalProperties"], rest = one["items"];
    const bool limits = !others.is_null() && !others.truth();
    if (limits && has(other, "patternProperties") &&
        !(one["patternProperties"] == other["patternProperties"]))
      leave_out("additionalProperties");
    if (limits && has(other, "properties")) {
      Json properties = one["properties"].is_null() ? Json::object() : one["properties"];
      for (const std::string& name : other["properties"].keys())
        if (!has(properties, name)) properties.set(name, others);
      out.set("properties", properties);
    }
    const std::size_t n = one["prefixItems"].items().size();
    if (rest.is_null() || other["prefixItems"].items().size() <= n) return out;
    Json items = one["prefixItems"].is_null() ? Json::array() : one["prefixItems"];
    for (std::size_t i = n; i < other["prefixItems"].items().size(); ++i) items.push(rest);
    return out.set("prefixItems", items);
  }

  std::optional<Json> merged_keyword(const std::string& name, const Json& a, const Json& b) {
    if (name == "type") return merged_types(a, b);
    if (a == b) return a;
    if (name == "properties" || name == "patternProperties") return merged_properties(a, b);
    if (name == "prefixItems") return merged_items(a.items(), b.items());
    if (name == "required" || name == kNoneOf || name == kNoPattern) return united(a, b);
    if (name == "enum") return common(a.items(), b.items());
    if (name == "const") return std::nullopt;
    if (name == "additionalProperties" || name == "items" || name == "propertyNames")
      return valid_by_both(a, b);
    if (name.starts_with("min") || name == "exclusiveMinimum") return is_less(a, b) ? b : a;
    if (name.starts_with("max") || name == "exclusiveMaximum") return is_less(a, b) ? a : b;
    if (name == "uniqueItems") return Json(true);
    leave_out(name);
    return a;
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

  static Json merged_properties(const Json& a, const Json& b) {
    Json both = a;
    for (const std::string& name : b.keys())
      both.set(name, has(a, name) ? valid_by_both(a[name], b[name]) : b[name]);
    return both;
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

  std::vector<Json> run(const SchemaPart& raw, int depth) {
    if (depth > kMaxDepth) throw Refusal("its combinations are too deep in each other");
    if (raw.json.is_boolean()) {
      if (raw.json.truth()) return {Json::object()};
      return {};
    }
    budget_.spend(weight_of(raw.json));
    const SchemaPart part = checked(document_, raw);
    Json own = Json::object();
    for (const std::string& name : part.json.keys())
      if (!is_combination(name)) own.set(name, part.json[name]);
    std::vector<Json> all{own};
    if (has(part.json, "$ref")) multiply(all, run(document_.referred(part), depth + 1));
    for (const SchemaPart& one : part.items("allOf")) multiply(all, run(one, depth + 1));
    if (has(part.json, "anyOf")) multiply(all, alternatives(part.items("anyOf"), depth));
    if (has(part.json, "oneOf") &&
        !narrow(all, part, "oneOf", alternatives(one_of(document_, part, budget_), depth)))
      multiply(all, alternatives(part.items("oneOf"), depth));
    for (const char* const name : {"if", "not"})
      if (has(part.json, name)) narrow_where_said(all, part, name, depth);
    for (const char* const name : {"dependencies", "dependentRequired", "dependentSchemas"})
      for (const auto& [key, wanted] : part.members(name))
        narrow(all, part, name, alternatives(dependent(key, wanted), depth));
    if (has(part.json, "contains")) {
      names_others_ = true;
      narrow(all, part, "contains", {containing(part)});
    }
    for (Json& flat : all) close(part, flat);
    return all;
  }

 private:
  std::vector<Json> alternatives(const std::vector<SchemaPart>& parts, int depth) {
    std::vector<Json> all;
    for (const SchemaPart& one : parts) {
      const std::vector<Json> some = run(one, depth + 1);
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  // Without the keyword where not all is strict and nothing would be left, since not all that is
  // valid is among the alternatives: false.
  bool narrow(std::vector<Json>& all, const SchemaPart& part, const char* keyword,
              const std::vector<Json>& others) {
    std::vector<Json> left = all;
    multiply(left, others);
    const bool is_lost = left.empty() && document_.strictness() == Strictness::kBestEffort;
    if (is_lost)
      document_.leave_out(part, keyword);
    else
      all = std::move(left);
    return !is_lost;
  }

  // "not" and "if", which are about what is invalid: where that cannot be said, "not" is left out,
  // and of "if" those values are left that are valid by it.
  void narrow_where_said(std::vector<Json>& all, const SchemaPart& part, const std::string& name,
                         int depth) {
    names_others_ = true;
    std::vector<SchemaPart> parts;
    try {
      for (const Json& json : negated(document_, part.at(name), budget_))
        parts.push_back({json, part.pointer});
    } catch (const Refusal& refusal) {
      if (name == "not") return document_.leave_out(part, name, refusal.what());
    }
    if (name == "if") parts = conditional(part, parts);
    narrow(all, part, name.c_str(), alternatives(parts, depth));
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

  static Json containing(const SchemaPart& part) {
    const auto least = part.json["minContains"].integer().value_or(1);
    const auto most = part.json["maxContains"].integer().value_or(least);
    if (least > kMostContained) throw Refusal("\"minContains\" is too large to be enforced");
    if (most < least) return Json::object().set("enum", Json::array());
    Json first = Json::array(), rest = true;
    for (std::int64_t i = 0; i < least; ++i) first.push(part.json["contains"]);
    if (has(part.json, "maxContains")) rest = Json::object().set("not", part.json["contains"]);
    const Json array = Json::object().set("items", rest).set("minItems", least);
    return least == 0 ? array : Json(array).set("prefixItems", first);
  }

  // What no part names does not come, or is what is said of it.
  void close(const SchemaPart& part, Json& flat) {
    for (const auto& [unevaluated, others] :
         {std::pair("unevaluatedProperties", "additionalProperties"),
          std::pair("unevaluatedItems", "items")}) {
      if (!has(part.json, unevaluated)) continue;
      if (names_others_) return document_.leave_out(part, unevaluated);
      if (has(flat, others)) continue;
      flat.set(others, part.json[unevaluated]);
    }
  }

  void multiply(std::vector<Json>& all, const std::vector<Json>& others) {
    std::vector<Json> products;
    std::set<std::string> seen;
    for (const Json& a : all)
      for (const Json& b : others) {
        auto both = Merger(document_, part_).merged(a, b);
        if (!both) continue;
        budget_.spend(weight_of(*both));
        if (products.size() == kMaxAlternatives)
          throw Refusal("its combinations have too many alternatives");
        if (seen.insert(both->dump()).second) products.push_back(std::move(*both));
      }
    all = std::move(products);
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

  bool is_possible(const SchemaPart& left, const SchemaPart& right, int depth = 0) {
    if (depth > kMaxDepth) return true;
    budget_.spend(kUnitsPerQuestion + weight_of(left.json) + weight_of(right.json));
    const SchemaPart a = resolved(document_, left), b = resolved(document_, right);
    for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)})
      for (const char* const name : {"anyOf", "oneOf"})
        if (has(one->json, name)) return any_overlaps(*one, name, *other, depth);
    const Types both = types_of(a.json) & types_of(b.json);
    if (both == 0) return false;
    if (values_differ(a.json, b.json)) return false;
    return both != kObject || !objects_differ(a, b, depth);
  }

 private:
  bool any_overlaps(const SchemaPart& one, const char* name, const SchemaPart& other, int depth) {
    for (const SchemaPart& alternative : one.items(name))
      if (is_possible(alternative, other, depth + 1)) return true;
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
  bool objects_differ(const SchemaPart& a, const SchemaPart& b, int depth) {
    for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      const auto in_one = properties_of(*one), in_other = properties_of(*other);
      const Json others = other->json["additionalProperties"];
      const bool forbids_others = others.is_boolean() && !others.truth();
      for (const Json& item : one->json["required"].items()) {
        const auto here = in_one.find(item.string()), there = in_other.find(item.string());
        if (there == in_other.end() && forbids_others) return true;
        if (here != in_one.end() && there != in_other.end() &&
            !is_possible(here->second, there->second, depth + 1))
          return true;
      }
    }
    return false;
  }

  SchemaDocument& document_;
  Budget& budget_;
};

}  // namespace

std::vector<SchemaPart> flattened(SchemaDocument& document, const SchemaPart& part,
                                  Budget& budget) {
  std::vector<SchemaPart> parts;
  for (const Json& json : Flattener(document, part, budget).run(part, 0))
    parts.push_back({json, part.pointer});
  return parts;
}

bool is_any_of(SchemaDocument& document, const SchemaPart& part, Budget& budget) {
  const std::vector<SchemaPart> plain = part.items("oneOf");
  return std::ranges::equal(one_of(document, part, budget), plain, {}, &SchemaPart::json,
                            &SchemaPart::json);
}

std::vector<SchemaPart> one_of(SchemaDocument& document, const SchemaPart& part, Budget& budget) {
  const std::vector<SchemaPart> parts = part.items("oneOf");
  Overlap overlap(document, budget);
  std::vector<SchemaPart> apart;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Json all = Json::array().push(parts[i].json);
    for (std::size_t k = 0; k < parts.size(); ++k)
      if (k != i && overlap.is_possible(parts[i], parts[k]))
        all.push(Json::object().set("not", parts[k].json));
    const bool is_alone = all.items().size() == 1;
    apart.push_back(is_alone ? parts[i]
                             : SchemaPart{Json::object().set("allOf", all), parts[i].pointer});
  }
  return apart;
}

}  // namespace pc::constrain
