#include "tools/serve/calls/call_reader.h"

#include <algorithm>
#include <optional>
#include <string>

#include "tools/serve/calls/call_cursor.h"
#include "tools/serve/calls/python_value.h"

namespace pc::serve {
namespace {

std::string_view first_word(std::string_view words) {
  const std::string_view begin = trimmed(words);
  return begin.substr(0, begin.find_first_of(kSpace));
}

// What an answer is looked through for: the first word of what calls begin with.
std::string_view trigger(const CallShape& shape) {
  return first_word(shape.begin);
}

// Arguments are an object, or one in a string.
std::optional<Json> arguments_of(const Json& json) {
  if (json.is_object()) return json;
  if (json.is_null()) return Json::object();
  const std::string written = json.string();
  CallCursor text(written);
  const auto object = text.take_json();
  return object && object->is_object() && trimmed(text.rest()).empty() ? object : std::nullopt;
}

bool add_object(const CallShape& shape, const Json& json, std::vector<ToolCall>* calls) {
  if (json.is_array()) {
    const std::vector<Json> items = json.items();
    return !items.empty() && std::ranges::all_of(items, [&](const Json& item) {
      return item.is_object() && add_object(shape, item, calls);
    });
  }
  const auto arguments = arguments_of(json[shape.arguments_key]);
  const std::string name = json[shape.name_key].string();
  if (!arguments || name.empty()) return false;
  calls->push_back({name, *arguments});
  return true;
}

// A value's text between its words, without the white space of these words, where it is there.
std::string value_of(const CallShape& shape, std::string_view text) {
  const std::string_view open = shape.key_close, close = shape.value_close;
  const std::string_view before = open.substr(open.find_last_not_of(kSpace) + 1),
                         behind = close.substr(0, close.find_first_not_of(kSpace));
  if (text.starts_with(before)) text.remove_prefix(before.size());
  if (text.ends_with(behind)) text.remove_suffix(behind.size());
  return std::string(text);
}

// A key is no tag, and on one line.
bool is_key(std::string_view text) {
  return !trimmed(text).empty() && text.find_first_of("<\n") == text.npos;
}

bool add_parameters(const CallShape& shape, const ToolTypes& types, const std::string& name,
                    CallCursor* at, std::vector<ToolCall>* calls) {
  ToolCall call{name, Json::object()};
  if (!at->take(shape.after_name)) return false;
  while (at->take(shape.key_open)) {
    const auto key = at->take_before(first_word(shape.key_close));
    if (!key || !is_key(*key) || !at->take(shape.key_close)) return false;
    const std::string parameter(trimmed(*key));
    // What ends a value may stand in JSON, too.
    auto value =
        types.wants_string(name, parameter) ? std::nullopt : at->take_json_and(shape.value_close);
    if (!value) {
      const auto text = at->take_until(trimmed(shape.value_close));
      if (!text) return false;
      value = types.value(name, parameter, value_of(shape, *text));
    }
    call.arguments.set(parameter, *value);
  }
  calls->push_back(std::move(call));
  return true;
}

bool is_python_key(std::string_view text) {
  return is_key(text) && trimmed(text).find_first_of("()[]{},\"' \t\r") == text.npos;
}

// From behind its name.
bool add_python(const std::string& name, CallCursor* at, std::vector<ToolCall>* calls) {
  ToolCall call{name, Json::object()};
  if (!at->take("(")) return false;
  while (!at->take(")")) {
    const auto key = at->take_before("=");
    if (!key || !is_python_key(*key) || !at->take("=")) return false;
    const auto value = take_python_value(at);
    if (!value) return false;
    call.arguments.set(trimmed(*key), *value);
    at->skip_space();
    if (!at->take(",") && !at->rest().starts_with(')')) return false;
  }
  calls->push_back(std::move(call));
  return true;
}

bool take_python_call(CallCursor* at, std::vector<ToolCall>* calls) {
  const auto name = at->take_name();
  return name && add_python(std::string(*name), at, calls);
}

// One, or a list of them in brackets.
bool take_python_calls(CallCursor* at, std::vector<ToolCall>* calls) {
  if (!at->take("[")) return take_python_call(at, calls);
  do {
    if (!take_python_call(at, calls)) return false;
  } while (at->take(","));
  return at->take("]");
}

// One call, or a list of them.
bool take_call(const CallShape& shape, const ToolTypes& types, CallCursor* at,
               std::vector<ToolCall>* calls) {
  if (shape.kind == CallShape::Kind::kObject) {
    const auto json = at->take_json();
    return json && add_object(shape, *json, calls);
  }
  if (shape.kind == CallShape::Kind::kPython) return take_python_calls(at, calls);
  const auto name = at->take_name();
  if (!name) return false;
  if (shape.kind == CallShape::Kind::kParameters)
    return add_parameters(shape, types, std::string(*name), at, calls);
  // A template may write what names the call in between.
  at->skip(std::min(at->rest().find('{'), at->rest().size()));
  const auto arguments = at->take_json();
  if (!arguments) return false;
  calls->push_back({std::string(*name), *arguments});
  return true;
}

// Takes what stands between two calls. Where that is what ends the last one, too, only an object
// behind it, or what calls begin with, tells that another comes.
bool goes_on(const CallShape& shape, CallCursor* at) {
  CallCursor ahead = *at;
  if (trimmed(shape.between).empty() || !ahead.take(shape.between)) return false;
  if (trimmed(shape.between) == trimmed(shape.end)) {
    const bool begins = !shape.begin.empty() && ahead.take(shape.begin);
    ahead.skip_space();
    if (!begins && !ahead.rest().starts_with('{')) return false;
  }
  *at = ahead;
  return true;
}

// The calls that a text begins with, and what stands behind them; nothing where it is no call.
std::optional<ReadAnswer> read_calls(const CallShape& shape, const ToolTypes& types,
                                     std::string_view text) {
  ReadAnswer read;
  CallCursor at(text);
  if (!at.take(shape.begin)) return std::nullopt;
  do {
    if (!take_call(shape, types, &at, &read.calls)) return std::nullopt;
  } while (goes_on(shape, &at) ||
           (at.take_beginning(shape.end) && !shape.begin.empty() && at.take(shape.begin)));
  read.text = trimmed(at.rest());
  return read;
}

}  // namespace

// Where a call may begin in what is held, with the white space before it; its end where nowhere.
std::size_t CallReader::call_at() const {
  const std::size_t at = word_at();
  return std::string_view(held_).substr(0, at).find_last_not_of(kSpace) + 1;
}

// Where a call's first word may begin.
std::size_t CallReader::word_at() const {
  const std::string_view word = trigger(shape_);
  if (word.empty()) {
    const std::size_t first = held_.find_first_not_of(kSpace);
    const bool is_json = first < held_.size() && (held_[first] == '{' || held_[first] == '[');
    return (first == held_.npos || is_json) && !begun_ ? 0 : held_.size();
  }
  if (const std::size_t found = held_.find(word); found != held_.npos) return found;
  // The longest end of it that the word begins with.
  std::size_t n = std::min(word.size() - 1, held_.size());
  while (n > 0 && !word.starts_with(std::string_view(held_).substr(held_.size() - n))) --n;
  return held_.size() - n;
}

std::string CallReader::push(std::string_view text) {
  held_ += text;
  if (in_calls_) return {};
  const std::size_t at = call_at();
  std::string certain = held_.substr(0, at);
  held_.erase(0, at);
  begun_ = begun_ || !trimmed(certain).empty();
  const std::string_view word = trigger(shape_);
  const std::string_view begun = trimmed(held_);
  in_calls_ = word.empty() ? !begun.empty() : begun.starts_with(word);
  return certain;
}

ReadAnswer CallReader::finish() {
  auto read = in_calls_ ? read_calls(shape_, types_, held_) : std::nullopt;
  // Without a word to begin with, what looks like a call is one if it names a tool, alone.
  const auto known = [&](const ToolCall& call) { return types_.knows(call.name); };
  if (read && shape_.begin.empty() &&
      !(read->text.empty() && std::ranges::all_of(read->calls, known)))
    read.reset();
  if (!read) read = ReadAnswer{held_, {}};
  held_.clear();
  return *read;
}

ReadAnswer read_answer(const CallShape& shape, const ToolTypes& types, std::string_view text) {
  CallReader reader(shape, types);
  const std::string certain = reader.push(text);
  ReadAnswer answer = reader.finish();
  answer.text.insert(0, certain);
  return answer;
}

}  // namespace pc::serve
