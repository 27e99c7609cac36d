// Cuts a template into tokens, with Jinja's rules for white space: trim_blocks
// and lstrip_blocks are on, as transformers sets them, and `-` and `+` beside a
// tag overrule them.
//
// Pure and linear. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace pc::jinja {

enum class TokenKind : std::uint8_t {
  kData,  // text between tags
  kBlockBegin,
  kBlockEnd,
  kVariableBegin,
  kVariableEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::uint32_t line = 1;
  std::string text = {};  // data, name, operator, or a string's value
  std::int64_t integer = 0;
  double real = 0;
};

// Ends with one kEnd. Precondition: valid UTF-8. Errors: kCorrupt.
Result<std::vector<Token>> tokenize(std::string_view source);

}  // namespace pc::jinja
