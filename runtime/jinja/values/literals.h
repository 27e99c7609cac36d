// Numbers and strings as a template's source spells them.
//
// Pure. Errors: kCorrupt, with the line. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace pc::jinja {

struct NumberLiteral {
  std::size_t size = 0;  // in bytes
  bool is_float = false;
  std::int64_t integer = 0;
  double real = 0;
};

// What a float beyond a double's range becomes: infinity, or zero where it is tiny.
double beyond_range(std::string_view digits);

// The number that `text` starts with: 10, 1_000, 0xff, 1.5, 2e3. Behind a dot
// ("list.0.1") a number has no fraction. Precondition: text starts with a digit.
Result<NumberLiteral> number_literal(std::string_view text, bool after_dot, std::uint32_t line);

// Bytes of the quoted string that `text` starts with, quotes included.
Result<std::size_t> string_literal_size(std::string_view text, std::uint32_t line);

// What the text between the quotes means, by Python's escapes.
Result<std::string> string_literal(std::string_view inside, std::uint32_t line);

}  // namespace pc::jinja
