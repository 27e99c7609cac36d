#include "tools/constrain/schema_document.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "tools/constrain/refusal.h"

namespace pc::constrain {
namespace {

constexpr std::size_t kMaxSchemaBytes = 1 << 20;

std::string escaped(const std::string& key) {
  std::string text;
  for (const char c : key) text += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return text;
}

std::string unescaped(std::string text) {
  for (const auto& [from, to] : {std::pair{"~1", "/"}, std::pair{"~0", "~"}})
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; ++at)
      text.replace(at, 2, to);
  return text;
}

// RFC 3986's %41; nothing where it is broken.
std::optional<std::string> percent_decoded(const std::string& text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    unsigned char byte = 0;
    if (text.size() - i < 3) return std::nullopt;
    const char* const end = text.data() + i + 3;
    const auto read = std::from_chars(text.data() + i + 1, end, byte, 16);
    if (read.ptr != end || read.ec != std::errc()) return std::nullopt;
    decoded += static_cast<char>(byte);
    i += 2;
  }
  return decoded;
}

}  // namespace

SchemaPart SchemaPart::at(const std::string& keyword) const {
  return {json[keyword], pointer + "/" + escaped(keyword)};
}

std::vector<SchemaPart> SchemaPart::items(const std::string& keyword) const {
  const SchemaPart list = at(keyword);
  std::vector<SchemaPart> items;
  for (const Json& item : list.json.items())
    items.push_back({item, list.pointer + "/" + std::to_string(items.size())});
  return items;
}

std::vector<std::pair<std::string, SchemaPart>> SchemaPart::members(
    const std::string& keyword) const {
  const SchemaPart object = at(keyword);
  std::vector<std::pair<std::string, SchemaPart>> members;
  for (const std::string& key : object.json.keys())
    members.push_back({key, {object.json[key], object.pointer + "/" + escaped(key)}});
  return members;
}

SchemaDocument::SchemaDocument(const Json& root, std::string name, Strictness strictness,
                               std::vector<LeftOut>& left_out)
    : root_(root), name_(std::move(name)), strictness_(strictness), left_out_(left_out) {
  if (!root.is_object() && !root.is_boolean())
    refuse("it is no schema, which is an object, true or false");
  if (root.dump().size() > kMaxSchemaBytes)
    refuse("it has more than " + std::to_string(kMaxSchemaBytes) + " bytes");
}

void SchemaDocument::leave_out(const SchemaPart& part, const std::string& keyword,
                               const std::string& reason) {
  if (strictness_ == Strictness::kStrict) refuse(part, reason);
  LeftOut one{name_, part.pointer, keyword};
  if (std::ranges::find(left_out_, one) == left_out_.end()) left_out_.push_back(std::move(one));
}

// By way of what is around it, so that no part is copied for each of those that it has.
Json SchemaDocument::at(const std::string& pointer) {
  if (pointer.empty()) return root_;
  if (const auto found = found_.find(pointer); found != found_.end()) return found->second;
  const std::size_t slash = pointer.rfind('/');
  if (slash == std::string::npos) throw Refusal("\"$ref\" leads out of the schema");
  const Json around = at(pointer.substr(0, slash));
  const std::string key = unescaped(pointer.substr(slash + 1));
  Json json = around[key];
  if (around.is_array()) {
    std::size_t i = 0;
    const auto read = std::from_chars(key.data(), key.data() + key.size(), i);
    const std::vector<Json> items = around.items();
    if (read.ec == std::errc() && i < items.size()) json = items[i];
  }
  return found_[pointer] = json;
}

SchemaPart SchemaDocument::referred(const SchemaPart& part) {
  const std::string ref = part.json["$ref"].string();
  if (!ref.starts_with('#')) throw Refusal("\"$ref\" leads out of the schema");
  const auto pointer = percent_decoded(ref.substr(1));
  if (!pointer) throw Refusal("\"$ref\" is no JSON Pointer");
  Json json = at(*pointer);
  if (!json.is_object() && !json.is_boolean())
    throw Refusal("\"$ref\": there is no schema at \"" + ref + "\"");
  return {json, *pointer};
}

}  // namespace pc::constrain
