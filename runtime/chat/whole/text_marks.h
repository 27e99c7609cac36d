// Characters that stand in no text of a conversation: put into its texts before a template is run,
// they show where in the template's text each of them has gone.
//
// Private-use characters, since no template and no escaping of strings does anything to them.
// A value. Threads: const from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "runtime/jinja/values/value.h"

namespace pc {

// A text without its marks, and where they stood.
struct Unmarked {
  struct Mark {
    std::size_t number;
    std::size_t at;  // byte of `text`
  };
  std::string text;
  std::vector<Mark> marks;  // in order
};

class TextMarks {
 public:
  // `n` marks that none of the values has. kUnsupported: there are not so many.
  static Result<TextMarks> choose(std::size_t n, const std::vector<jinja::Value>& values);

  const std::string& operator[](std::size_t number) const { return marks_[number]; }
  Unmarked take_out(std::string_view text) const;

 private:
  std::vector<std::string> marks_;
  std::unordered_map<char32_t, std::size_t> numbers_;
};

// The same value with each string in it, keys included, as `change` makes it.
using ChangeText = std::function<std::string(const std::string&)>;
Result<jinja::Value> with_texts(const jinja::Value& value, const ChangeText& change);

}  // namespace pc
