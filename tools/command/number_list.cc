#include "tools/command/number_list.h"

#include <algorithm>
#include <charconv>

namespace pc::cli {
namespace {

constexpr std::size_t kMostNumbers = 10'000;  // far beyond what anybody waits for

struct Range {
  std::uint32_t first = 0, last = 0, step = 1;
  bool multiplies = false;
};

// Takes the digits that the text begins with.
bool take_number(std::string_view* text, std::uint32_t* number) {
  const char* const end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, *number);
  text->remove_prefix(static_cast<std::size_t>(rest - text->data()));
  return error == std::errc();
}

bool take(std::string_view* text, char c) {
  if (text->empty() || text->front() != c) return false;
  text->remove_prefix(1);
  return true;
}

bool parse_range(std::string_view text, Range* range) {
  if (!take_number(&text, &range->first)) return false;
  range->last = range->first;
  if (text.empty()) return true;
  if (!take(&text, '-') || !take_number(&text, &range->last)) return false;
  if (text.empty()) return true;
  range->multiplies = take(&text, '*');
  return (range->multiplies || take(&text, '+')) && take_number(&text, &range->step) &&
         text.empty();
}

// A step that leads nowhere would never come to the last number.
bool ends(const Range& range) {
  if (range.first == range.last) return true;
  return range.multiplies ? range.step > 1 && range.first != 0 : range.step != 0;
}

bool append(const Range& range, std::vector<std::uint32_t>* numbers) {
  std::uint64_t n = range.first;
  do {
    if (numbers->size() == kMostNumbers) return false;
    numbers->push_back(static_cast<std::uint32_t>(n));
    n = range.multiplies ? n * range.step : n + range.step;
  } while (n <= range.last && range.first != range.last);
  return true;
}

std::string check(std::string_view text, Range* range) {
  const std::string quoted = "\"" + std::string(text) + "\"";
  if (!parse_range(text, range))
    return quoted + " is neither a whole number nor a range such as 1-8, 0-4096+512 or 1-64*2";
  if (range->first > range->last) return quoted + " is empty: its first number is above its last";
  if (!ends(*range)) return quoted + " does not come to its end";
  return "";
}

}  // namespace

std::optional<std::vector<std::uint32_t>> parse_number_list(std::string_view text,
                                                            std::string* why) {
  std::vector<std::uint32_t> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    Range range;
    *why = check(text.substr(begin, comma - begin), &range);
    if (!why->empty()) return std::nullopt;
    if (!append(range, &numbers)) {
      *why = "\"" + std::string(text) + "\" has more than 10000 numbers";
      return std::nullopt;
    }
    begin = comma + 1;
  }
  return numbers;
}

}  // namespace pc::cli
