// Numbers and padding, as both of Python's ways to format need them.
//
// Pure. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "runtime/jinja/values/value.h"

namespace pc::jinja {

inline constexpr std::int64_t kMaxFormatWidth = 100'000;
inline constexpr int kMaxPrecision = 350;  // a double has at most 309 digits in front of its point

// A float by 'e', 'f', 'g', 'E', 'F' or 'G'; `alternate` keeps the point. No sign for
// positive ones.
std::string format_float(double number, char type, int precision, bool alternate);

// An integer's digits by 'd', 'x', 'X', 'o' or 'b', without a sign.
std::string format_digits(std::int64_t number, char type);

// Commas or underscores between groups of digits in front of the point.
std::string with_separators(std::string digits, char separator, std::size_t group);

// align: '<', '>', '^', or '=' to pad between sign and digits.
std::string pad(std::string text, std::int64_t width, char align, std::string_view fill);

}  // namespace pc::jinja
