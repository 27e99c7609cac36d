#include "tools/output/json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/output/failure.h"

namespace pc::cli {

Json::Json(Node node) : node_(std::make_shared<Node>(std::move(node))) {}
Json::Json() : Json(Node(nullptr)) {}
Json::Json(std::string_view text) : Json(Node(std::string(text))) {}
Json::Json(const char* text) : Json(std::string_view(text)) {}
Json::Json(const std::string& text) : Json(std::string_view(text)) {}
Json::Json(bool value) : Json(Node(value)) {}
Json::Json(double value) : Json(Node(value)) {}
Json::Json(Integer integer) : Json(Node(integer.value)) {}
Json::Json(SignedInteger integer) : Json(Node(integer.value)) {}

Json Json::object() {
  return Json(Node::object());
}
Json Json::array() {
  return Json(Node::array());
}

Json Json::parse(std::string_view text) {
  auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    throw Failure(kFailure, "the library's report is not JSON; please report this defect");
  return Json(std::move(json));
}

Json Json::read(std::string_view text) {
  auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? Json() : Json(std::move(json));
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
  return Json(Node::parse(text, see));
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

Json::Node& Json::own() {
  if (node_.use_count() > 1) node_ = std::make_shared<Node>(*node_);
  return *node_;
}

Json& Json::set(std::string_view key, const Json& value) {
  own()[std::string(key)] = *value.node_;
  return *this;
}

Json& Json::push(const Json& value) {
  own().push_back(*value.node_);
  return *this;
}

Json Json::operator[](std::string_view key) const {
  if (!node_->is_object()) return Json();
  const auto found = node_->find(std::string(key));
  return found == node_->end() ? Json() : within(*found);
}

bool Json::has(std::string_view key) const {
  return node_->is_object() && node_->contains(std::string(key));
}

std::vector<Json> Json::items() const {
  std::vector<Json> items;
  if (!node_->is_array()) return items;
  items.reserve(node_->size());
  for (Node& item : *node_) items.push_back(within(item));
  return items;
}

// Shares all of this value, of which `part` is a part.
Json Json::within(Node& part) const {
  Json json(std::shared_ptr<Node>(node_, &part));
  return json;
}

std::vector<std::string> Json::keys() const {
  std::vector<std::string> keys;
  if (node_->is_object())
    for (const auto& [key, value] : node_->items()) keys.push_back(key);
  return keys;
}

bool Json::is_null() const {
  return node_->is_null();
}
bool Json::is_object() const {
  return node_->is_object();
}
bool Json::is_array() const {
  return node_->is_array();
}
bool Json::is_string() const {
  return node_->is_string();
}
bool Json::is_boolean() const {
  return node_->is_boolean();
}
bool Json::is_number() const {
  return node_->is_number();
}

std::string Json::text() const {
  const auto& json = (*node_);
  std::string text;
  if (json.is_string()) text = json.get<std::string>();
  if (json.is_boolean()) text = json.get<bool>() ? "yes" : "no";
  if (json.is_number()) text = json.dump();
  for (const Json& item : items()) text += (text.empty() ? "" : ", ") + item.text();
  return text.empty() ? "-" : text;
}

std::string Json::string() const {
  return node_->is_string() ? node_->get<std::string>() : std::string();
}

std::string_view Json::view() const {
  return node_->is_string() ? std::string_view(node_->get_ref<const std::string&>())
                            : std::string_view();
}

std::optional<std::uint64_t> Json::number() const {
  const auto& json = (*node_);
  if (!json.is_number_unsigned()) return std::nullopt;
  return json.get<std::uint64_t>();
}

std::optional<std::int64_t> Json::integer() const {
  const auto& json = (*node_);
  constexpr double kMost = 9007199254740992;  // 2^53: up to there a double says which one it is
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (!json.is_number_float()) return std::nullopt;
  const double real = json.get<double>();
  if (std::abs(real) > kMost || std::trunc(real) != real) return std::nullopt;
  return static_cast<std::int64_t>(real);
}

double Json::real() const {
  return node_->is_number() ? node_->get<double>() : 0;
}

bool Json::truth() const {
  return node_->is_boolean() && node_->get<bool>();
}

namespace {

// Whatever the order of keys, which ordered_json's own comparison heeds.
bool are_equal(const nlohmann::ordered_json& a, const nlohmann::ordered_json& b) {
  if (a.is_array() && b.is_array())
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), are_equal);
  if (!a.is_object() || !b.is_object()) return a == b;
  return a.size() == b.size() && std::ranges::all_of(a.items(), [&](const auto& member) {
           const auto other = b.find(member.key());
           return other != b.end() && are_equal(member.value(), *other);
         });
}

}  // namespace

bool operator==(const Json& a, const Json& b) {
  return are_equal(*a.node_, *b.node_);
}

std::string Json::dump() const {
  return node_->dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace pc::cli
