#include "runtime/constrain/schemas/schema_document.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "runtime/constrain/automata/limits.h"

namespace pc::constrain {
namespace {

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

// By its own identifier, whole or its last part, or as drafts before had it: "id", and "#name".
bool is_named(const Json& json, const std::string& keyword, const std::string& name) {
  for (const char* const key : {"$id", "id"}) {
    std::string id = json[key].string();
    if (keyword == "$anchor" && id == "#" + name) return true;
    if (id.ends_with('#')) id.pop_back();
    if (keyword == "$id" && !id.empty() && (id == name || id.ends_with("/" + name))) return true;
  }
  return keyword == "$anchor" && json["$anchor"] == Json(name);
}

// The standard's own schemas, which schemas about schemas refer to.
bool is_standard(const std::string& ref) {
  const bool is_there = ref.find("//json-schema.org/") != ref.npos;
  const std::size_t name = ref.rfind("/schema");
  return is_there && name != ref.npos && ref.find('/', name + 1) == ref.npos;
}

// Of them, what is valid by each draft: of some type, and described.
Json any_simple_schema() {
  constexpr const char* kTypes[] = {"string", "integer", "number", "boolean", "array", "object"};
  Json types = Json::array();
  for (const char* const type : kTypes) types.push(type);
  const Json text = Json::object().set("type", "string");
  return Json::object()
      .set("type", "object")
      .set("properties", Json::object()
                             .set("title", text)
                             .set("description", text)
                             .set("type", Json::object().set("enum", types)))
      .set("additionalProperties", false);
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
  for (auto& [key, value] : object.json.members())
    members.push_back({key, {std::move(value), object.pointer + "/" + escaped(key)}});
  return members;
}

SchemaDocument::SchemaDocument(const Json& root, std::string name, Strictness strictness,
                               std::vector<LeftOut>& left_out)
    : root_(root), name_(std::move(name)), strictness_(strictness), left_out_(left_out) {}

Status SchemaDocument::check() const {
  if (!root_.is_object() && !root_.is_boolean())
    return refused(root(), "it is no schema, which is an object, true or false");
  const Status size = check_bytes(root_.dump().size(), kMaxSchemaBytes);
  return size.ok() ? ok() : refused(root(), size.error().message);
}

Status SchemaDocument::leave_out(const SchemaPart& part, const std::string& keyword,
                                 const std::string& reason) {
  if (strictness_ == Strictness::kStrict) return refused(part, reason);
  LeftOut one{name_, part.pointer, keyword};
  if (std::ranges::find(left_out_, one) == left_out_.end()) left_out_.push_back(std::move(one));
  return ok();
}

// By way of what is around it, so that no part is copied for each of those that it has.
Result<Json> SchemaDocument::at(const std::string& pointer) {
  if (pointer.empty()) return root_;
  if (const auto found = found_.find(pointer); found != found_.end()) return found->second;
  const std::size_t slash = pointer.rfind('/');
  if (slash == std::string::npos) return refusal("\"$ref\" leads out of the schema");
  PC_TRY(const Json around, at(pointer.substr(0, slash)));
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

// Breadth first, lest the depth of a document be the stack's.
Result<std::string> SchemaDocument::place_of(const std::string& keyword,
                                             const std::string& name) const {
  std::vector<std::pair<std::string, Json>> open{{"", root_}};
  std::vector<std::string> found;
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto [pointer, json] = open[i];
    if (is_named(json, keyword, name)) found.push_back(pointer);
    for (const auto& [key, value] : json.members())
      if (value.is_object() || value.is_array())
        open.emplace_back(pointer + "/" + escaped(key), value);
    std::size_t number = 0;
    for (const Json& item : json.items())
      open.emplace_back(pointer + "/" + std::to_string(number++), item);
  }
  if (found.size() == 1) return found.front();
  return refusal(found.empty() ? "\"$ref\" leads out of the schema"
                               : "\"$ref\": several schemas here are called \"" + name + "\"");
}

Result<SchemaPart> SchemaDocument::referred(const SchemaPart& part) {
  const std::string ref = part.json["$ref"].string();
  if (is_standard(ref)) return SchemaPart{any_simple_schema(), part.pointer};
  const std::size_t hash = std::min(ref.find('#'), ref.size());
  const std::string base = ref.substr(0, hash),
                    fragment = ref.substr(std::min(hash + 1, ref.size()));
  std::string around;
  if (!base.empty()) {
    PC_TRY(around, place_of("$id", base));
  }
  if (!fragment.empty() && fragment.front() != '/') {
    PC_TRY(around, place_of("$anchor", fragment));
  }
  const bool is_pointer = fragment.empty() || fragment.front() == '/';
  auto pointer = percent_decoded(is_pointer ? fragment : "");
  if (pointer) pointer = around + *pointer;
  if (!pointer) return refusal("\"$ref\" is no JSON Pointer");
  PC_TRY(Json json, at(*pointer));
  if (!json.is_object() && !json.is_boolean())
    return refusal("\"$ref\": there is no schema at \"" + ref + "\"");
  return SchemaPart{std::move(json), *pointer};
}

}  // namespace pc::constrain
