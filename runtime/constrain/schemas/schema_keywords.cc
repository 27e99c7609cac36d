#include "runtime/constrain/schemas/schema_keywords.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "runtime/constrain/schemas/formats.h"

namespace pc::constrain {
namespace {

enum class Shape {
  kAny,
  kString,
  kCount,
  kNumber,
  kFlag,
  kSchema,
  kSchemas,
  kSchemasByName,
  kNames,
  kNamesByName,
  kNamesOrSchemasByName,
  kTypes,
  kList,
  kUnknown  // there is no rule for it here
};

struct Keyword {
  std::string_view name;
  Shape shape;
  Types types;
};

constexpr Keyword kKeywords[] = {
    {"$ref", Shape::kString, kAllTypes},
    {"type", Shape::kTypes, kAllTypes},
    {"enum", Shape::kList, kAllTypes},
    {"const", Shape::kAny, kAllTypes},
    {"anyOf", Shape::kSchemas, kAllTypes},
    {"oneOf", Shape::kSchemas, kAllTypes},
    {"allOf", Shape::kSchemas, kAllTypes},
    {"properties", Shape::kSchemasByName, kObject},
    {"required", Shape::kNames, kObject},
    {"additionalProperties", Shape::kSchema, kObject},
    {"minProperties", Shape::kCount, kObject},
    {"maxProperties", Shape::kCount, kObject},
    {"items", Shape::kSchema, kArray},
    {"prefixItems", Shape::kSchemas, kArray},
    {"minItems", Shape::kCount, kArray},
    {"maxItems", Shape::kCount, kArray},
    {"uniqueItems", Shape::kFlag, kArray},
    {"minLength", Shape::kCount, kString},
    {"maxLength", Shape::kCount, kString},
    {"pattern", Shape::kString, kString},
    {"format", Shape::kString, kString},
    {"minimum", Shape::kNumber, kNumber},
    {"maximum", Shape::kNumber, kNumber},
    {"exclusiveMinimum", Shape::kNumber, kNumber},
    {"exclusiveMaximum", Shape::kNumber, kNumber},
    {"multipleOf", Shape::kNumber, kNumber},
    {"nullable", Shape::kAny, kAllTypes},
    {"not", Shape::kSchema, kAllTypes},
    {"if", Shape::kSchema, kAllTypes},
    {"then", Shape::kSchema, kAllTypes},
    {"else", Shape::kSchema, kAllTypes},
    {"patternProperties", Shape::kSchemasByName, kObject},
    {"propertyNames", Shape::kSchema, kObject},
    {"dependencies", Shape::kNamesOrSchemasByName, kObject},
    {"dependentRequired", Shape::kNamesByName, kObject},
    {"dependentSchemas", Shape::kSchemasByName, kObject},
    {"unevaluatedProperties", Shape::kSchema, kObject},
    {"unevaluatedItems", Shape::kSchema, kArray},
    {"contains", Shape::kSchema, kArray},
    {"minContains", Shape::kCount, kArray},
    {"maxContains", Shape::kCount, kArray},
    {kNoneOf, Shape::kList, kString},
    {kNoPattern, Shape::kList, kString},
    {"$dynamicRef", Shape::kUnknown, kAllTypes},
    {"$recursiveRef", Shape::kUnknown, kAllTypes},
};

const Keyword* find(std::string_view name) {
  const auto* const found = std::ranges::find(kKeywords, name, &Keyword::name);
  return found == std::end(kKeywords) ? nullptr : found;
}

bool is_schema(const Json& json) {
  return json.is_object() || json.is_boolean();
}

constexpr std::pair<std::string_view, Types> kTypeNames[] = {{"null", kNull},
                                                             {"boolean", kBoolean},
                                                             {"string", kString},
                                                             {"number", kNumber},
                                                             {"integer", kInteger},
                                                             {"array", kArray},
                                                             {"object", kObject},
                                                             {"\x01"
                                                              "fraction",
                                                              kFraction}};

// 0: there is no such type.
Types type_named(std::string_view name) {
  for (const auto& [known, types] : kTypeNames)
    if (known == name) return types;
  return 0;
}

bool has_shape(const Json& value, Shape shape) {
  const auto all_items = [&](auto fits) {
    const std::vector<Json> items = value.items();
    return value.is_array() && std::ranges::all_of(items, fits);
  };
  const auto is_type = [](const Json& item) { return type_named(item.string()) != 0; };
  switch (shape) {
    case Shape::kUnknown:
    case Shape::kAny:
      return true;
    case Shape::kString:
      return value.is_string();
    case Shape::kCount:
      return value.integer() && *value.integer() >= 0;
    case Shape::kNumber:
      return value.is_number();
    case Shape::kFlag:
      return value.is_boolean();
    case Shape::kSchema:
      return is_schema(value);
    case Shape::kSchemas:
      return all_items(is_schema) && !value.items().empty();
    case Shape::kNames:
      return all_items([](const Json& item) { return item.is_string(); });
    case Shape::kTypes:
      return is_type(value) || (all_items(is_type) && !value.items().empty());
    case Shape::kList:
      return value.is_array();
    case Shape::kSchemasByName:
    case Shape::kNamesByName:
    case Shape::kNamesOrSchemasByName:
      break;
  }
  return value.is_object() && std::ranges::all_of(value.members(), [&](const auto& member) {
           const Json& named = member.second;
           const bool is_names = has_shape(named, Shape::kNames);
           return (shape != Shape::kNamesByName && is_schema(named)) ||
                  (shape != Shape::kSchemasByName && is_names) ||
                  (shape == Shape::kNamesOrSchemasByName && named.is_string());
         });
}

// As older drafts write it: a bound that is excluded by a flag beside it, and first items as a list
// of "items". Without what no standard knows, of which there may be any number.
Json modern(const Json& schema) {
  const auto excludes = [&](const char* flag) { return schema[flag] == Json(true); };
  const bool is_tuple = schema["items"].is_array() && schema["prefixItems"].is_null();
  Json out = Json::object();
  for (const auto& [name, value] : schema.members()) {
    if (!find(name)) continue;
    const bool is_least = name == "exclusiveMinimum", is_most = name == "exclusiveMaximum";
    if ((is_least || is_most) && value.is_boolean()) {
      const Json bound = schema[is_least ? "minimum" : "maximum"];
      if (value.truth() && !bound.is_null()) out.set(name, bound);
    } else if (name == "items" && is_tuple) {
      if (!value.items().empty()) out.set("prefixItems", value);
      if (!schema["additionalItems"].is_null()) out.set("items", schema["additionalItems"]);
    } else if (!(name == "minimum" && excludes("exclusiveMinimum")) &&
               !(name == "maximum" && excludes("exclusiveMaximum"))) {
      out.set(name, value);
    }
  }
  return out;
}

// True of each value, whatever is beside it.
bool says_nothing(const std::string& name, const Json& value) {
  if (name == "propertyNames")
    return value == Json::object() || value == Json(true) ||
           value == Json::object().set("type", "string");
  if (name == "format") return is_annotation_only(value.string());
  if (name == "nullable") return true;  // but beside "type"
  if (name == "uniqueItems") return value == Json(false);
  if (name == "dependencies" || name == "dependentRequired" || name == "dependentSchemas" ||
      name == "patternProperties")
    return value == Json::object();
  return (name == "unevaluatedProperties" || name == "unevaluatedItems") && value.truth();
}

// Keywords that mean something beside another alone.
bool is_without_its_fellow(const std::string& name, const Json& schema) {
  if (name == "then" || name == "else") return schema["if"].is_null();
  return (name == "minContains" || name == "maxContains") && schema["contains"].is_null();
}

// "": it can be enforced.
std::string why_not(SchemaDocument& document, const SchemaPart& part, const std::string& name,
                    const Json& value) {
  const Keyword& keyword = *find(name);
  if (keyword.shape == Shape::kUnknown) return "\"" + name + "\" cannot be enforced here";
  if (!has_shape(value, keyword.shape))
    return "what \"" + name + "\" says is not what JSON Schema has there";
  if (name != "$ref") return "";
  const auto referred = document.referred(part);
  return referred.ok() ? "" : referred.error().message;
}

// OpenAPI's "nullable": the type, or null.
Json with_null(const Json& type) {
  Json types = Json::array();
  if (type.is_string()) types.push(type);
  for (const Json& item : type.items())
    if (!(item == Json("null"))) types.push(item);
  return types.push("null");
}

}  // namespace

std::vector<std::string> constraints_of(const Json& schema) {
  std::vector<std::string> names = schema.keys();
  std::erase_if(names, [](const std::string& name) { return !find(name); });
  return names;
}

Result<SchemaPart> checked(SchemaDocument& document, const SchemaPart& part) {
  if (!part.json.is_object()) return part;
  Json kept = Json::object();
  const SchemaPart modern_part{modern(part.json), part.pointer};
  for (const std::string& name : constraints_of(modern_part.json)) {
    const Json value = modern_part.json[name];
    if (says_nothing(name, value) || is_without_its_fellow(name, modern_part.json)) continue;
    const std::string why = why_not(document, modern_part, name, value);
    if (why.empty())
      kept.set(name, value);
    else
      PC_CHECK_OK(document.leave_out(part, name, why));
  }
  if (part.json["nullable"].truth() && !kept["type"].is_null())
    kept.set("type", with_null(kept["type"]));
  return SchemaPart{kept, part.pointer};
}

Result<SchemaPart> resolved(SchemaDocument& document, SchemaPart part) {
  std::set<std::string> seen;
  PC_TRY(part, checked(document, part));
  while (part.json.keys() == std::vector<std::string>{"$ref"}) {
    if (!seen.insert(part.pointer).second) return refusal("\"$ref\" leads back to itself");
    PC_TRY(part, document.referred(part));
    PC_TRY(part, checked(document, part));
  }
  return part;
}

std::optional<Types> declared_types(const Json& schema) {
  const Json type = schema["type"];
  if (type.is_null()) return std::nullopt;
  Types types = type_named(type.string());
  for (const Json& item : type.items()) types |= type_named(item.string());
  return types;
}

Types types_of_value(const Json& value) {
  if (value.is_null()) return kNull;
  if (value.is_boolean()) return kBoolean;
  if (value.is_string()) return kString;
  if (value.is_array()) return kArray;
  if (value.is_object()) return kObject;
  return std::trunc(value.real()) == value.real() ? kInteger : kFraction;
}

Json type_names(Types types) {
  Json names = Json::array();
  for (const auto& [name, bits] : kTypeNames) {
    if ((types & bits) != bits) continue;
    names.push(name);
    types &= ~bits;
  }
  return names;
}

Types types_of_keyword(std::string_view name) {
  const Keyword* const keyword = find(name);
  return keyword ? keyword->types : kAllTypes;
}

std::uint32_t count_of(const Json& schema, const char* keyword, std::uint32_t otherwise) {
  const auto count = schema[keyword].integer();
  if (!count) return otherwise;
  return static_cast<std::uint32_t>(std::min<std::int64_t>(*count, UINT32_MAX));
}

std::optional<std::vector<Json>> declared_values(const Json& schema) {
  const std::vector<std::string> keys = schema.keys();
  const auto has = [&](const char* name) { return std::ranges::find(keys, name) != keys.end(); };
  if (!has("const") && !has("enum")) return std::nullopt;
  std::vector<Json> values = has("enum") ? schema["enum"].items() : std::vector{schema["const"]};
  if (has("const"))  // null is a value, too
    std::erase_if(values, [&](const Json& value) { return !(value == schema["const"]); });
  return values;
}

}  // namespace pc::constrain
