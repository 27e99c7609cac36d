#include "tools/json.h"

#include <nlohmann/json.hpp>

#include "tools/failure.h"

namespace pc::cli {

struct Json::Value {
  nlohmann::ordered_json json;
};

Json::Json(Value value) : value_(std::make_shared<Value>(std::move(value))) {}
Json::Json() : Json(Value{nullptr}) {}
Json::Json(std::string_view text) : Json(Value{std::string(text)}) {}
Json::Json(const char* text) : Json(std::string_view(text)) {}
Json::Json(const std::string& text) : Json(std::string_view(text)) {}
Json::Json(bool value) : Json(Value{value}) {}
Json::Json(double value) : Json(Value{value}) {}
Json::Json(Integer integer) : Json(Value{integer.value}) {}

Json Json::object() {
  return Json(Value{nlohmann::ordered_json::object()});
}
Json Json::array() {
  return Json(Value{nlohmann::ordered_json::array()});
}

Json Json::parse(std::string_view text) {
  auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    throw Failure(kFailure, "the library's report is not JSON; please report this defect");
  return Json(Value{std::move(json)});
}

Json Json::read(std::string_view text) {
  auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? Json() : Json(Value{std::move(json)});
}

Json::Value& Json::own() {
  if (value_.use_count() > 1) value_ = std::make_shared<Value>(*value_);
  return *value_;
}

Json& Json::set(std::string_view key, const Json& value) {
  own().json[std::string(key)] = value.value_->json;
  return *this;
}

Json& Json::push(const Json& value) {
  own().json.push_back(value.value_->json);
  return *this;
}

Json Json::operator[](std::string_view key) const {
  if (!value_->json.is_object()) return Json();
  const auto found = value_->json.find(std::string(key));
  return found == value_->json.end() ? Json() : Json(Value{*found});
}

std::vector<Json> Json::items() const {
  std::vector<Json> items;
  if (value_->json.is_array())
    for (const auto& item : value_->json) items.push_back(Json(Value{item}));
  return items;
}

bool Json::is_null() const {
  return value_->json.is_null();
}

std::string Json::text() const {
  const auto& json = value_->json;
  std::string text;
  if (json.is_string()) text = json.get<std::string>();
  if (json.is_boolean()) text = json.get<bool>() ? "yes" : "no";
  if (json.is_number()) text = json.dump();
  for (const Json& item : items()) text += (text.empty() ? "" : ", ") + item.text();
  return text.empty() ? "-" : text;
}

std::string Json::string() const {
  return value_->json.is_string() ? value_->json.get<std::string>() : std::string();
}

std::optional<std::uint64_t> Json::number() const {
  const auto& json = value_->json;
  if (!json.is_number_unsigned()) return std::nullopt;
  return json.get<std::uint64_t>();
}

bool Json::truth() const {
  return value_->json.is_boolean() && value_->json.get<bool>();
}

bool operator==(const Json& a, const Json& b) {
  return nlohmann::json(a.value_->json) == nlohmann::json(b.value_->json);
}

std::string Json::dump() const {
  return value_->json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace pc::cli
