#include "runtime/jinja/values/number_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "runtime/jinja/values/unicode.h"

namespace pc::jinja {

std::string format_float(double number, char type, int precision, bool alternate) {
  const bool is_upper = type == 'E' || type == 'F' || type == 'G';
  if (!std::isfinite(number)) {
    std::string word = std::isnan(number) ? "nan" : number < 0 ? "-inf" : "inf";
    if (is_upper)
      std::transform(word.begin(), word.end(), word.begin(),
                     [](char c) { return c >= 'a' ? static_cast<char>(c - 32) : c; });
    return word;
  }
  precision = std::clamp(precision, 0, kMaxPrecision);
  const char form[] = {'%',
                       alternate ? '#' : '.',
                       alternate ? '.' : '*',
                       alternate ? '*' : type,
                       alternate ? type : '\0',
                       '\0'};
  char out[kMaxPrecision + 330];  // 309 digits, a sign, a point, the fraction
  const int n = std::snprintf(out, sizeof out, form, precision, number);
  return std::string(out, static_cast<std::size_t>(n));
}

std::string format_digits(std::int64_t number, char type) {
  const int base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
  const auto magnitude =
      number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, magnitude, base);
  std::string out(digits, end.ptr);
  if (type == 'X')
    for (char& c : out) c = c >= 'a' ? static_cast<char>(c - 32) : c;
  return out;
}

std::string with_separators(std::string digits, char separator, std::size_t group) {
  std::size_t end = digits.find_first_not_of("0123456789abcdefABCDEF");
  if (end == digits.npos) end = digits.size();
  for (std::size_t at = end; at > group; at -= group) digits.insert(at - group, 1, separator);
  return digits;
}

std::string pad(std::string text, std::int64_t width, char align, std::string_view fill) {
  const auto n = static_cast<std::int64_t>(n_characters(text));
  if (n >= width) return text;
  const auto missing = static_cast<std::size_t>(width - n);
  const auto filling = [fill](std::size_t times) {
    std::string out;
    for (std::size_t i = 0; i < times; ++i) out += fill;
    return out;
  };
  if (align == '<') return text + filling(missing);
  if (align == '^') return filling(missing / 2) + text + filling(missing - missing / 2);
  const bool has_sign =
      align == '=' && !text.empty() && (text[0] == '-' || text[0] == '+' || text[0] == ' ');
  return text.insert(has_sign, filling(missing));
}

}  // namespace pc::jinja
