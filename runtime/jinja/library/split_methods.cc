// Methods of strings that give several strings.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/utf8.h"
#include "runtime/jinja/library/methods.h"
#include "runtime/jinja/values/unicode.h"

namespace pc::jinja {
namespace {

using Parts = std::vector<std::string_view>;

Result<Value> list_of(Runtime& runtime, const Value& self, const Parts& parts) {
  std::vector<Value> values;
  values.reserve(parts.size());
  for (const std::string_view part : parts) {
    PC_TRY(Value value, make_string(&runtime.budget, std::string(part), self.is_markup()));
    values.push_back(std::move(value));
  }
  return make_list(&runtime.budget, std::move(values));
}

std::string_view strip_left(std::string_view text) {
  return strip(text, Side::kLeft);
}

// Words, at most n + 1 of them; n < 0: all.
Parts split_words(std::string_view text, std::int64_t n) {
  Parts parts;
  for (text = strip_left(text); !text.empty(); text = strip_left(text)) {
    if (n == 0) {
      parts.push_back(text);
      return parts;
    }
    --n;
    std::size_t end = 0;
    for (std::size_t next = 0; end < text.size() && !is_space(utf8_next(text, &next)); end = next) {
    }
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return parts;
}

// From the right.
Parts split_words_back(std::string_view text, std::int64_t n) {
  Parts parts;
  for (text = strip(text, Side::kRight); !text.empty(); text = strip(text, Side::kRight)) {
    if (n == 0) {
      parts.push_back(text);
      break;
    }
    --n;
    std::size_t start = text.size();
    while (start > 0) {
      std::size_t at = start - 1;
      while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
      std::size_t next = at;
      if (is_space(utf8_next(text, &next))) break;
      start = at;
    }
    parts.push_back(text.substr(start));
    text = text.substr(0, start);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

Parts split_at(std::string_view text, std::string_view separator, std::int64_t n) {
  Parts parts;
  for (; n != 0; --n) {
    const void* found = memmem(text.data(), text.size(), separator.data(), separator.size());
    if (!found) break;
    const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  parts.push_back(text);
  return parts;
}

// Overlapping separators count from the right.
Parts split_at_back(std::string_view text, std::string_view separator, std::int64_t n) {
  const std::string turned(text.rbegin(), text.rend());
  const std::string mark(separator.rbegin(), separator.rend());
  Parts parts;
  std::size_t end = text.size();
  for (const std::string_view part : split_at(turned, mark, n)) {
    parts.push_back(text.substr(end - part.size(), part.size()));
    end -= std::min(end, part.size() + separator.size());
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

template <bool from_left>
Result<Value> split(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("split", arguments, {"sep", "maxsplit"}));
  PC_TRY(const std::int64_t n, bound.integer(1, -1));
  PC_CHECK_OK(runtime.budget.spend_bytes(4 * self.text().size()));
  const std::string& text = self.text();
  if (!bound.has(0))
    return list_of(runtime, self, from_left ? split_words(text, n) : split_words_back(text, n));
  PC_TRY(const std::string separator, bound.string(0, ""));
  if (separator.empty()) return error(Code::kInvalidArgument, "empty separator");
  return list_of(runtime, self,
                 from_left ? split_at(text, separator, n) : split_at_back(text, separator, n));
}

Result<Value> split_lines(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("splitlines", arguments, {"keepends"}));
  PC_CHECK_OK(runtime.budget.spend_bytes(4 * self.text().size()));
  return list_of(runtime, self, lines_of(self.text(), bound.truth(0, false)));
}

bool ends_line(char32_t c) {
  return (c >= 10 && c <= 13) || (c >= 28 && c <= 30) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

constexpr std::array<Method, 3> kMethods = {{
    {"split", split<true>},
    {"rsplit", split<false>},
    {"splitlines", split_lines},
}};

}  // namespace

std::vector<std::string_view> lines_of(std::string_view text, bool keeps_ends) {
  Parts lines;
  std::size_t start = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = at;
    const char32_t c = utf8_next(text, &at);
    if (!ends_line(c)) continue;
    if (c == '\r' && at < text.size() && text[at] == '\n') ++at;
    lines.push_back(text.substr(start, (keeps_ends ? at : end) - start));
    start = at;
  }
  if (start < text.size()) lines.push_back(text.substr(start));
  return lines;
}

std::span<const Method> string_split_methods() {
  return kMethods;
}

}  // namespace pc::jinja
