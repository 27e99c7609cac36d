#include "runtime/jinja/library/operators.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/jinja/library/format.h"
#include "runtime/jinja/values/compare.h"
#include "runtime/jinja/values/print.h"

namespace pc::jinja {
namespace {

Error unsupported_operands(std::string_view op, const Value& a, const Value& b) {
  for (const Value* v : {&a, &b})
    if (v->is(Kind::kUndefined)) return error(Code::kInvalidArgument, v->reason());
  return error(Code::kInvalidArgument, "unsupported operand type(s) for " + std::string(op) +
                                           ": '" + type_name(a) + "' and '" + type_name(b) + "'");
}

Error too_large() {
  return error(Code::kUnsupported, "an integer beyond 64 bits");
}

Error division_by_zero() {
  return error(Code::kInvalidArgument, "division by zero");
}

Result<Value> add(Runtime& runtime, const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) {
    std::int64_t sum;
    if (__builtin_add_overflow(a.integer, b.integer, &sum)) return too_large();
    return integer(sum);
  }
  if (a.is_number() && b.is_number()) return real(a.number() + b.number());
  if (a.is(Kind::kString) && b.is(Kind::kString)) {
    const bool is_markup = a.is_markup() || b.is_markup();
    const auto part = [is_markup](const Value& v) {
      return is_markup && !v.is_markup() ? escape_html(v.text()) : v.text();
    };
    PC_CHECK_OK(runtime.budget.spend_bytes(a.text().size() + b.text().size()));
    return make_string(&runtime.budget, part(a) + part(b), is_markup);
  }
  if (a.kind == b.kind && (a.is(Kind::kList) || a.is(Kind::kTuple))) {
    PC_CHECK_OK(runtime.budget.spend(a.items().size() + b.items().size()));
    std::vector<Value> all;
    all.reserve(a.items().size() + b.items().size());
    all.insert(all.end(), a.items().begin(), a.items().end());
    all.insert(all.end(), b.items().begin(), b.items().end());
    return a.is(Kind::kList) ? make_list(&runtime.budget, std::move(all))
                             : make_tuple(&runtime.budget, std::move(all));
  }
  return unsupported_operands("+", a, b);
}

Result<Value> repeat(Runtime& runtime, const Value& what, std::int64_t n) {
  n = std::max<std::int64_t>(n, 0);
  const std::size_t size = what.is(Kind::kString) ? what.text().size() : what.items().size();
  const std::size_t limit = runtime.budget.limits().live_bytes;
  if (size > 0 && static_cast<std::uint64_t>(n) > limit / size)
    return error(Code::kUnsupported, "repeats a value beyond the limit of memory");
  if (what.is(Kind::kString)) {
    PC_CHECK_OK(runtime.budget.spend_bytes(size * static_cast<std::size_t>(n)));
    std::string out;
    out.reserve(size * static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n && size > 0; ++i) out += what.text();
    return make_string(&runtime.budget, std::move(out), what.is_markup());
  }
  const std::size_t bytes = size * static_cast<std::size_t>(n) * sizeof(Value);
  PC_CHECK_OK(runtime.budget.reserve(bytes));  // before it is allocated
  runtime.budget.release(bytes);
  PC_CHECK_OK(runtime.budget.spend(size * static_cast<std::size_t>(n)));
  std::vector<Value> all;
  all.reserve(size * static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n && size > 0; ++i)
    all.insert(all.end(), what.items().begin(), what.items().end());
  return what.is(Kind::kList) ? make_list(&runtime.budget, std::move(all))
                              : make_tuple(&runtime.budget, std::move(all));
}

Result<Value> multiply(Runtime& runtime, const Value& a, const Value& b) {
  const auto is_sequence = [](const Value& v) {
    return v.is(Kind::kString) || v.is(Kind::kList) || v.is(Kind::kTuple);
  };
  if (a.is_integral() && b.is_integral()) {
    std::int64_t product;
    if (__builtin_mul_overflow(a.integer, b.integer, &product)) return too_large();
    return integer(product);
  }
  if (a.is_number() && b.is_number()) return real(a.number() * b.number());
  if (is_sequence(a) && b.is_integral()) return repeat(runtime, a, b.integer);
  if (is_sequence(b) && a.is_integral()) return repeat(runtime, b, a.integer);
  return unsupported_operands("*", a, b);
}

// Python's remainder has the sign of the divisor.
double float_remainder(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
  return rest == 0 ? std::copysign(0.0, b) : rest;
}

Result<Value> floor_divide(const Value& a, const Value& b) {
  if (b.number() == 0) return division_by_zero();
  if (!a.is_integral() || !b.is_integral()) {
    const double x = a.number(), y = b.number();
    return real(std::round((x - float_remainder(x, y)) / y));
  }
  if (b.integer == -1) {
    if (a.integer == std::numeric_limits<std::int64_t>::min()) return too_large();
    return integer(-a.integer);
  }
  const std::int64_t quotient = a.integer / b.integer;
  const bool rounds_down = a.integer % b.integer != 0 && (a.integer < 0) != (b.integer < 0);
  return integer(quotient - rounds_down);
}

Result<Value> remainder(const Value& a, const Value& b) {
  if (b.number() == 0) return division_by_zero();
  if (!a.is_integral() || !b.is_integral()) return real(float_remainder(a.number(), b.number()));
  if (b.integer == -1) return integer(0);
  const std::int64_t rest = a.integer % b.integer;
  return integer(rest != 0 && (rest < 0) != (b.integer < 0) ? rest + b.integer : rest);
}

Result<Value> integer_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) return too_large();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return too_large();
  }
  return integer(result);
}

Result<Value> power(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral() && b.integer >= 0)
    return integer_power(a.integer, b.integer);
  const double x = a.number(), y = b.number();
  if (x == 0 && y < 0)
    return error(Code::kInvalidArgument, "0.0 cannot be raised to a negative power");
  if (x < 0 && y != std::floor(y) && std::isfinite(y))
    return error(Code::kUnsupported, "a power that is a complex number");
  const double result = std::pow(x, y);
  if (std::isinf(result) && std::isfinite(x) && std::isfinite(y))
    return error(Code::kInvalidArgument, "Numerical result out of range");
  return real(result);
}

Result<Value> subtract(const Value& a, const Value& b) {
  if (!a.is_integral() || !b.is_integral()) return real(a.number() - b.number());
  std::int64_t difference;
  if (__builtin_sub_overflow(a.integer, b.integer, &difference)) return too_large();
  return integer(difference);
}

}  // namespace

Result<Value> binary(Runtime& runtime, std::string_view op, const Value& a, const Value& b) {
  if (op == "+") return add(runtime, a, b);
  if (op == "*") return multiply(runtime, a, b);
  if (op == "%" && a.is(Kind::kString)) return percent_format(runtime, a, b);
  if (!a.is_number() || !b.is_number()) return unsupported_operands(op, a, b);
  if (op == "-") return subtract(a, b);
  if (op == "//") return floor_divide(a, b);
  if (op == "%") return remainder(a, b);
  if (op == "**") return power(a, b);
  if (b.number() == 0) return division_by_zero();
  return real(a.number() / b.number());
}

Result<Value> unary(std::string_view op, const Value& a) {
  if (a.is(Kind::kUndefined)) return error(Code::kInvalidArgument, a.reason());
  if (!a.is_number())
    return error(Code::kInvalidArgument,
                 "bad operand type for unary " + std::string(op) + ": '" + type_name(a) + "'");
  if (a.is(Kind::kFloat)) return real(op == "-" ? -a.real : a.real);
  if (op == "+") return integer(a.integer);
  if (a.integer == std::numeric_limits<std::int64_t>::min()) return too_large();
  return integer(-a.integer);
}

Result<Value> concatenate(Runtime& runtime, const std::vector<Value>& parts) {
  std::string out;
  for (const Value& part : parts) {
    PC_TRY(const std::string text, to_str(&runtime.budget, part));
    out += text;
    if (out.size() > runtime.budget.limits().live_bytes)
      return error(Code::kUnsupported, "a string beyond the limit of memory");
  }
  return make_string(&runtime.budget, std::move(out));
}

Result<bool> compare_by(Runtime& runtime, std::string_view op, const Value& a, const Value& b) {
  PC_CHECK_OK(runtime.budget.spend(1 + std::min(a.weight(), b.weight())));
  if (op == "==") return equal(a, b);
  if (op == "!=") return !equal(a, b);
  if (op == "in" || op == "notin") {
    PC_CHECK_OK(runtime.budget.spend(b.is(Kind::kString) ? 1 : b.weight()));
    PC_TRY(const bool is_inside, contains(&runtime.budget, b, a));
    return is_inside == (op == "in");
  }
  PC_TRY(const int order, compare(a, b, std::string(op).c_str()));
  if (order == 2) return false;
  if (op == "<") return order < 0;
  if (op == "<=") return order <= 0;
  if (op == ">") return order > 0;
  return order >= 0;
}

}  // namespace pc::jinja
