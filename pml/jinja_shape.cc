#include "pml/jinja_shape.h"

#include <algorithm>
#include <cstddef>

namespace pc::pml {
namespace {

constexpr std::string_view kSpace = " \t\r\n\f\v";

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

class Shaper {
 public:
  explicit Shaper(std::string_view jinja) : rest_(jinja) {}

  std::string shape() {
    while (!rest_.empty()) {
      const std::size_t tag = next_tag();
      take_text(rest_.substr(0, tag), rest_.substr(std::min(tag, rest_.size())));
      if (tag == rest_.npos) break;
      rest_.remove_prefix(tag);
      take_tag();
    }
    return std::move(out_);
  }

 private:
  enum class After { kStart, kValue, kBlock, kStripped };  // the tag before a text

  std::size_t next_tag() const {
    for (std::size_t i = 0; (i = rest_.find('{', i)) != rest_.npos; ++i)
      if (i + 1 < rest_.size() && std::string_view("{%#").find(rest_[i + 1]) != rest_.npos)
        return i;
    return rest_.npos;
  }

  // The text between two tags, less what the tags take of its white space.
  void take_text(std::string_view text, std::string_view tag) {
    if (after_ == After::kStripped) {
      text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
    } else if (after_ == After::kBlock && text.starts_with('\n')) {
      text.remove_prefix(1);
    }
    if (tag.size() > 2 && tag[2] == '-') {
      text = text.substr(0, text.find_last_not_of(kSpace) + 1);
    } else if (tag.size() > 2 && tag[1] != '{' && tag[2] != '+') {
      const std::size_t end = text.find_last_not_of(" \t") + 1;
      const bool line_start = end == 0 ? after_ != After::kValue : text[end - 1] == '\n';
      if (line_start) text = text.substr(0, end);
    }
    for (const char c : text)
      if (c != kValueMark && c != kBosMark && c != kEosMark) out_ += c;
  }

  void take_tag() {
    const char kind = rest_[1];
    rest_.remove_prefix(2);
    if (kind == '#') return take_comment();
    if (kind == '%') mark(kValueMark);
    take_code(kind == '%' ? '%' : '}');
    if (kind == '%') mark(kValueMark);
  }

  void take_comment() {
    const std::size_t end = rest_.find("#}");
    after_ =
        end != rest_.npos && end > 0 && rest_[end - 1] == '-' ? After::kStripped : After::kBlock;
    rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 2);
  }

  // The inside of a tag, up to `closer` and '}'.
  void take_code(char closer) {
    std::string hidden;  // of each open bracket: 'h' where no literal in it is put out
    bool value_before = false;
    char last = 0;
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (c == closer && hidden.empty() && rest_.size() > 1 && rest_[1] == '}') {
        after_ = last == '-' ? After::kStripped : closer == '%' ? After::kBlock : After::kValue;
        rest_.remove_prefix(2);
        return;
      }
      const bool shown = hidden.empty() || hidden.back() != 'h';
      last = c;
      if (c == '\'' || c == '"') {
        take_literal(shown);
        value_before = true;
      } else if (is_word(c)) {
        take_word(shown);
        value_before = true;
      } else {
        rest_.remove_prefix(1);
        if (kSpace.find(c) != kSpace.npos || c == '+' || c == '~' || c == '-') {
          if (c == '+' || c == '~') value_before = false;
          continue;
        }
        if (c == '(' || c == '[' || c == '{') {
          const bool groups = c == '(' && !value_before && shown;
          hidden += groups ? 'g' : 'h';
          if (!groups) mark(kValueMark);
          value_before = false;
        } else if (c == ')' || c == ']' || c == '}') {
          if (!hidden.empty()) hidden.pop_back();
          value_before = true;
        } else {
          mark(kValueMark);
          value_before = false;
        }
      }
    }
  }

  // A string literal with Python's escapes; others stand for themselves.
  void take_literal(bool shown) {
    const char quote = rest_.front();
    rest_.remove_prefix(1);
    if (!shown) mark(kValueMark);
    while (!rest_.empty() && rest_.front() != quote) {
      char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '\\' && !rest_.empty()) {
        c = rest_.front();
        rest_.remove_prefix(1);
        if (c == 'n') c = '\n';
        if (c == 't') c = '\t';
        if (c == 'r') c = '\r';
      }
      if (shown && c != kValueMark && c != kBosMark && c != kEosMark) out_ += c;
    }
    if (!rest_.empty()) rest_.remove_prefix(1);
  }

  void take_word(bool shown) {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_word);
    const std::string_view word = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(word.size());
    mark(shown && word == "bos_token"   ? kBosMark
         : shown && word == "eos_token" ? kEosMark
                                        : kValueMark);
  }

  void mark(char m) {
    if (m != kValueMark || out_.empty() || out_.back() != kValueMark) out_ += m;
  }

  std::string_view rest_;
  std::string out_;
  After after_ = After::kStart;
};

}  // namespace

std::string jinja_shape(std::string_view jinja) {
  return Shaper(jinja).shape();
}

}  // namespace pc::pml
