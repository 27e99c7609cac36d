#include "tools/serve/request/fields.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace pc::serve {
namespace {

constexpr std::size_t kMaxDepth = 64;

std::string in_digits(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", x);
  return text;
}

}  // namespace

// An object, what was read of it, and those within that are read, too.
struct Fields::Node {
  Json object;
  std::string path;
  std::set<std::string> read = {};
  std::vector<std::string> left_out = {}, remarks = {};
  bool is_left_out = false;
  std::vector<std::shared_ptr<Node>> within = {};

  void add_unread_to(std::vector<std::string>* names) const {
    if (is_left_out) return names->push_back(path);
    for (const std::string& key : object.keys())
      if (!read.contains(key)) names->push_back(path.empty() ? key : path + "." + key);
    names->insert(names->end(), left_out.begin(), left_out.end());
    for (const auto& node : within) node->add_unread_to(names);
  }
  void add_remarks_to(std::vector<std::string>* all) const {
    all->insert(all->end(), remarks.begin(), remarks.end());
    for (const auto& node : within) node->add_remarks_to(all);
  }
};

Json read_body(const std::string& body) {
  std::string why;
  const std::optional<Json> json = Json::read_strictly(body, kMaxDepth, &why);
  if (!json) throw ApiError::bad_request("the body cannot be read: " + why);
  if (!json->is_object()) throw ApiError::bad_request("the body must be a JSON object");
  return *json;
}

Fields::Fields(Json object, std::string path)
    : node_(std::make_shared<Node>(Node{std::move(object), std::move(path)})) {
  if (!node_->object.is_object())
    throw ApiError::bad_request(node_->path + " must be an object", node_->path);
}

Fields Fields::inside(const Json& object, const std::string& path) const {
  Fields fields(object, path);
  node_->within.push_back(fields.node_);
  return fields;
}

const std::string& Fields::path() const {
  return node_->path;
}

std::string Fields::path_of(const std::string& name) const {
  return node_->path.empty() ? name : node_->path + "." + name;
}

void Fields::refuse(const std::string& name, const std::string& what) const {
  throw ApiError::bad_request(path_of(name) + " " + what, path_of(name));
}

std::optional<Json> Fields::any(const char* name) {
  node_->read.insert(name);
  const Json value = node_->object[name];
  return value.is_null() ? std::nullopt : std::optional(value);
}

std::optional<std::string> Fields::string(const char* name) {
  const auto value = any(name);
  if (!value) return std::nullopt;
  if (!value->is_string()) refuse(name, "must be a string");
  return value->string();
}

std::string Fields::required_string(const char* name) {
  const auto value = string(name);
  if (!value) refuse(name, "is missing: a string");
  return *value;
}

std::optional<bool> Fields::boolean(const char* name) {
  const auto value = any(name);
  if (!value) return std::nullopt;
  if (!value->is_boolean()) refuse(name, "must be true or false");
  return value->truth();
}

std::optional<double> Fields::number(const char* name, double least, double most) {
  const auto value = any(name);
  if (!value) return std::nullopt;
  const double x = value->real();
  if (!value->is_number() || !(x >= least && x <= most))
    refuse(name, "must be a number from " + in_digits(least) + " to " + in_digits(most));
  return x;
}

std::optional<std::int64_t> Fields::integer(const char* name, std::int64_t least,
                                            std::int64_t most) {
  const auto value = any(name);
  if (!value) return std::nullopt;
  const auto n = value->integer();
  if (!n || *n < least || *n > most)
    refuse(name,
           "must be an integer from " + std::to_string(least) + " to " + std::to_string(most));
  return n;
}

std::optional<std::uint64_t> Fields::seed(const char* name) {
  constexpr double kModulus = 18446744073709551616.0;  // 2^64
  const auto value = any(name);
  if (!value) return std::nullopt;
  if (const auto n = value->integer()) return static_cast<std::uint64_t>(*n);
  if (const auto n = value->number()) return n;
  const double x = value->real();
  if (!value->is_number() || std::trunc(x) != x) refuse(name, "must be an integer");
  const auto rest = static_cast<std::uint64_t>(std::fmod(std::abs(x), kModulus));
  return x < 0 ? 0 - rest : rest;
}

std::optional<Json> Fields::array(const char* name) {
  auto value = any(name);
  if (value && !value->is_array()) refuse(name, "must be a list");
  return value;
}

std::optional<Json> Fields::object(const char* name) {
  auto value = any(name);
  if (value && !value->is_object()) refuse(name, "must be an object");
  return value;
}

std::optional<Fields> Fields::nested(const char* name) {
  const auto value = object(name);
  return value ? std::optional(inside(*value, path_of(name))) : std::nullopt;
}

std::vector<std::string> Fields::strings(const char* name, std::size_t most) {
  const auto value = any(name);
  if (!value) return {};
  if (value->is_string()) return {value->string()};
  std::vector<std::string> strings;
  for (const Json& item : value->items()) {
    if (!item.is_string()) refuse(name, "must be a string or a list of strings");
    strings.push_back(item.string());
  }
  if (!value->is_array()) refuse(name, "must be a string or a list of strings");
  if (strings.size() > most) refuse(name, "has more than " + std::to_string(most) + " strings");
  return strings;
}

std::string Fields::word(const char* name, const std::vector<std::string>& words) {
  const auto value = string(name);
  if (!value) return words.front();
  if (std::ranges::find(words, *value) != words.end()) return *value;
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
  refuse(name, "must be one of: " + list);
}

void Fields::only(const char* name, const std::vector<Json>& values, const std::string& why) {
  const auto value = any(name);
  if (value && std::ranges::find(values, *value) == values.end()) refuse(name, why);
}

void Fields::skip(const std::vector<const char*>& names) {
  for (const char* const name : names) node_->read.insert(name);
}

void Fields::remark(std::string sentence) {
  node_->remarks.push_back(std::move(sentence));
}

void Fields::leave_out(const std::string& path, const std::string& why) {
  node_->left_out.push_back(path);
  remark(path + " " + why);
}

void Fields::leave_out(const std::string& why) {
  node_->is_left_out = true;
  remark(path() + " " + why);
}

std::vector<std::string> Fields::remarks() const {
  std::vector<std::string> all;
  node_->add_remarks_to(&all);
  return all;
}

std::vector<std::string> Fields::unread() const {
  std::vector<std::string> names;
  node_->add_unread_to(&names);
  return names;
}

void for_each_item(const Json& array, const std::string& path,
                   const std::function<void(const Json&, const std::string&)>& visit) {
  std::size_t i = 0;
  for (const Json& item : array.items()) visit(item, path + "[" + std::to_string(i++) + "]");
}

}  // namespace pc::serve
