// Regular expressions over UTF-8, for the patterns of published tokenizers.
// The home of PCRE2, with its just-in-time compiler where it works.
//
// A move-only owner, immutable after compile; threads: const methods from any
// thread. Memory for matching comes from the heap and is limited, and so is the
// work of one match; a pattern that needs more is an error.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace pc {

class Regex {
 public:
  struct Span {
    std::size_t begin, end;  // in bytes
  };
  enum class Syntax { kPattern, kLiteral };

  // In a pattern \s is Unicode's White_Space. Errors: kUnsupported.
  static Result<Regex> compile(std::string_view pattern, Syntax syntax = Syntax::kPattern);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  // The matches from left to right, none overlapping and none empty.
  // Precondition: valid UTF-8. Errors: kUnsupported when a limit is hit.
  Status find_all(std::string_view text, std::vector<Span>* out) const;

 private:
  struct Compiled;
  explicit Regex(std::unique_ptr<const Compiled> compiled);
  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace pc
