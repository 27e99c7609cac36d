#include "runtime/chat/whole/chat_text.h"

#include <algorithm>

namespace pc {
namespace {

// Sorted, and where they overlap, one.
std::vector<TextRange> merged(std::vector<TextRange> ranges) {
  std::ranges::sort(ranges, {}, &TextRange::begin);
  std::vector<TextRange> out;
  for (const TextRange& range : ranges) {
    if (!out.empty() && range.begin <= out.back().end)
      out.back().end = std::max(out.back().end, range.end);
    else
      out.push_back(range);
  }
  return out;
}

// Precondition: sorted, and none overlaps another.
bool holds(const std::vector<TextRange>& ranges, std::size_t byte) {
  const auto behind =
      std::ranges::upper_bound(ranges, byte, {}, [](const TextRange& r) { return r.begin; });
  return behind != ranges.begin() && byte < std::prev(behind)->end;
}

std::uint32_t module_of(const std::vector<TextRange>& modules, std::size_t byte) {
  const auto behind =
      std::ranges::upper_bound(modules, byte, {}, [](const TextRange& r) { return r.begin; });
  const bool is_in = behind != modules.begin() && byte < std::prev(behind)->end;
  return is_in ? static_cast<std::uint32_t>(behind - modules.begin() - 1) : ChatSpan::kNoModule;
}

}  // namespace

ChatText cut_chat(const std::string& text, const std::vector<TextRange>& plain,
                  const std::vector<TextRange>& modules, std::size_t head, std::size_t opening) {
  const std::vector<TextRange> text_alone = merged(plain);
  std::vector<std::size_t> borders = {0, opening, head, text.size()};
  for (const auto* const ranges : {&text_alone, &modules})
    for (const TextRange& range : *ranges) borders.insert(borders.end(), {range.begin, range.end});
  std::ranges::sort(borders);
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  ChatText cut;
  for (std::size_t i = 0; i + 1 < borders.size() && borders[i] < text.size(); ++i) {
    const std::size_t begin = borders[i];
    if (begin < head) cut.n_head = cut.spans.size() + 1;
    if (begin < opening) cut.n_opening = cut.spans.size() + 1;
    cut.spans.push_back({text.substr(begin, borders[i + 1] - begin), !holds(text_alone, begin),
                         module_of(modules, begin)});
  }
  return cut;
}

}  // namespace pc
