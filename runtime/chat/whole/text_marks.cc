#include "runtime/chat/whole/text_marks.h"

#include <unordered_set>
#include <utility>

#include "base/utf8.h"

namespace pc {
namespace {

using jinja::Kind;
using jinja::Value;

// Planes 15 and 16 are for private use. People's own characters begin at their low end.
constexpr char32_t kLast = 0x10FFFD, kFirst = 0xF0000;

// Where the next character from plane 12 on begins, theirs among them; the end where there is none.
std::size_t next_far(std::string_view text, std::size_t at) {
  constexpr unsigned char kLead = 0xF3;
  while (at < text.size() && static_cast<unsigned char>(text[at]) < kLead) ++at;
  return at;
}

void add_private(const std::string& text, std::unordered_set<char32_t>* used) {
  for (std::size_t at = next_far(text, 0); at < text.size(); at = next_far(text, at)) {
    const char32_t c = utf8_next(text, &at);
    if (c >= kFirst) used->insert(c);
  }
}

}  // namespace

Result<Value> with_texts(const Value& value, const ChangeText& change) {
  if (value.is(Kind::kString)) return jinja::make_string(nullptr, change(value.text()));
  if (value.is(Kind::kList)) {
    std::vector<Value> items;
    for (const Value& item : value.items()) {
      PC_TRY(Value changed, with_texts(item, change));
      items.push_back(std::move(changed));
    }
    return jinja::make_list(nullptr, std::move(items));
  }
  if (!value.is(Kind::kDict)) return value;
  std::vector<std::pair<Value, Value>> entries;
  for (const auto& [key, held] : value.dict().entries) {
    PC_TRY(Value changed_key, with_texts(key, change));
    PC_TRY(Value changed, with_texts(held, change));
    entries.emplace_back(std::move(changed_key), std::move(changed));
  }
  return jinja::make_dict(nullptr, std::move(entries));
}

Result<TextMarks> TextMarks::choose(std::size_t n, const std::vector<Value>& values) {
  std::unordered_set<char32_t> used;
  const ChangeText see = [&](const std::string& text) {
    add_private(text, &used);
    return text;
  };
  for (const Value& value : values) PC_CHECK_OK(with_texts(value, see));
  TextMarks marks;
  for (char32_t c = kLast; marks.marks_.size() < n; --c) {
    if (c < kFirst) return error(Code::kUnsupported, "a conversation of so many parts is too long");
    if ((c & 0xFFFE) == 0xFFFE || used.contains(c)) continue;  // U+FFFFE and the like are no text
    marks.numbers_.emplace(c, marks.marks_.size());
    utf8_append(c, &marks.marks_.emplace_back());
  }
  return marks;
}

Unmarked TextMarks::take_out(std::string_view text) const {
  Unmarked out;
  std::size_t begin = 0;  // of what is not copied yet
  for (std::size_t at = next_far(text, 0); at < text.size(); at = next_far(text, at)) {
    const std::size_t mark = at;
    const auto found = numbers_.find(utf8_next(text, &at));
    if (found == numbers_.end()) continue;
    out.text += text.substr(begin, mark - begin);
    out.marks.push_back({found->second, out.text.size()});
    begin = at;
  }
  out.text += text.substr(begin);
  return out;
}

}  // namespace pc
