#include "runtime/constrain/schemas/schema_negation.h"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/constrain/schemas/schema_keywords.h"

namespace pc::constrain {
namespace {

constexpr std::size_t kMostAlternatives = 24, kMostNumbers = 8;
constexpr int kMaxReferences = 32;  // one behind the other

Json list_of(const Json& item) {
  return Json::array().push(item);
}

Json typed(Types types) {
  return Json::object().set("type", type_names(types));
}

Json without(const Json& schema) {
  return Json::object().set("not", schema);
}

// Does it say the same of a text in every engine, so that what it does not find is known?
bool is_plain_pattern(const std::string& pattern) {
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i)
    if (pattern[i] == '\\' && std::string_view("dDwWsSpP").find(pattern[++i]) != std::string::npos)
      return false;
  return true;
}

class Negation {
 public:
  Negation(SchemaDocument& document, const SchemaPart& part) : document_(document), part_(part) {}

  Result<std::vector<Json>> run() {
    const Json& schema = part_.json;
    const auto values = declared_values(schema);
    if (values) add_other_values(*values);
    for (const std::string& name : schema.keys())
      if (name != "enum" && name != "const") PC_CHECK_OK(add(name, schema[name]));
    if (found_.empty() && is_lacking_) return refusal("\"not\" of this cannot be enforced here");
    if (found_.size() > kMostAlternatives) found_.resize(kMostAlternatives);
    return std::move(found_);
  }

 private:
  void add(Json alternative) { found_.push_back(std::move(alternative)); }

  // What is invalid by one keyword.
  Status add(const std::string& name, const Json& value) {
    if (name == "type") {
      const Types others = kAllTypes & ~*declared_types(part_.json);
      if (!type_names(others).items().empty()) add(typed(others));
    } else if (name == "$ref") {
      PC_TRY(const SchemaPart referred, document_.referred(part_));
      add(without(referred.json));
    } else if (name == "not") {
      add(value);
    } else if (name == "allOf") {
      for (const Json& one : value.items()) add(without(one));
    } else if (name == "anyOf" || name == "oneOf") {
      Json none = Json::array();
      for (const Json& one : value.items()) none.push(without(one));
      add(Json::object().set("allOf", none));
    } else if (types_of_keyword(name) == kString) {
      add_text(name, value);
    } else if (types_of_keyword(name) == kNumber) {
      add_number(name, value);
    } else if (types_of_keyword(name) == kArray) {
      add_array(name, value);
    } else {
      add_object(name, value);
    }
    return ok();
  }

  void add_text(const std::string& name, const Json& value) {
    const Json text = typed(kString);
    if (name == "minLength" && *value.integer() > 0)
      add(Json(text).set("maxLength", *value.integer() - 1));
    else if (name == "maxLength")
      add(Json(text).set("minLength", *value.integer() + 1));
    else if (name == "pattern" && is_plain_pattern(value.string()))
      add(Json(text).set(kNoPattern, list_of(value)));
    else
      is_lacking_ = true;
  }

  void add_number(const std::string& name, const Json& value) {
    const Json number = typed(kNumber);
    if (name == "minimum") return add(Json(number).set("exclusiveMaximum", value));
    if (name == "maximum") return add(Json(number).set("exclusiveMinimum", value));
    if (name == "exclusiveMinimum") return add(Json(number).set("maximum", value));
    if (name == "exclusiveMaximum") return add(Json(number).set("minimum", value));
    is_lacking_ = true;
  }

  void add_array(const std::string& name, const Json& value) {
    const Json array = typed(kArray);
    if (name == "minItems" && *value.integer() > 0)
      return add(Json(array).set("maxItems", *value.integer() - 1));
    if (name == "maxItems") return add(Json(array).set("minItems", *value.integer() + 1));
    if (name == "items" && part_.json["prefixItems"].is_null())
      return add(Json(array)
                     .set("prefixItems", list_of(without(value)))
                     .set("items", true)
                     .set("minItems", 1));
    if (name == "contains" && part_.json["minContains"].is_null())
      return add(Json(array).set("items", without(value)));
    is_lacking_ = true;
  }

  void add_object(const std::string& name, const Json& value) {
    const Json object = typed(kObject);
    if (name == "required") {
      for (const Json& item : value.items())
        add(Json(object).set("properties", Json::object().set(item.string(), false)));
    } else if (name == "properties") {
      for (const auto& [key, named] : value.members())
        if (!(named == Json(true)) && !(named == Json::object()))
          add(Json(object)
                  .set("properties", Json::object().set(key, without(named)))
                  .set("required", list_of(Json(key))));
    } else if (name == "minProperties" && *value.integer() > 0) {
      add(Json(object).set("maxProperties", *value.integer() - 1));
    } else {
      is_lacking_ = true;
    }
  }

  // None of the enumerated ones.
  void add_other_values(const std::vector<Json>& values) {
    Types types = 0;
    Json texts = Json::array();
    std::vector<Json> numbers;
    for (const Json& value : values) {
      types |= types_of_value(value);
      if (value.is_string()) texts.push(value);
      if (value.is_number()) numbers.push_back(value);
    }
    const Types others = kAllTypes & ~(types & kNumber ? types | kNumber : types);
    if (others) add(typed(others));
    if (types & kString) add(typed(kString).set(kNoneOf, texts));
    for (const bool flag : {true, false})
      if ((types & kBoolean) && std::ranges::find(values, Json(flag)) == values.end())
        add(Json::object().set("const", flag));
    add_other_numbers(std::move(numbers));
  }

  void add_other_numbers(std::vector<Json> numbers) {
    if (numbers.empty()) return;
    std::ranges::sort(numbers, {}, [](const Json& number) { return number.real(); });
    if (numbers.size() > kMostNumbers) numbers = {numbers.front(), numbers.back()};
    const Json number = typed(kNumber);
    add(Json(number).set("exclusiveMaximum", numbers.front()));
    add(Json(number).set("exclusiveMinimum", numbers.back()));
    if (numbers.size() < 3) return;
    for (std::size_t i = 0; i + 1 < numbers.size(); ++i)
      add(Json(number).set("exclusiveMinimum", numbers[i]).set("exclusiveMaximum", numbers[i + 1]));
  }

  SchemaDocument& document_;
  const SchemaPart& part_;
  std::vector<Json> found_;
  bool is_lacking_ = false;  // something that is invalid is not said
};

}  // namespace

Result<std::vector<Json>> negated(SchemaDocument& document, const SchemaPart& raw, Budget& budget) {
  PC_TRY(SchemaPart part, checked(document, raw));
  for (int i = 0; part.json.keys() == std::vector<std::string>{"$ref"}; ++i) {
    if (i == kMaxReferences) return refusal("\"$ref\" leads back to itself");
    PC_TRY(part, document.referred(part));
    PC_TRY(part, checked(document, part));
  }
  budget.spend(1 + part.json.dump().size() / 16);
  PC_CHECK_OK(budget.check());
  if (part.json == Json(false)) return std::vector<Json>{Json::object()};
  if (part.json.is_boolean()) return std::vector<Json>();
  return Negation(document, part).run();
}

}  // namespace pc::constrain
