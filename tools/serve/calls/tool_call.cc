#include "tools/serve/calls/tool_call.h"

#include <optional>
#include <utility>
#include <vector>

namespace pc::serve {
namespace {

constexpr std::size_t kMaxDepth = 64;

std::optional<Json> read_object(const std::string& text) {
  std::string why;
  auto json = Json::read_strictly(text, kMaxDepth, &why, Json::Twice::kLastCounts);
  return json && json->is_object() ? std::move(json) : std::nullopt;
}

// What closes the strings, lists and objects that are open at each place where a member may end.
struct Closings {
  std::vector<std::pair<std::size_t, std::string>> at;  // length of the text, what closes it
};

Closings closings_of(const std::string& text) {
  Closings found;
  std::string open;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{') open.insert(open.begin(), '}');
    if (c == '[') open.insert(open.begin(), ']');
    if ((c == '}' || c == ']') && !open.empty()) open.erase(0, 1);
    const std::size_t end = c == ',' ? i : i + 1;
    if (c == ',' || c == '{' || c == '[' || c == '}' || c == ']') found.at.push_back({end, open});
  }
  if (in_string) found.at.push_back({text.size(), '"' + open});
  return found;
}

}  // namespace

Json object_of(const std::string& arguments) {
  if (auto whole = read_object(arguments)) return *whole;
  const Closings closings = closings_of(arguments);
  for (auto place = closings.at.rbegin(); place != closings.at.rend(); ++place)
    if (auto cut = read_object(arguments.substr(0, place->first) + place->second)) return *cut;
  return Json::object();
}

}  // namespace pc::serve
