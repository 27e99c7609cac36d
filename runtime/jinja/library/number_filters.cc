// Filters that make numbers, and the number of something.
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "runtime/jinja/library/access.h"
#include "runtime/jinja/library/filters.h"
#include "runtime/jinja/library/operators.h"
#include "runtime/jinja/values/iterate.h"
#include "runtime/jinja/values/literals.h"
#include "runtime/jinja/values/number_format.h"
#include "runtime/jinja/values/print.h"
#include "runtime/jinja/values/unicode.h"

namespace pc::jinja {
namespace {

Error undefined_error(const Value& value) {
  return error(Code::kInvalidArgument, value.reason());
}

// Digits as Python reads them: white space around, single underscores between.
std::optional<std::string> plain_number(std::string_view text) {
  text = strip(text, Side::kBoth);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '_') {
      const auto is_digit = [](char c) { return is_alpha(c) || (c >= '0' && c <= '9'); };
      if (i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1]))
        return std::nullopt;
      continue;
    }
    out += text[i];
  }
  return out;
}

std::optional<double> parse_float(std::string_view text) {
  auto plain = plain_number(text);
  if (!plain || plain->empty()) return std::nullopt;
  std::string_view digits = *plain;
  if (digits[0] == '+' && digits.size() > 1 && digits[1] != '-') digits.remove_prefix(1);
  double value = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end.ptr != digits.data() + digits.size() || digits.find('(') != digits.npos)
    return std::nullopt;
  if (end.ec == std::errc::result_out_of_range) return beyond_range(digits);
  return end.ec == std::errc() ? std::optional(value) : std::nullopt;
}

// int(text, base). An error: beyond 64 bits; nothing: no number.
Result<std::optional<std::int64_t>> parse_integer(std::string_view text, std::int64_t base) {
  using Number = std::optional<std::int64_t>;
  auto plain = plain_number(text);
  if (!plain || plain->empty()) return Number();
  std::string_view digits = *plain;
  const bool is_negative = digits[0] == '-';
  if (digits[0] == '-' || digits[0] == '+') digits.remove_prefix(1);
  const auto prefixed = [&](std::int64_t of, char letter) {
    return (base == of || base == 0) && digits.size() > 2 && digits[0] == '0' &&
           (digits[1] | 0x20) == letter;
  };
  for (const auto& [of, letter] : {std::pair<std::int64_t, char>(16, 'x'), {8, 'o'}, {2, 'b'}}) {
    if (!prefixed(of, letter)) continue;
    base = of;
    digits.remove_prefix(2);
    break;
  }
  if (base == 0) base = digits.size() > 1 && digits[0] == '0' ? -1 : 10;
  if (base < 2 || base > 36 || digits.empty() || digits[0] == '-') return Number();
  std::uint64_t value = 0;
  const auto end =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, static_cast<int>(base));
  if (end.ptr != digits.data() + digits.size()) return Number();
  const std::uint64_t most = std::uint64_t{INT64_MAX} + is_negative;
  if (end.ec != std::errc() || value > most)
    return error(Code::kUnsupported, "an integer beyond 64 bits");
  return Number(static_cast<std::int64_t>(is_negative ? 0 - value : value));
}

Result<Value> truncated(double number, const Value& fallback) {
  if (!std::isfinite(number)) return fallback;
  if (!(std::fabs(number) < 9.2e18)) return error(Code::kUnsupported, "an integer beyond 64 bits");
  return integer(static_cast<std::int64_t>(number));
}

Result<Value> to_int(Runtime&, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("int", arguments, {"default", "base"}));
  PC_TRY(const std::int64_t base, bound.integer(1, 10));
  const Value fallback = bound.get(0) ? *bound.get(0) : integer(0);
  if (self.is(Kind::kUndefined)) return undefined_error(self);
  if (self.is_integral()) return integer(self.integer);
  if (self.is(Kind::kFloat)) return truncated(self.real, fallback);
  if (!self.is(Kind::kString)) return fallback;
  PC_TRY(const auto whole, parse_integer(self.text(), base));
  if (whole) return integer(*whole);
  const auto number = parse_float(self.text());
  return number ? truncated(*number, fallback) : Result<Value>(fallback);
}

Result<Value> to_float(Runtime&, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("float", arguments, {"default"}));
  if (self.is(Kind::kUndefined)) return undefined_error(self);
  if (self.is_number()) return real(self.number());
  const auto number = self.is(Kind::kString) ? parse_float(self.text()) : std::nullopt;
  if (number) return real(*number);
  return bound.get(0) ? *bound.get(0) : real(0.0);
}

// To even where a value lies in the middle, as the decimal digits have it.
double rounded(double value, std::int64_t precision) {
  if (!std::isfinite(value) || precision > 323) return value;
  if (precision < -308) return std::copysign(0.0, value);
  if (precision >= 0) {
    const std::string digits = format_float(value, 'f', static_cast<int>(precision), false);
    double out = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), out);
    return out;
  }
  const double unit = std::pow(10.0, static_cast<double>(-precision));
  return std::nearbyint(value / unit) * unit;
}

Result<Value> round_integer(std::int64_t value, std::int64_t precision) {
  if (precision >= 0) return integer(value);
  if (precision < -18) return integer(0);
  std::int64_t unit = 1;
  for (; precision < 0; ++precision) unit *= 10;
  std::int64_t rest = value % unit;
  if (rest < 0) rest += unit;
  const std::int64_t low = value - rest;  // cannot overflow: at least 10^18 away where it might
  const bool up = rest * 2 > unit || (rest * 2 == unit && (low / unit) % 2 != 0);
  return integer(low + (up ? unit : 0));
}

Result<Value> round(Runtime&, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("round", arguments, {"precision", "method"}));
  PC_TRY(const std::int64_t precision, bound.integer(0, 0));
  PC_TRY(const std::string method, bound.string(1, "common"));
  if (method != "common" && method != "ceil" && method != "floor")
    return error(Code::kInvalidArgument, "method must be common, ceil or floor");
  if (self.is(Kind::kUndefined)) return undefined_error(self);
  if (!self.is_number()) return error(Code::kInvalidArgument, "cannot round a " + type_name(self));
  if (method == "common")
    return self.is_integral() ? round_integer(self.integer, precision)
                              : Result<Value>(real(rounded(self.real, precision)));
  if (precision > 300 || precision < -300)
    return error(Code::kUnsupported, "rounding to more than 300 places");
  const double unit = std::pow(10.0, static_cast<double>(precision));
  const double scaled = self.number() * unit;
  if (!std::isfinite(scaled))
    return error(Code::kInvalidArgument, "cannot convert float infinity to integer");
  return real((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit);
}

Result<Value> length(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("length", arguments, {}));
  if (self.is(Kind::kLoop)) {
    PC_TRY(const auto n, static_cast<Callable*>(self.object.get())->attribute(runtime, "length"));
    return *n;
  }
  PC_TRY(const std::int64_t n, length_of(self));
  return integer(n);
}

constexpr std::array<Method, 5> kFilters = {{
    {"int", to_int},
    {"float", to_float},
    {"round", round},
    {"length", length},
    {"count", length},
}};

}  // namespace

std::span<const Method> number_filters() {
  return kFilters;
}

}  // namespace pc::jinja
