#include "runtime/calls/reading/call_reader.h"

#include <algorithm>
#include <optional>
#include <string>

#include "runtime/calls/reading/call_arguments.h"
#include "runtime/calls/shape/call_cursor.h"

namespace pc::calls {
namespace {

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

// Arguments behind a name and what stands between the two.
bool add_named(const CallShape& shape, const ToolTypes& types, const std::string& name,
               CallCursor* at, std::vector<ToolCall>* calls) {
  CallArguments arguments(shape, types, name);
  std::string_view rest = at->rest();
  std::string json;
  if (arguments.fit(rest) != CallArguments::Fit::kYes || !arguments.go_on(&rest, &json))
    return false;
  at->skip(at->rest().size() - rest.size());
  CallCursor written(json);
  const auto object = written.take_json();
  if (object) calls->push_back({name, *object});
  return object.has_value();
}

bool take_python_call(const CallShape& shape, const ToolTypes& types, CallCursor* at,
                      std::vector<ToolCall>* calls) {
  const auto name = at->take_name();
  return name && at->take("(") && add_named(shape, types, std::string(*name), at, calls);
}

// One, or a list of them in brackets.
bool take_python_calls(const CallShape& shape, const ToolTypes& types, CallCursor* at,
                       std::vector<ToolCall>* calls) {
  if (!at->take("[")) return take_python_call(shape, types, at, calls);
  do {
    if (!take_python_call(shape, types, at, calls)) return false;
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
  if (shape.kind == CallShape::Kind::kPython) return take_python_calls(shape, types, at, calls);
  const auto name = at->take_name();
  if (!name) return false;
  // A template may write what names the call in between.
  if (shape.kind == CallShape::Kind::kHeader)
    at->skip(std::min(at->rest().find('{'), at->rest().size()));
  else if (!at->take(shape.after_name))
    return false;
  return add_named(shape, types, std::string(*name), at, calls);
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

}  // namespace

std::string_view call_trigger(const CallShape& shape) {
  return first_word(shape.begin);
}

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
  // Without a word to begin with, what looks like a call is one if it names a tool, alone.
  const auto known = [&](const ToolCall& call) { return types.knows(call.name); };
  const bool is_alone = read.text.empty() && std::ranges::all_of(read.calls, known);
  return shape.begin.empty() && !is_alone ? std::nullopt : std::optional(read);
}

}  // namespace pc::calls
