#include "runtime/calls/writing/told_calls.h"

#include <string>
#include <utility>

#include "runtime/calls/shape/call_cursor.h"

namespace pc::calls {
namespace {

CallShape object_shape(std::string_view name_key, std::string_view arguments_key) {
  CallShape shape;
  shape.is_told = true;
  shape.name_key = name_key;
  shape.arguments_key = arguments_key;
  return shape;
}

// "KEY": <what stands for a value>; the key.
std::optional<std::string_view> take_member(CallCursor* at) {
  if (!at->take("\"")) return std::nullopt;
  const auto key = at->take_until("\"");
  if (!key || !at->take(":") || !at->take("<") || !at->take_until(">")) return std::nullopt;
  return key;
}

// {"name": <...>, "arguments": <...>}, or the other way round.
std::optional<CallShape> take_example(CallCursor* at) {
  if (!at->take("{")) return std::nullopt;
  auto first = take_member(at);
  if (!first || !at->take(",")) return std::nullopt;
  auto second = take_member(at);
  if (!second || !at->take("}")) return std::nullopt;
  if (*second == "name") std::swap(first, second);
  return *first == "name" && *second != "name" ? std::optional(object_shape(*first, *second))
                                               : std::nullopt;
}

constexpr std::size_t kMostTag = 64;  // bytes: a text of nothing but "<" is read once

// The word in angle brackets that begins here.
std::optional<std::string_view> take_tag(CallCursor* at) {
  const std::string_view text = at->rest().substr(0, kMostTag);
  const std::size_t end = text.find_first_of("> \n\t", 1);
  if (!text.starts_with('<') || end == text.npos || text[end] != '>') return std::nullopt;
  at->skip(end + 1);
  return text.substr(0, end + 1);
}

// What begins at the "<" of this text.
std::optional<CallShape> example_at(std::string_view text) {
  CallCursor at(text);
  const auto open = take_tag(&at);
  if (!open || open->starts_with("</")) return std::nullopt;
  at.skip_space();
  const std::size_t begin = text.size() - at.rest().size();
  auto shape = take_example(&at);
  if (!shape) return std::nullopt;
  const std::size_t end = text.size() - at.rest().size();
  at.skip_space();
  const auto close = take_tag(&at);
  if (!close || *close != "</" + std::string(open->substr(1))) return std::nullopt;
  shape->written_begin = text.substr(0, begin);
  shape->written_end = text.substr(end, text.size() - at.rest().size() - end);
  shape->begin = *open;
  shape->end = *close;
  return shape;
}

std::optional<CallShape> sentence_in(std::string_view prompt) {
  const std::size_t end = prompt.find(" followed by a JSON list of tools");
  if (end == prompt.npos) return std::nullopt;
  const std::string_view before = prompt.substr(0, end);
  const std::string_view word = before.substr(before.find_last_of(kSpace) + 1);
  if (!word.starts_with('<') || !word.ends_with('>')) return std::nullopt;
  CallShape shape = object_shape("name", "arguments");
  shape.begin = word;
  shape.written_begin = shape.begin + "[";
  shape.written_end = "]";
  return shape;
}

// JSON with the white space that models write it with.
std::string spaced(const Json& json) {
  std::string text;
  const auto add = [&](const std::string& item) { text += (text.empty() ? "" : ", ") + item; };
  if (json.is_array()) {
    for (const Json& item : json.items()) add(spaced(item));
    return "[" + text + "]";
  }
  if (!json.is_object()) return json.dump();
  for (const std::string& key : json.keys()) add(Json(key).dump() + ": " + spaced(json[key]));
  return "{" + text + "}";
}

// Parts of a content.
class Parts {
 public:
  explicit Parts(const Json& content) {
    if (content.is_string() && !content.string().empty()) add(content.string(), false);
    for (const Json& part : content.items()) {
      list_.push(part);
      is_empty_ = is_empty_ && part["text"].string().empty();
    }
  }

  void add(const std::string& text, bool has_controls) {
    Json part = Json::object().set("type", "text").set("text", text);
    list_.push(has_controls ? part.set("controls", true) : part);
    is_empty_ = false;
  }
  bool is_empty() const { return is_empty_; }
  const Json& list() const { return list_; }

 private:
  Json list_ = Json::array();
  bool is_empty_ = true;  // no text
};

}  // namespace

std::optional<CallShape> told_call_shape(std::string_view prompt) {
  for (std::size_t at = prompt.find('<'); at != prompt.npos; at = prompt.find('<', at + 1))
    if (auto shape = example_at(prompt.substr(at))) return shape;
  return sentence_in(prompt);
}

Json with_told_calls(const Json& message, const CallShape& shape) {
  Parts parts(message["content"]);
  if (!parts.is_empty()) parts.add("\n", false);
  const bool is_list = shape.written_begin.ends_with('[');
  const std::string between = is_list ? ", " : shape.written_end + "\n" + shape.written_begin;
  bool is_first = true;
  for (const Json& call : message["tool_calls"].items()) {
    const Json function = call["function"];
    parts.add(is_first ? shape.written_begin : between, true);
    parts.add("{" + Json(shape.name_key).dump() + ": " + function["name"].dump() + ", " +
                  Json(shape.arguments_key).dump() + ": " + spaced(function["arguments"]) + "}",
              false);
    is_first = false;
  }
  parts.add(shape.written_end, true);
  Json out = Json::object();
  for (const std::string& key : message.keys())
    if (key != "tool_calls" && key != "content") out.set(key, message[key]);
  return out.set("content", parts.list());
}

}  // namespace pc::calls
