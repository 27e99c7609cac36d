#include "tools/json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

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
Json::Json(SignedInteger integer) : Json(Value{integer.value}) {}

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

namespace {

// What the parser is told to refuse beside what is not JSON.
class Limits {
 public:
  Limits(std::size_t max_depth, Json::Twice twice) : max_depth_(max_depth), twice_(twice) {}

  void see(nlohmann::json::parse_event_t event, const nlohmann::ordered_json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) open();
    if (event == Event::object_end || event == Event::array_end) keys_.pop_back();
    if (event != Event::key || twice_ == Json::Twice::kLastCounts) return;
    const auto& key = parsed.get_ref<const std::string&>();
    if (!keys_.back().insert(key).second)
      throw std::runtime_error("an object has the key \"" + key + "\" twice");
  }

 private:
  void open() {
    if (keys_.size() == max_depth_)
      throw std::runtime_error("more than " + std::to_string(max_depth_) +
                               " arrays and objects are in each other");
    keys_.emplace_back();
  }

  const std::size_t max_depth_;
  const Json::Twice twice_;
  std::vector<std::set<std::string>> keys_;  // of each array or object that is open
};

}  // namespace

std::optional<Json> Json::read_strictly(std::string_view text, std::size_t max_depth,
                                        std::string* why, Twice twice) try {
  Limits limits(max_depth, twice);
  const auto see = [&](int, nlohmann::json::parse_event_t event, nlohmann::ordered_json& parsed) {
    limits.see(event, parsed);
    return true;
  };
  return Json(Value{nlohmann::ordered_json::parse(text, see)});
} catch (const nlohmann::json::parse_error& error) {
  *why = "it is not JSON: byte " + std::to_string(error.byte) + " cannot stand there";
  return std::nullopt;
} catch (const nlohmann::json::exception&) {
  *why = "a number is beyond what can be computed with";
  return std::nullopt;
} catch (const std::runtime_error& error) {
  *why = error.what();
  return std::nullopt;
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

std::vector<std::string> Json::keys() const {
  std::vector<std::string> keys;
  if (value_->json.is_object())
    for (const auto& [key, value] : value_->json.items()) keys.push_back(key);
  return keys;
}

bool Json::is_null() const {
  return value_->json.is_null();
}
bool Json::is_object() const {
  return value_->json.is_object();
}
bool Json::is_array() const {
  return value_->json.is_array();
}
bool Json::is_string() const {
  return value_->json.is_string();
}
bool Json::is_boolean() const {
  return value_->json.is_boolean();
}
bool Json::is_number() const {
  return value_->json.is_number();
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

std::optional<std::int64_t> Json::integer() const {
  const auto& json = value_->json;
  constexpr double kMost = 9007199254740992;  // 2^53: up to there a double says which one it is
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (!json.is_number_float()) return std::nullopt;
  const double real = json.get<double>();
  if (std::abs(real) > kMost || std::trunc(real) != real) return std::nullopt;
  return static_cast<std::int64_t>(real);
}

double Json::real() const {
  return value_->json.is_number() ? value_->json.get<double>() : 0;
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
