#include "runtime/constrain/schemas/schema_document.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "runtime/constrain/automata/limits.h"

namespace pc::constrain {
namespace {

std::string escaped(const std::string& key) {
  std::string text;
  for (const char c : key) text += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return text;
}

std::string unescaped(std::string_view key) {
  std::string text;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const bool is_escape =
        key[i] == '~' && i + 1 < key.size() && (key[i + 1] == '0' || key[i + 1] == '1');
    text += !is_escape ? key[i] : key[++i] == '1' ? '/' : '~';
  }
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
    : root_(root),
      name_(std::move(name)),
      strictness_(strictness),
      left_out_(left_out),
      places_(root) {}

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

SchemaDocument::Place* SchemaDocument::Place::part(const std::string& key) {
  if (!is_open) {
    for (auto& [name, value] : json.members())
      parts.emplace(name, std::make_unique<Place>(std::move(value)));
    for (const Json& item : json.items())
      parts.emplace(std::to_string(parts.size()), std::make_unique<Place>(item));
  }
  is_open = true;
  const auto found = parts.find(key);
  return found == parts.end() ? nullptr : found->second.get();
}

// Step by step, as a pointer may have hundreds of thousands of them; null where it leads nowhere.
Result<Json> SchemaDocument::at(const std::string& pointer) {
  Place* place = &places_;
  for (std::size_t begin = 0; place && begin < pointer.size();) {
    if (pointer[begin] != '/') return refusal("\"$ref\" leads out of the schema");
    const std::size_t end = std::min(pointer.find('/', begin + 1), pointer.size());
    place = place->part(unescaped(std::string_view(pointer).substr(begin + 1, end - begin - 1)));
    begin = end;
  }
  return place ? place->json : Json();
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
