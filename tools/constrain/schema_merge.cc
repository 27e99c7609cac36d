#include "tools/constrain/schema_merge.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace pc::constrain {
namespace {

constexpr int kMaxDepth = 32;  // of combinations in each other
constexpr std::size_t kMaxAlternatives = 256;
constexpr std::size_t kUnitsPerQuestion = 40;  // whether two alternatives overlap: 3 us

bool has(const Json& object, std::string_view key) {
  const std::vector<std::string> keys = object.keys();
  return std::ranges::find(keys, key) != keys.end();
}

bool is_combination(std::string_view keyword) {
  return keyword == "$ref" || keyword == "allOf" || keyword == "anyOf" || keyword == "oneOf";
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
  std::optional<Json> merged(const Json& a, const Json& b) {
    check_apart(a, b);
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
    return both;
  }

 private:
  void leave_out(const std::string& keyword) {
    document_.leave_out(part_, keyword,
                        "\"" + keyword + "\" in several parts of it cannot be merged here");
  }

  // Keywords that are about what others of the same schema leave over.
  void check_apart(const Json& a, const Json& b) {
    for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      if (has(*one, "additionalProperties") && !(*one)["additionalProperties"].truth())
        for (const std::string& name : (*other)["properties"].keys())
          if (!has((*one)["properties"], name)) leave_out("additionalProperties");
      if (has(*one, "prefixItems") && has(*other, "items") && !(*one == *other)) leave_out("items");
    }
  }

  std::optional<Json> merged_keyword(const std::string& name, const Json& a, const Json& b) {
    if (name == "type") return merged_types(a, b);
    if (a == b) return a;
    if (name == "properties") return merged_properties(a, b);
    if (name == "required") return united(a, b);
    if (name == "enum") return common(a.items(), b.items());
    if (name == "const") return std::nullopt;
    if (name == "additionalProperties" && a.truth()) return b;
    if (name == "additionalProperties" && b.truth()) return a;
    if (name.starts_with("min") || name == "exclusiveMinimum") return is_less(a, b) ? b : a;
    if (name.starts_with("max") || name == "exclusiveMaximum") return is_less(a, b) ? a : b;
    leave_out(name);
    return a;
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
    const auto parts = [](const Json& json) {
      const bool is_all_of = constraints_of(json) == std::vector<std::string>{"allOf"};
      return is_all_of ? json["allOf"] : Json::array().push(json);
    };
    const Json all = united(parts(a), parts(b));
    const std::vector<Json> items = all.items();
    return items.size() == 1 ? items.front() : Json::object().set("allOf", all);
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
    if (has(part.json, "oneOf")) check_one_of(document_, part, budget_);
    for (const char* const name : {"anyOf", "oneOf"})
      if (has(part.json, name)) multiply(all, alternatives(part, name, depth));
    return all;
  }

 private:
  std::vector<Json> alternatives(const SchemaPart& part, const char* name, int depth) {
    std::vector<Json> all;
    for (const SchemaPart& one : part.items(name)) {
      const std::vector<Json> some = run(one, depth + 1);
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  void multiply(std::vector<Json>& all, const std::vector<Json>& others) {
    if (all.size() * others.size() > kMaxAlternatives)
      throw Refusal("its combinations have too many alternatives");
    std::vector<Json> products;
    for (const Json& a : all)
      for (const Json& b : others) {
        auto both = Merger(document_, part_).merged(a, b);
        if (!both) continue;
        budget_.spend(weight_of(*both));
        products.push_back(std::move(*both));
      }
    all = std::move(products);
  }

  SchemaDocument& document_;
  const SchemaPart& part_;
  Budget& budget_;
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

void check_one_of(SchemaDocument& document, const SchemaPart& part, Budget& budget) {
  const std::vector<SchemaPart> parts = part.items("oneOf");
  Overlap overlap(document, budget);
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (std::size_t k = i + 1; k < parts.size(); ++k)
      if (overlap.is_possible(parts[i], parts[k]))
        return document.leave_out(
            part, "oneOf",
            "\"oneOf\" cannot be enforced here where a value may be valid by two of "
            "its alternatives (" +
                std::to_string(i) + " and " + std::to_string(k) +
                "): say \"anyOf\", or tell them apart by a required constant");
}

}  // namespace pc::constrain
