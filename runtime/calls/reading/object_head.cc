#include "runtime/calls/reading/object_head.h"

#include <algorithm>
#include <optional>

#include "runtime/calls/shape/call_cursor.h"
#include "runtime/json/json_value.h"

namespace pc::calls {
namespace {

class HeadReader {
 public:
  HeadReader(const CallShape& shape, std::string_view text) : shape_(shape), text_(text) {}

  ObjectHead read() {
    ++at_;  // the bracket
    while (true) {
      const auto key = take_string();
      if (!key) return {is_over() ? ObjectHead::Kind::kMore : ObjectHead::Kind::kNone};
      if (!take(':')) return {is_over() ? ObjectHead::Kind::kMore : ObjectHead::Kind::kNone};
      skip_space();
      if (is_over()) return {ObjectHead::Kind::kMore};
      if (*key == shape_.arguments_key) return arguments();
      if (*key == shape_.name_key) {
        const auto name = take_string();
        if (!name) return {is_over() ? ObjectHead::Kind::kMore : ObjectHead::Kind::kNone};
        name_ = *name;
      } else if (!skip_value()) {
        return {is_over() ? ObjectHead::Kind::kMore : ObjectHead::Kind::kWhole};
      }
      if (!take(',')) return {is_over() ? ObjectHead::Kind::kMore : ObjectHead::Kind::kWhole};
    }
  }

 private:
  bool is_over() const { return at_ >= text_.size(); }
  void skip_space() { at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size()); }
  bool take(char c) {
    skip_space();
    if (is_over() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  // Nothing, with the text over, where it ends within one.
  std::optional<std::string> take_string() {
    const std::size_t before = at_;
    if (!take('"')) return std::nullopt;
    while (!is_over() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (is_over()) {
      at_ = text_.size();
      return std::nullopt;
    }
    ++at_;
    const std::string_view written = trimmed(text_.substr(before, at_ - before));
    std::string why;
    const auto read = Json::read_strictly(std::string(written), 1, &why);
    return read ? std::optional(read->string()) : std::nullopt;
  }

  // A string, a number or a word.
  bool skip_value() {
    if (text_[at_] == '"') return take_string().has_value();
    if (text_[at_] == '{' || text_[at_] == '[') return false;
    at_ = std::min(text_.find_first_of(",}", at_), text_.size());
    return !is_over();
  }

  ObjectHead arguments() const {
    if (name_.empty() || text_[at_] != '{') return {ObjectHead::Kind::kWhole};
    return {ObjectHead::Kind::kFound, name_, at_};
  }

  const CallShape& shape_;
  const std::string_view text_;
  std::size_t at_ = 0;
  std::string name_;
};

}  // namespace

ObjectHead read_object_head(const CallShape& shape, std::string_view text) {
  return HeadReader(shape, text).read();
}

}  // namespace pc::calls
