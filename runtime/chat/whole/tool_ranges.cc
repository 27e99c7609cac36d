#include "runtime/chat/whole/tool_ranges.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace pc {
namespace {

using jinja::Kind;
using jinja::Value;

// The tool with a mark in front of its name; nothing where it has none.
std::optional<Value> named(const Value& tool, const std::string& mark) {
  if (!tool.is(Kind::kDict)) return std::nullopt;
  std::vector<std::pair<Value, Value>> entries = tool.dict().entries;
  for (auto& [key, value] : entries) {
    const bool is_name = key.text() == "name" && value.is(Kind::kString);
    std::optional<Value> changed;
    if (is_name) {
      auto marked = jinja::make_string(nullptr, mark + value.text());
      if (marked.ok()) changed = std::move(*marked);
    } else if (key.text() == "function") {
      changed = named(value, mark);
    }
    if (!changed) continue;
    value = std::move(*changed);
    auto made = jinja::make_dict(nullptr, std::move(entries));
    return made.ok() ? std::optional(std::move(*made)) : std::nullopt;
  }
  return std::nullopt;
}

std::size_t common_beginning(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

std::size_t common_end(std::string_view a, std::string_view b) {
  const auto end = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first;
  return static_cast<std::size_t>(end - a.rbegin());
}

// To the start of the character that this byte is part of.
std::size_t at_character(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

// Where the names stand; empty where one does not, once and in order.
std::vector<std::size_t> names_in(const Unmarked& text, std::size_t first_mark, std::size_t n) {
  std::vector<std::size_t> names;
  for (const Unmarked::Mark& mark : text.marks) {
    if (mark.number < first_mark || mark.number >= first_mark + n) continue;
    if (mark.number != first_mark + names.size()) return {};
    names.push_back(mark.at);
  }
  return names.size() == n ? names : std::vector<std::size_t>();
}

// Bytes in front of each name that are the same for all.
std::size_t common_opening(std::string_view text, const std::vector<std::size_t>& names) {
  const std::string_view first = text.substr(0, names[0]);
  std::size_t n = first.size();
  for (std::size_t i = 1; i < names.size(); ++i) {
    const std::string_view before = text.substr(names[i - 1], names[i] - names[i - 1]);
    n = std::min(n, common_end(before, first));
  }
  return names[0] - at_character(text, names[0] - n);
}

}  // namespace

Result<std::vector<TextRange>> tool_ranges(const std::vector<Value>& tools, const std::string& text,
                                           const TextMarks& marks, std::size_t first_mark,
                                           const RenderTools& render) {
  std::vector<Value> marked;
  for (std::size_t i = 0; i <= tools.size(); ++i) {
    const auto tool = named(tools[std::min(i, tools.size() - 1)], marks[first_mark + i]);
    if (!tool) return error(Code::kUnsupported, "is given a tool without a name");
    marked.push_back(*tool);
  }
  PC_TRY(const Unmarked more, render(marked));
  const std::vector<std::size_t> names = names_in(more, first_mark, marked.size());
  if (names.empty())
    return error(Code::kUnsupported, "does not write each tool's name once, in the tools' order");
  const std::size_t opening = common_opening(more.text, names);
  const std::size_t same = at_character(text, common_beginning(text, more.text));
  if (same <= names[tools.size() - 1])
    return error(Code::kUnsupported, "writes tools otherwise where another one is behind them");
  const std::size_t end = names.back() - opening;  // of the last, with what stands between two
  const std::string_view between =
      same < end ? std::string_view(more.text).substr(same, end - same) : std::string_view();
  std::vector<TextRange> ranges;
  for (std::size_t i = 0; i < tools.size(); ++i) {
    TextRange range{names[i] - opening, names[i + 1] - opening};
    const std::string_view own(more.text.data() + range.begin, range.end - range.begin);
    if (!own.ends_with(between))
      return error(Code::kUnsupported, "writes behind a tool what depends on the next one");
    range.end -= between.size();
    ranges.push_back(range);
  }
  return ranges;
}

}  // namespace pc
