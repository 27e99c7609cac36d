#include "runtime/calls/shape/call_cursor.h"

#include <algorithm>
#include <string>
#include <utility>

namespace pc::calls {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::string_view kNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:";

bool is_space(char c) {
  return kSpace.find(c) != kSpace.npos;
}

// May it stand in JSON, outside of a string?
bool is_json(char c) {
  const bool is_word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == 'E';
  return is_word || is_space(c) || std::string_view("{}[],:+-.").find(c) != std::string_view::npos;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string_view first_word(std::string_view words) {
  const std::string_view begin = trimmed(words);
  return begin.substr(0, begin.find_first_of(kSpace));
}

bool is_cut(std::string_view text, std::string_view word) {
  CallCursor at(text);
  return !CallCursor(text).take(word) && at.take_beginning(word) && trimmed(at.rest()).empty();
}

std::size_t place_of(std::string_view text, std::string_view word) {
  if (const std::size_t found = text.find(word); found != text.npos) return found;
  std::size_t n = std::min(word.size() - 1, text.size());
  while (n > 0 && !word.starts_with(text.substr(text.size() - n))) --n;
  return text.size() - n;
}

void Brackets::take(char c) {
  if (in_string) {
    in_string = is_escaped || c != '"';
    is_escaped = !is_escaped && c == '\\';
    return;
  }
  in_string = c == '"';
  depth += (c == '{' || c == '[') - (c == '}' || c == ']');
}

// It is looked for no further than what may be JSON: one that is missing does not cost all text.
JsonEnd::Kind JsonEnd::find_in(std::string_view text) {
  while (kind_ == Kind::kMore && n_read_ < text.size()) kind_ = read(text[n_read_++]);
  return kind_;
}

JsonEnd::Kind JsonEnd::read(char c) {
  if (!is_begun_ && is_space(c)) return Kind::kMore;
  const bool opens = std::string_view("{[\"").find(c) != std::string_view::npos;
  if (!std::exchange(is_begun_, true) && !opens) return Kind::kNone;
  const bool is_inside = brackets_.in_string;
  if (is_inside ? static_cast<unsigned char>(c) < 0x20 && !brackets_.is_escaped
                : c != '"' && !is_json(c))
    return Kind::kNone;
  brackets_.take(c);
  return brackets_.in_string || brackets_.depth > 0 ? Kind::kMore : Kind::kFound;
}

bool is_call_name(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kNameCharacters) == text.npos;
}

void CallCursor::skip_space() {
  rest_.remove_prefix(std::min(rest_.find_first_not_of(kSpace), rest_.size()));
}

std::size_t CallCursor::match(std::string_view word, bool is_over) const {
  std::size_t at = 0;
  for (const char c : word) {
    if (is_space(c)) continue;
    while (at < rest_.size() && is_space(rest_[at])) ++at;
    if (at == rest_.size()) return is_over ? at : rest_.npos;
    if (rest_[at] != c) return rest_.npos;
    ++at;
  }
  return at;
}

bool CallCursor::take(std::string_view word) {
  const std::size_t size = match(word, false);
  if (size == rest_.npos) return false;
  rest_.remove_prefix(size);
  return true;
}

bool CallCursor::take_beginning(std::string_view word) {
  const std::size_t size = match(word, true);
  if (size == rest_.npos) return false;
  rest_.remove_prefix(size);
  return true;
}

std::optional<std::string_view> CallCursor::take_until(std::string_view word) {
  const std::size_t end = rest_.find(word);
  if (end == rest_.npos) return std::nullopt;
  const std::string_view taken = rest_.substr(0, end);
  rest_.remove_prefix(end + word.size());
  return taken;
}

std::optional<std::string_view> CallCursor::take_before(std::string_view word) {
  const std::size_t end = rest_.find(word);
  if (end == rest_.npos) return std::nullopt;
  const std::string_view taken = rest_.substr(0, end);
  rest_.remove_prefix(end);
  return taken;
}

std::optional<std::string_view> CallCursor::take_name() {
  skip_space();
  const std::size_t size = std::min(rest_.find_first_not_of(kNameCharacters), rest_.size());
  const std::string_view name = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return name.empty() ? std::nullopt : std::optional(name);
}

std::optional<Json> CallCursor::take_json() {
  skip_space();
  return rest_.starts_with('{') || rest_.starts_with('[') ? take_enclosed() : std::nullopt;
}

std::optional<Json> CallCursor::take_json_and(std::string_view word) {
  CallCursor ahead = *this;
  ahead.skip_space();
  auto json = ahead.rest_.starts_with('"') ? ahead.take_enclosed() : ahead.take_json();
  if (!json || !ahead.take(word)) return std::nullopt;
  *this = ahead;
  return json;
}

std::optional<Json> CallCursor::take_enclosed() {
  JsonEnd end;
  if (end.find_in(rest_) != JsonEnd::Kind::kFound) return std::nullopt;
  const std::size_t size = end.place();
  std::string why;
  // A grammar does not know which names have come: docs/CONSTRAINED.md.
  const auto json =
      Json::read_strictly(rest_.substr(0, size), kMaxDepth, &why, Json::Twice::kLastCounts);
  if (json) rest_.remove_prefix(size);
  return json;
}

}  // namespace pc::calls
