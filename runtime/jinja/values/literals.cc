#include "runtime/jinja/values/literals.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/utf8.h"
#include "runtime/jinja/values/error.h"

namespace pc::jinja {
namespace {

bool is_digit_of(char c, int base) {
  if (c >= '0' && c <= '9') return c - '0' < base;
  const char lower = static_cast<char>(c | 0x20);
  return base == 16 && lower >= 'a' && lower <= 'f';
}

// Digits with single underscores between them; 0 where there are none.
std::size_t digits_size(std::string_view text, int base) {
  std::size_t n = 0;
  while (n < text.size()) {
    if (is_digit_of(text[n], base))
      ++n;
    else if (text[n] == '_' && n > 0 && n + 1 < text.size() && is_digit_of(text[n + 1], base))
      ++n;
    else
      break;
  }
  return n;
}

std::string without_underscores(std::string_view text) {
  std::string out(text);
  std::erase(out, '_');
  return out;
}

Result<std::int64_t> integer_of(std::string_view text, int base, std::uint32_t line) {
  const std::string digits = without_underscores(text);
  std::int64_t value = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (end.ec != std::errc())
    return template_error(Code::kUnsupported, line,
                          "the number " + digits + " does not fit 64 bits");
  return value;
}

// Bytes of a fraction and an exponent behind n digits; 0 where neither follows.
std::size_t fraction_size(std::string_view text) {
  std::size_t n = 0;
  if (text.starts_with('.')) {
    const std::size_t digits = digits_size(text.substr(1), 10);
    if (digits > 0) n = 1 + digits;
  }
  std::string_view rest = text.substr(n);
  if (!rest.empty() && (rest[0] | 0x20) == 'e') {
    const std::size_t sign = rest.size() > 1 && (rest[1] == '+' || rest[1] == '-') ? 2 : 1;
    const std::size_t digits = digits_size(rest.substr(std::min(sign, rest.size())), 10);
    if (digits > 0) n += sign + digits;
  }
  return n;
}

// Python's code points of \x41, \u0041, \U00000041: n hexadecimal digits.
Result<char32_t> hex_escape(std::string_view digits, std::size_t n, std::uint32_t line) {
  std::uint32_t code = 0;
  if (digits.size() >= n) {
    const auto end = std::from_chars(digits.data(), digits.data() + n, code, 16);
    const bool is_character = code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    if (end.ec == std::errc() && end.ptr == digits.data() + n && is_character) return code;
  }
  return template_error(Code::kCorrupt, line, "a string with an escape that is no character");
}

// \ooo: one to three octal digits.
std::size_t octal_escape(std::string_view digits, std::string* out) {
  std::size_t n = 0;
  char32_t code = 0;
  while (n < 3 && n < digits.size() && is_digit_of(digits[n], 8))
    code = code * 8 + static_cast<char32_t>(digits[n++] - '0');
  utf8_append(code, out);
  return n;
}

constexpr std::string_view kPlainEscapes = "\\'\"abfnrtv\n";
constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";

}  // namespace

double beyond_range(std::string_view digits) {
  const std::size_t exponent = std::min(digits.find_first_of("eE"), digits.size());
  const std::string_view sign = digits.substr(exponent).substr(0, 2);
  const bool has_exponent = exponent < digits.size();
  // Without an exponent: digits in front of the point make it large, none make it tiny.
  const bool is_tiny =
      has_exponent ? sign.ends_with('-') : digits.find_first_of("123456789") > digits.find('.');
  const double size = is_tiny ? 0.0 : std::numeric_limits<double>::infinity();
  return digits.starts_with('-') ? -size : size;
}

Result<NumberLiteral> number_literal(std::string_view text, bool after_dot, std::uint32_t line) {
  NumberLiteral number;
  const char prefix = text.size() > 1 ? static_cast<char>(text[1] | 0x20) : '\0';
  const int base = text[0] != '0'  ? 10
                   : prefix == 'x' ? 16
                   : prefix == 'o' ? 8
                   : prefix == 'b' ? 2
                                   : 10;
  if (base != 10) {
    const std::size_t digits = digits_size(text.substr(2), base);
    if (digits > 0) {
      number.size = 2 + digits;
      PC_TRY(number.integer, integer_of(text.substr(2, digits), base, line));
      return number;
    }
  }
  const std::size_t digits = digits_size(text, 10);
  const std::size_t fraction = after_dot ? 0 : fraction_size(text.substr(digits));
  if (fraction > 0) {
    number.is_float = true;
    number.size = digits + fraction;
    const std::string spelled = without_underscores(text.substr(0, number.size));
    const auto end = std::from_chars(spelled.data(), spelled.data() + spelled.size(), number.real);
    if (end.ec != std::errc()) number.real = beyond_range(spelled);
    return number;
  }
  // "012" is 0 and then 12, which no rule of the grammar allows.
  number.size = digits;
  if (text[0] == '0') {
    number.size = 0;
    while (number.size < digits && (text[number.size] == '0' || text[number.size] == '_'))
      ++number.size;
    return number;
  }
  PC_TRY(number.integer, integer_of(text.substr(0, digits), 10, line));
  return number;
}

Result<std::size_t> string_literal_size(std::string_view text, std::uint32_t line) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == text[0])
      return i + 1;
  }
  return template_error(Code::kCorrupt, line, "a string without its closing quote");
}

Result<std::string> string_literal(std::string_view inside, std::uint32_t line) {
  std::string out;
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] != '\\') {
      out += inside[i];
      continue;
    }
    const char c = inside[++i];  // string_literal_size saw a byte behind each backslash
    const std::size_t n_hex = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (const std::size_t at = kPlainEscapes.find(c); at != kPlainEscapes.npos) {
      if (c != '\n') out += kMeanings[at];  // a line end that is escaped is nothing
    } else if (n_hex > 0) {
      PC_TRY(const char32_t code, hex_escape(inside.substr(i + 1), n_hex, line));
      utf8_append(code, &out);
      i += n_hex;
    } else if (is_digit_of(c, 8)) {
      i += octal_escape(inside.substr(i), &out) - 1;
    } else if (c == 'N') {
      return template_error(Code::kUnsupported, line, "characters by name (\\N{...})");
    } else {
      out.append(1, '\\').append(1, c);
    }
  }
  return out;
}

}  // namespace pc::jinja
