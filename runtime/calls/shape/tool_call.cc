#include "runtime/calls/shape/tool_call.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/calls/shape/call_cursor.h"

namespace pc::calls {
namespace {

constexpr std::size_t kMaxDepth = 64;

std::optional<Json> read_object(const std::string& text) {
  std::string why;
  auto json = Json::read_strictly(text, kMaxDepth, &why, Json::Twice::kLastCounts);
  return json && json->is_object() ? std::move(json) : std::nullopt;
}

// Where a member or an item may be over: behind a bracket, before a comma, and where the text ends.
std::vector<std::size_t> ends_in(std::string_view text) {
  std::vector<std::size_t> ends;
  Brackets at;
  for (std::size_t i = 0; i < text.size(); ++i) {
    at.take(text[i]);
    if (at.in_string || std::string_view(",{[}]").find(text[i]) == std::string_view::npos) continue;
    ends.push_back(text[i] == ',' ? i : i + 1);
  }
  if (at.in_string) ends.push_back(text.size());
  return ends;
}

// With what closes the string, the lists and the objects that are open where it ends.
std::string closed(std::string_view text) {
  std::string open;
  Brackets at;
  for (const char c : text) {
    at.take(c);
    if (at.in_string) continue;
    if (c == '{' || c == '[') open += c == '{' ? '}' : ']';
    if ((c == '}' || c == ']') && !open.empty()) open.pop_back();
  }
  std::string whole(text);
  if (at.in_string) whole += '"';
  return whole.append(open.rbegin(), open.rend());
}

}  // namespace

Json object_of(const std::string& arguments) {
  if (auto whole = read_object(arguments)) return *whole;
  const std::vector<std::size_t> ends = ends_in(arguments);
  const std::string_view text = arguments;
  if (ends.empty()) return Json::object();
  if (auto cut = read_object(closed(text.substr(0, ends.back())))) return *cut;
  // What can be read up to one place can be read up to each before it.
  const auto behind = std::partition_point(ends.begin(), ends.end() - 1, [&](std::size_t end) {
    return read_object(closed(text.substr(0, end))).has_value();
  });
  if (behind == ends.begin()) return Json::object();
  return read_object(closed(text.substr(0, *(behind - 1)))).value_or(Json::object());
}

}  // namespace pc::calls
