#include "tools/constrain/schema_keywords.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

namespace pc::constrain {
namespace {

constexpr std::array<std::string_view, 15> kAnnotations{
    "$schema",     "$comment", "$defs",     "definitions",   "title",
    "description", "default",  "example",   "examples",      "$id",
    "deprecated",  "readOnly", "writeOnly", "discriminator", "$vocabulary"};

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
  kTypes,
  kList
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
};

const Keyword* find(std::string_view name) {
  const auto* const found = std::ranges::find(kKeywords, name, &Keyword::name);
  return found == std::end(kKeywords) ? nullptr : found;
}

bool is_annotation(std::string_view name) {
  return std::ranges::find(kAnnotations, name) != kAnnotations.end() || name.starts_with("x-");
}

bool is_schema(const Json& json) {
  return json.is_object() || json.is_boolean();
}

constexpr std::pair<std::string_view, Types> kTypeNames[] = {
    {"null", kNull},       {"boolean", kBoolean}, {"string", kString}, {"number", kNumber},
    {"integer", kInteger}, {"array", kArray},     {"object", kObject}};

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
      break;
  }
  const std::vector<std::string> names = value.keys();
  return value.is_object() && std::ranges::all_of(names, [&](const std::string& name) {
           return is_schema(value[name]);
         });
}

}  // namespace

std::vector<std::string> constraints_of(const Json& schema) {
  std::vector<std::string> names = schema.keys();
  std::erase_if(names, [](const std::string& name) { return is_annotation(name); });
  return names;
}

void check_keywords(const SchemaDocument& document, const SchemaPart& part) {
  for (const std::string& name : constraints_of(part.json)) {
    const Keyword* const keyword = find(name);
    if (!keyword) document.refuse(part, "\"" + name + "\" cannot be enforced here");
    if (!has_shape(part.json[name], keyword->shape))
      document.refuse(part, "what \"" + name + "\" says is not what JSON Schema has there");
  }
  if (!part.pointer.empty() && !part.json["$id"].is_null())
    document.refuse(part, "\"$id\" cannot stand inside a schema here");
}

SchemaPart resolved(SchemaDocument& document, SchemaPart part) {
  std::set<std::string> seen;
  while (constraints_of(part.json) == std::vector<std::string>{"$ref"}) {
    check_keywords(document, part);
    if (!seen.insert(part.pointer).second) document.refuse(part, "\"$ref\" leads back to itself");
    part = document.referred(part);
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
