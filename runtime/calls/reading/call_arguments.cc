#include "runtime/calls/reading/call_arguments.h"

#include <algorithm>
#include <utility>

#include "runtime/calls/shape/call_cursor.h"
#include "runtime/calls/shape/python_value.h"

namespace pc::calls {
namespace {

std::string_view space_at_end(std::string_view words) {
  return words.substr(words.find_last_not_of(kSpace) + 1);
}

std::string_view space_at_begin(std::string_view words) {
  return words.substr(0, words.find_first_not_of(kSpace));
}

// As a string of JSON has it, without its quotes.
std::string escaped(std::string_view text) {
  const std::string quoted = Json(std::string(text)).dump();
  return quoted.substr(1, quoted.size() - 2);
}

// The last place up to `end` where no character is cut in two.
std::size_t character_end(std::string_view text, std::size_t end) {
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  return end;
}

// Of a parameter between words: it is no tag, and on one line.
bool is_key(std::string_view text) {
  return !trimmed(text).empty() && text.find_first_of("<\n") == text.npos;
}

// A key, and what stands around it, is shorter.
constexpr std::size_t kMostKey = 4096;
// A value that is not whole is read again once this part of it came to it.
constexpr std::size_t kPartToRead = 16;

constexpr std::string_view kNoPythonKey = "()[]{},\"'<\r\n";

bool is_python_key(std::string_view text) {
  const std::string_view key = trimmed(text);
  return !key.empty() && key.find_first_of(kNoPythonKey) == key.npos &&
         key.find_first_of(kSpace) == key.npos;
}

}  // namespace

CallArguments::CallArguments(const CallShape& shape, const ToolTypes& types, std::string tool)
    : shape_(shape),
      types_(types),
      tool_(std::move(tool)),
      close_word_(first_word(shape.value_close)),
      before_value_(space_at_end(shape.key_close)),
      behind_value_(space_at_begin(shape.value_close)),
      state_(shape.kind == CallShape::Kind::kParameters ? State::kMember
             : shape.kind == CallShape::Kind::kPython   ? State::kPython
                                                        : State::kJson) {}

CallArguments::Fit CallArguments::fit(std::string_view all) const {
  const Fit fits = begins_as(all.substr(0, kMostKey));
  return fits == Fit::kMore && all.size() > kMostKey ? Fit::kNo : fits;
}

CallArguments::Fit CallArguments::begins_as(std::string_view text) const {
  CallCursor at(text);
  if (state_ == State::kJson) {
    at.skip_space();
    return at.rest().empty() ? Fit::kMore : at.rest().starts_with('{') ? Fit::kYes : Fit::kNo;
  }
  if (state_ == State::kPython) {
    if (at.take(")")) return Fit::kYes;
    if (const auto key = at.take_before("=")) return is_python_key(*key) ? Fit::kYes : Fit::kNo;
    return at.rest().find_first_of(kNoPythonKey) == text.npos ? Fit::kMore : Fit::kNo;
  }
  if (!at.take(shape_.key_open)) return is_cut(text, shape_.key_open) ? Fit::kMore : Fit::kYes;
  const std::string_view word = first_word(shape_.key_close), rest = at.rest();
  // No key goes on behind it.
  const std::size_t end = std::min(rest.find_first_of("<\n"), rest.size());
  const std::size_t most = end + word.size();
  const std::size_t key_size = rest.substr(0, most).find(word);
  if (key_size == rest.npos)
    return rest.size() < most && place_of(rest, word) <= end ? Fit::kMore : Fit::kNo;
  if (!is_key(rest.substr(0, key_size))) return Fit::kNo;
  at.skip(key_size);
  return at.take(shape_.key_close)             ? Fit::kYes
         : is_cut(at.rest(), shape_.key_close) ? Fit::kMore
                                               : Fit::kNo;
}

bool CallArguments::go_on(std::string_view* text, std::string* json) {
  bool goes_on = true;
  while (goes_on && !is_over_) {
    switch (state_) {
      case State::kJson:
        goes_on = take_json(text, json);
        break;
      case State::kMember:
        goes_on = take_member(text, json);
        break;
      case State::kText:
        goes_on = take_text(text, json);
        break;
      case State::kValue:
        goes_on = take_value(text, json);
        break;
      case State::kPython:
        goes_on = take_python(text, json);
        break;
    }
  }
  return is_over_;
}

// Passes JSON on as it is, up to the bracket that closes the first one. A line that ends within a
// string is what models write for "\n".
bool CallArguments::take_json(std::string_view* text, std::string* json) {
  std::size_t at = 0;
  for (; at < text->size() && !is_over_; ++at) {
    const char c = (*text)[at];
    const bool is_broken = brackets_.in_string && static_cast<unsigned char>(c) < 0x20;
    *json += is_broken ? escaped(std::string_view(&c, 1)) : std::string(1, c);
    brackets_.take(c);
    is_over_ = brackets_.depth == 0;
  }
  text->remove_prefix(at);
  return false;
}

void CallArguments::open_member(const std::string& key, std::string* json) {
  *json += (std::exchange(has_members_, true) ? "," : "{") + Json(key).dump() + ":";
}

bool CallArguments::end_members(std::string* json) {
  *json += has_members_ ? "}" : "{}";
  is_over_ = true;
  return false;
}

bool CallArguments::take_member(std::string_view* text, std::string* json) {
  CallCursor at(*text);
  if (!at.take(shape_.key_open)) return !is_cut(*text, shape_.key_open) && end_members(json);
  switch (fit(*text)) {
    case Fit::kMore:
      return false;
    case Fit::kNo:
      return end_members(json);
    case Fit::kYes:
      break;
  }
  key_ = trimmed(*at.take_before(first_word(shape_.key_close)));
  at.take(shape_.key_close);
  // The white space of the words is looked at where the value is: take() does not count it.
  const std::size_t n_taken = text->size() - at.rest().size();
  text->remove_prefix(n_taken);
  n_scanned_ = 0;
  json_end_ = {};
  begins_value_ = true;
  const bool is_text = types_.wants_string(tool_, key_);
  if (is_text) {
    open_member(key_, json);
    *json += '"';
  }
  state_ = is_text ? State::kText : State::kValue;
  return true;
}

bool CallArguments::take_text(std::string_view* text, std::string* json) {
  if (begins_value_) {
    const std::string_view held = *text;
    if (held.size() < before_value_.size() && before_value_.starts_with(held)) return false;
    if (held.starts_with(before_value_)) text->remove_prefix(before_value_.size());
    begins_value_ = false;
  }
  const std::string_view held = *text;
  const std::size_t close = held.find(close_word_);
  if (close == held.npos) {
    // What may be the beginning of the words behind the value has to wait for the rest of them.
    const std::size_t most = behind_value_.size() + close_word_.size() - 1;
    const std::size_t end = character_end(held, held.size() - std::min(most, held.size()));
    *json += escaped(held.substr(0, end));
    text->remove_prefix(end);
    return false;
  }
  CallCursor behind(held.substr(close));
  if (!behind.take(shape_.value_close)) {
    if (is_cut(held.substr(close), shape_.value_close)) return false;
    *json += escaped(held.substr(0, close + 1));  // another word, which is the value's
    text->remove_prefix(close + 1);
    return true;
  }
  std::string_view value = held.substr(0, close);
  if (value.ends_with(behind_value_)) value.remove_suffix(behind_value_.size());
  *json += escaped(value) + '"';
  text->remove_prefix(held.size() - behind.rest().size());
  state_ = State::kMember;
  return true;
}

// What ends a value may stand in JSON, too.
bool CallArguments::take_value(std::string_view* text, std::string* json) {
  const std::string_view held = *text;
  if (held.find(close_word_, n_scanned_) == held.npos) {
    n_scanned_ = held.size() - std::min(held.size(), close_word_.size() - 1);
    return false;
  }
  if (!is_last_ && json_end_.find_in(held) == JsonEnd::Kind::kMore) return false;
  CallCursor at(held);
  CallCursor behind = at;
  const bool is_cut_behind = behind.take_json_and("") && is_cut(behind.rest(), shape_.value_close);
  if (!is_last_ && is_cut_behind) return false;
  auto value = at.take_json_and(shape_.value_close);
  if (!value) {
    auto of_text = at.take_until(trimmed(shape_.value_close));
    if (!of_text) {
      n_scanned_ = held.size();
      return false;
    }
    if (of_text->starts_with(before_value_)) of_text->remove_prefix(before_value_.size());
    if (of_text->ends_with(behind_value_)) of_text->remove_suffix(behind_value_.size());
    value = types_.value(tool_, key_, std::string(*of_text));
  }
  open_member(key_, json);
  *json += value->dump();
  text->remove_prefix(held.size() - at.rest().size());
  state_ = State::kMember;
  return true;
}

// May a value have become whole? One that is long is not read again at each of its commas.
bool CallArguments::is_worth_reading(std::string_view text) {
  const bool has_end = text.find_first_of(",)", n_scanned_) != text.npos;
  const bool has_grown =
      is_last_ || text.size() < kMostKey || text.size() - n_read_ > n_read_ / kPartToRead;
  if (!has_end || !has_grown) {
    if (!has_end) n_scanned_ = text.size();
    return false;
  }
  n_scanned_ = n_read_ = text.size();
  return true;
}

// key=value, and what stands behind it: only that tells that the value is over.
bool CallArguments::take_python(std::string_view* text, std::string* json) {
  if (!is_worth_reading(*text)) return false;
  CallCursor at(*text);
  const bool is_end = at.take(")");
  if (is_end) {
    text->remove_prefix(text->size() - at.rest().size());
    return end_members(json);
  }
  const Fit fits = fit(*text);
  if (fits != Fit::kYes) return fits == Fit::kNo && end_members(json);
  const auto key = at.take_before("=");
  at.take("=");
  const auto value = take_python_value(&at);
  if (!value) return false;
  at.skip_space();
  if (!at.take(",") && !at.rest().starts_with(')')) return false;
  open_member(std::string(trimmed(*key)), json);
  *json += value->dump();
  *text = at.rest();
  n_scanned_ = n_read_ = 0;
  return true;
}

void CallArguments::cut(std::string_view text, std::string* json) const {
  if (state_ == State::kText) *json += escaped(text);
}

}  // namespace pc::calls
