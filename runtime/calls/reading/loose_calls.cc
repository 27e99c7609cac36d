#include "runtime/calls/reading/loose_calls.h"

#include <algorithm>
#include <array>
#include <string>

#include "runtime/calls/shape/call_cursor.h"

namespace pc::calls {
namespace {

constexpr std::string_view kFence = "```";
constexpr std::array kArguments = {"arguments", "parameters"};
// What objects of calls begin with.
constexpr std::array kFirstKeys = {"name", "arguments", "parameters", "function", "type", "id"};

// What stands between the lines of a fence, which may be missing at the end of a text.
std::string_view inside_of_fence(std::string_view text) {
  text = trimmed(text);
  if (!text.starts_with(kFence)) return text;
  text.remove_prefix(std::min(text.find('\n'), text.size()));
  text = trimmed(text);
  if (text.ends_with(kFence)) text.remove_suffix(kFence.size());
  return trimmed(text);
}

bool add_call(const Json& json, const ToolTypes& types, std::vector<ToolCall>* calls) {
  const Json described = json["function"].is_object() ? json["function"] : json;
  const std::string name = described["name"].string();
  if (!types.knows(name)) return false;
  for (const char* const key : kArguments) {
    if (!described[key].is_object()) continue;
    calls->push_back({name, described[key]});
    return true;
  }
  return false;
}

bool add_calls(const Json& json, const ToolTypes& types, std::vector<ToolCall>* calls) {
  if (json.is_object()) return add_call(json, types, calls);
  const std::vector<Json> items = json.items();
  return !items.empty() &&
         std::ranges::all_of(items, [&](const Json& item) { return add_call(item, types, calls); });
}

// Of a string in JSON; nothing where the text does not begin with one that is over.
std::optional<std::string> take_string(CallCursor* at) {
  if (!at->take("\"")) return std::nullopt;
  const auto inside = at->take_until("\"");
  return inside ? std::optional(std::string(*inside)) : std::nullopt;
}

}  // namespace

Likeness likeness_of_call(std::string_view text, const ToolTypes& types) {
  CallCursor at(text);
  at.take("[");
  if (!at.take("{")) return trimmed(at.rest()).empty() ? Likeness::kOpen : Likeness::kNone;
  if (trimmed(at.rest()).empty()) return Likeness::kOpen;
  const bool has_key = trimmed(at.rest()).starts_with('"');
  const auto key = take_string(&at);
  if (!key) return has_key ? Likeness::kOpen : Likeness::kNone;
  if (std::ranges::find(kFirstKeys, *key) == kFirstKeys.end()) return Likeness::kNone;
  if (*key != "name") return Likeness::kLikely;
  if (!at.take(":")) return trimmed(at.rest()).empty() ? Likeness::kOpen : Likeness::kNone;
  if (!trimmed(at.rest()).empty() && !trimmed(at.rest()).starts_with('"')) return Likeness::kNone;
  const auto name = take_string(&at);
  if (!name) return Likeness::kOpen;
  return types.knows(*name) ? Likeness::kLikely : Likeness::kNone;
}

std::optional<std::vector<ToolCall>> read_loose_calls(std::string_view text,
                                                      const ToolTypes& types) {
  std::vector<ToolCall> calls;
  CallCursor at(inside_of_fence(text));
  while (!trimmed(at.rest()).empty()) {
    const auto json = at.take_json();
    if (!json || !add_calls(*json, types, &calls)) return std::nullopt;
  }
  return calls.empty() ? std::nullopt : std::optional(calls);
}

}  // namespace pc::calls
