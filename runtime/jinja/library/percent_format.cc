#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "runtime/jinja/library/format.h"
#include "runtime/jinja/values/number_format.h"
#include "runtime/jinja/values/print.h"
#include "runtime/jinja/values/unicode.h"

namespace pc::jinja {
namespace {

struct Field {
  bool left = false, zero = false, plus = false, space = false, alternate = false;
  std::int64_t width = 0;
  std::int64_t precision = -1;
  char type = 's';
};

class PercentFormatter {
 public:
  PercentFormatter(Runtime* runtime, const Value& form, const Value& arguments)
      : runtime_(runtime), form_(form), rest_(form.text()), arguments_(arguments) {}

  Result<Value> run();

 private:
  Result<Value> next_argument();
  Result<Value> named_argument();
  Result<std::int64_t> number();  // digits, or * for an argument
  Result<Field> field();
  Result<std::string> formatted(const Field& field, const Value& value);
  Result<std::string> text_of(const Field& field, const Value& value);
  Result<std::string> integer_of(const Field& field, const Value& value);
  Result<std::string> float_of(const Field& field, const Value& value);
  Error incomplete() const { return error(Code::kInvalidArgument, "incomplete format"); }

  Runtime* runtime_;
  const Value& form_;
  std::string_view rest_;
  const Value& arguments_;
  std::size_t used_ = 0;
  bool uses_names_ = false;
};

Result<Value> PercentFormatter::next_argument() {
  const bool is_tuple = arguments_.is(Kind::kTuple);
  if (used_ < (is_tuple ? arguments_.items().size() : 1))
    return is_tuple ? arguments_.items()[used_++] : (++used_, arguments_);
  return error(Code::kInvalidArgument, "not enough arguments for format string");
}

Result<Value> PercentFormatter::named_argument() {
  if (!arguments_.is(Kind::kDict))
    return error(Code::kInvalidArgument, "format requires a mapping");
  const std::size_t close = rest_.find(')');
  if (close == rest_.npos) return error(Code::kInvalidArgument, "incomplete format key");
  const std::string_view name = rest_.substr(1, close - 1);
  rest_.remove_prefix(close + 1);
  uses_names_ = true;
  if (const Value* value = arguments_.dict().find(name)) return *value;
  return error(Code::kInvalidArgument, "no key " + string_repr(name) + " to format");
}

Result<std::int64_t> PercentFormatter::number() {
  if (rest_.starts_with('*')) {
    rest_.remove_prefix(1);
    PC_TRY(const Value value, next_argument());
    if (!value.is_integral()) return error(Code::kInvalidArgument, "* wants int");
    return std::clamp<std::int64_t>(value.integer, -kMaxFormatWidth, kMaxFormatWidth);
  }
  std::int64_t n = 0;
  while (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9') {
    n = std::min(n * 10 + (rest_[0] - '0'), kMaxFormatWidth + 1);
    rest_.remove_prefix(1);
  }
  if (n > kMaxFormatWidth) return error(Code::kUnsupported, "a width of more than 100000");
  return n;
}

Result<Field> PercentFormatter::field() {
  Field field;
  for (; !rest_.empty(); rest_.remove_prefix(1)) {
    if (rest_[0] == '-')
      field.left = true;
    else if (rest_[0] == '0')
      field.zero = true;
    else if (rest_[0] == '+')
      field.plus = true;
    else if (rest_[0] == ' ')
      field.space = true;
    else if (rest_[0] == '#')
      field.alternate = true;
    else
      break;
  }
  PC_TRY(field.width, number());
  if (field.width < 0) {
    field.left = true;
    field.width = -field.width;
  }
  if (rest_.starts_with('.')) {
    rest_.remove_prefix(1);
    PC_TRY(field.precision, number());
  }
  while (rest_.starts_with('l') || rest_.starts_with('h') || rest_.starts_with('L'))
    rest_.remove_prefix(1);
  if (rest_.empty()) return incomplete();
  field.type = rest_[0];
  return field;
}

Result<std::string> PercentFormatter::text_of(const Field& field, const Value& value) {
  std::string text;
  if (field.type == 'c' && value.is_integral()) {
    if (value.integer < 0 || value.integer > 0x10FFFF ||
        (value.integer >= 0xD800 && value.integer <= 0xDFFF))
      return error(Code::kInvalidArgument, "%c arg not in range(0x110000)");
    utf8_append(static_cast<char32_t>(value.integer), &text);
    return text;
  }
  if (field.type == 'c' && (!value.is(Kind::kString) || n_characters(value.text()) != 1))
    return error(Code::kInvalidArgument, "%c requires int or char");
  PC_TRY(text, field.type == 'r' || field.type == 'a' ? to_repr(&runtime_->budget, value)
                                                      : to_str(&runtime_->budget, value));
  if (form_.is_markup() && !value.is_markup() && !value.is_number()) text = escape_html(text);
  if (field.precision >= 0 && field.precision < static_cast<std::int64_t>(n_characters(text)))
    text.resize(byte_of(text, static_cast<std::size_t>(field.precision)));
  return text;
}

Result<std::string> PercentFormatter::integer_of(const Field& field, const Value& value) {
  if (value.is(Kind::kUndefined)) return error(Code::kInvalidArgument, value.reason());
  const bool is_decimal = field.type == 'd' || field.type == 'i' || field.type == 'u';
  if (!value.is_integral() && !(is_decimal && value.is(Kind::kFloat)))
    return error(
        Code::kInvalidArgument,
        std::string("%") + field.type + " format: a number is required, not " + type_name(value));
  std::int64_t number = value.integer;
  if (value.is(Kind::kFloat)) {
    if (!(std::fabs(value.real) < 9.2e18))
      return error(Code::kUnsupported, "a number beyond 64 bits");
    number = static_cast<std::int64_t>(value.real);
  }
  std::string digits = format_digits(number, is_decimal ? 'd' : field.type);
  if (field.precision > static_cast<std::int64_t>(digits.size()))
    digits.insert(0, static_cast<std::size_t>(field.precision) - digits.size(), '0');
  if (field.alternate && !is_decimal) digits = std::string("0") + field.type + digits;
  return (number < 0 ? "-" : "") + digits;
}

Result<std::string> PercentFormatter::float_of(const Field& field, const Value& value) {
  if (value.is(Kind::kUndefined)) return error(Code::kInvalidArgument, value.reason());
  if (!value.is_number())
    return error(Code::kInvalidArgument, "must be real number, not " + type_name(value));
  const int precision = field.precision < 0 ? 6 : static_cast<int>(field.precision);
  return format_float(value.number(), field.type, precision, field.alternate);
}

Result<std::string> PercentFormatter::formatted(const Field& field, const Value& value) {
  constexpr std::string_view kTexts = "src", kIntegers = "diuxXo", kFloats = "eEfFgG";
  const bool is_text = kTexts.find(field.type) != kTexts.npos || field.type == 'a';
  std::string text;
  if (is_text) {
    PC_TRY(text, text_of(field, value));
  } else if (kIntegers.find(field.type) != kIntegers.npos) {
    PC_TRY(text, integer_of(field, value));
  } else if (kFloats.find(field.type) != kFloats.npos) {
    PC_TRY(text, float_of(field, value));
  } else {
    return error(Code::kInvalidArgument,
                 std::string("unsupported format character '") + field.type + "'");
  }
  if (!is_text && text[0] != '-' && (field.plus || field.space))
    text.insert(0, 1, field.plus ? '+' : ' ');
  const bool zeros = field.zero && !field.left && !is_text;
  return pad(std::move(text), field.width, field.left ? '<' : zeros ? '=' : '>', zeros ? "0" : " ");
}

Result<Value> PercentFormatter::run() {
  std::string out;
  while (!rest_.empty()) {
    const std::size_t percent = std::min(rest_.find('%'), rest_.size());
    out += rest_.substr(0, percent);
    rest_.remove_prefix(percent);
    if (rest_.empty()) break;
    rest_.remove_prefix(1);
    if (rest_.empty()) return incomplete();
    if (rest_[0] == '%') {
      out += '%';
      rest_.remove_prefix(1);
      continue;
    }
    std::optional<Value> named;
    if (rest_[0] == '(') {
      PC_TRY(named, named_argument());
    }
    PC_TRY(const Field one, field());
    rest_.remove_prefix(1);
    if (!named) {
      PC_TRY(named, next_argument());
    }
    PC_TRY(const std::string text, formatted(one, *named));
    PC_CHECK_OK(runtime_->budget.spend_bytes(text.size()));
    out += text;
    if (out.size() > runtime_->budget.limits().live_bytes)
      return error(Code::kUnsupported, "a string beyond the limit of memory");
  }
  // Python's test for a dictionary is that it can be indexed.
  const bool may_be_unused = arguments_.is(Kind::kDict) || arguments_.is(Kind::kList) ||
                             arguments_.is(Kind::kRange) || arguments_.is(Kind::kUndefined);
  const std::size_t n_given = arguments_.is(Kind::kTuple) ? arguments_.items().size() : 1;
  if (!may_be_unused && used_ < n_given)
    return error(Code::kInvalidArgument, "not all arguments converted during string formatting");
  return make_string(&runtime_->budget, std::move(out), form_.is_markup());
}

}  // namespace

Result<Value> percent_format(Runtime& runtime, const Value& form, const Value& arguments) {
  return PercentFormatter(&runtime, form, arguments).run();
}

}  // namespace pc::jinja
