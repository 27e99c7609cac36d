#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/utf8.h"
#include "runtime/jinja/library/access.h"
#include "runtime/jinja/library/format.h"
#include "runtime/jinja/values/number_format.h"
#include "runtime/jinja/values/print.h"
#include "runtime/jinja/values/unicode.h"

namespace pc::jinja {
namespace {

// [[fill]align][sign][#][0][width][grouping][.precision][type]
struct Spec {
  std::string fill = " ";
  char align = '\0', sign = '-', separator = '\0', type = '\0';
  bool alternate = false, zero = false;
  std::int64_t width = 0;
  int precision = -1;
};

bool is_one_of(char c, std::string_view set) {
  return set.find(c) != set.npos;
}

Error invalid_spec() {
  return error(Code::kInvalidArgument, "Invalid format specifier");
}

Result<std::int64_t> take_number(std::string_view* rest) {
  std::int64_t n = 0;
  const auto end = std::from_chars(rest->data(), rest->data() + rest->size(), n);
  if (end.ec == std::errc::result_out_of_range || n > kMaxFormatWidth)
    return error(Code::kUnsupported, "a width of more than 100000");
  rest->remove_prefix(static_cast<std::size_t>(end.ptr - rest->data()));
  return n;
}

Result<Spec> parse_spec(std::string_view rest) {
  Spec spec;
  const std::size_t first = rest.empty() ? 0 : utf8_length(rest[0]);
  if (first < rest.size() && is_one_of(rest[first], "<>=^")) {
    spec.fill = rest.substr(0, first);
    spec.align = rest[first];
    rest.remove_prefix(first + 1);
  } else if (!rest.empty() && is_one_of(rest[0], "<>=^")) {
    spec.align = rest[0];
    rest.remove_prefix(1);
  }
  const auto take = [&rest](std::string_view set) {
    if (rest.empty() || !is_one_of(rest[0], set)) return '\0';
    const char c = rest[0];
    rest.remove_prefix(1);
    return c;
  };
  if (const char sign = take("+- ")) spec.sign = sign;
  spec.alternate = take("#") != '\0';
  spec.zero = take("0") != '\0';
  if (!rest.empty() && is_one_of(rest[0], "0123456789")) {
    PC_TRY(spec.width, take_number(&rest));
  }
  spec.separator = take(",_");
  if (take(".")) {
    if (rest.empty() || !is_one_of(rest[0], "0123456789"))
      return error(Code::kInvalidArgument, "Format specifier missing precision");
    PC_TRY(const std::int64_t precision, take_number(&rest));
    spec.precision = static_cast<int>(precision);
  }
  spec.type = take("bcdeEfFgGnosxX%");
  if (!rest.empty()) return invalid_spec();
  return spec;
}

std::string with_sign(std::string digits, bool is_negative, char sign) {
  if (is_negative) return "-" + digits;
  return sign == '-' ? digits : sign + digits;
}

Result<std::string> finish(const Spec& spec, std::string text, char default_align) {
  const char align = spec.align                          ? spec.align
                     : spec.zero && default_align == '>' ? '='
                                                         : default_align;
  const bool zeros = spec.zero && spec.fill == " ";
  return pad(std::move(text), spec.width, align, zeros ? "0" : spec.fill);
}

Result<std::string> format_string(const Spec& spec, std::string text) {
  if (spec.type && spec.type != 's')
    return error(Code::kInvalidArgument,
                 std::string("Unknown format code '") + spec.type + "' for object of type 'str'");
  if (spec.sign != '-' || spec.alternate || spec.separator || spec.align == '=')
    return invalid_spec();
  if (spec.precision >= 0 && spec.precision < static_cast<int>(n_characters(text)))
    text.resize(byte_of(text, static_cast<std::size_t>(spec.precision)));
  return finish(spec, std::move(text), '<');
}

Result<std::string> format_integer(const Spec& spec, std::int64_t number) {
  if (spec.precision >= 0)
    return error(Code::kInvalidArgument, "Precision not allowed in integer format specifier");
  std::string digits = format_digits(number, spec.type ? spec.type : 'd');
  if (spec.type == 'c') return error(Code::kUnsupported, "the format code 'c'");
  const bool is_decimal = spec.type == '\0' || spec.type == 'd' || spec.type == 'n';
  if (spec.separator)
    digits = with_separators(std::move(digits), spec.separator, is_decimal ? 3 : 4);
  if (spec.alternate && !is_decimal) digits = std::string("0") + spec.type + digits;
  return finish(spec, with_sign(std::move(digits), number < 0, spec.sign), '>');
}

// Without a type: as repr, or 'g' with a precision, but always with a fraction.
std::string plain_float(const Spec& spec, double number) {
  if (spec.precision < 0) return float_repr(number);
  std::string text = format_float(number, 'g', spec.precision == 0 ? 1 : spec.precision, false);
  if (std::isfinite(number) && text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

Result<std::string> format_real(const Spec& spec, double number) {
  if (is_one_of(spec.type, "bcdosxX") && spec.type)
    return error(Code::kInvalidArgument,
                 std::string("Unknown format code '") + spec.type + "' for object of type 'float'");
  const double magnitude = std::fabs(number) * (spec.type == '%' ? 100 : 1);
  std::string text;
  if (!spec.type)
    text = plain_float(spec, magnitude);
  else
    text = format_float(magnitude,
                        spec.type == '%'   ? 'f'
                        : spec.type == 'n' ? 'g'
                                           : spec.type,
                        spec.precision < 0 ? 6 : spec.precision, spec.alternate);
  if (spec.separator) text = with_separators(std::move(text), spec.separator, 3);
  if (spec.type == '%') text += '%';
  return finish(spec, with_sign(std::move(text), std::signbit(number), spec.sign), '>');
}

class BraceFormatter {
 public:
  BraceFormatter(Runtime* runtime, const Arguments& arguments)
      : runtime_(runtime), arguments_(arguments) {}

  // `depth`: a spec may hold fields, whose specs may not.
  Result<std::string> run(std::string_view form, bool escapes, int depth = 0);

 private:
  Result<std::string> field(std::string_view field, bool escapes, int depth);
  Result<Value> argument(std::string_view path);
  Result<Value> first_argument(std::string_view name);

  Runtime* runtime_;
  const Arguments& arguments_;
  std::int64_t automatic_ = 0;  // the next {} takes this argument; -1: fields have numbers
};

Result<Value> BraceFormatter::first_argument(std::string_view name) {
  std::int64_t index = 0;
  const auto end = std::from_chars(name.data(), name.data() + name.size(), index);
  const bool is_number =
      !name.empty() && end.ec == std::errc() && end.ptr == name.data() + name.size();
  if (!name.empty() && !is_number) {
    if (const Value* value = arguments_.find(name)) return *value;
    return error(Code::kInvalidArgument, "no argument " + string_repr(name) + " to format");
  }
  if ((is_number && automatic_ > 0) || (name.empty() && automatic_ < 0))
    return error(Code::kInvalidArgument,
                 "cannot switch between automatic field numbering and manual field specification");
  if (is_number)
    automatic_ = -1;
  else
    index = automatic_++;
  if (index >= 0 && index < static_cast<std::int64_t>(arguments_.positional.size()))
    return arguments_.positional[static_cast<std::size_t>(index)];
  return error(Code::kInvalidArgument, "Replacement index " + std::to_string(index) +
                                           " out of range for positional args tuple");
}

Result<Value> BraceFormatter::argument(std::string_view path) {
  std::size_t at = std::min(path.find_first_of(".["), path.size());
  PC_TRY(Value value, first_argument(path.substr(0, at)));
  while (at < path.size()) {
    if (path[at] == '.') {
      const std::size_t end = std::min(path.find_first_of(".[", at + 1), path.size());
      if (end == at + 1) return error(Code::kInvalidArgument, "Empty attribute in format string");
      PC_TRY(value, get_attribute(*runtime_, value, path.substr(at + 1, end - at - 1)));
      at = end;
      continue;
    }
    const std::size_t end = path.find(']', at);
    if (end == path.npos) return error(Code::kInvalidArgument, "Missing ']' in format string");
    const std::string_view key = path.substr(at + 1, end - at - 1);
    std::int64_t number = 0;
    const auto parsed = std::from_chars(key.data(), key.data() + key.size(), number);
    const bool is_number = !key.empty() && parsed.ptr == key.data() + key.size();
    PC_TRY(Value name, make_string(&runtime_->budget, std::string(key)));
    PC_TRY(value, get_item(*runtime_, value, is_number ? integer(number) : name));
    at = end + 1;
  }
  return value;
}

Result<std::string> BraceFormatter::field(std::string_view field, bool escapes, int depth) {
  const std::size_t colon = std::min(field.find(':'), field.size());
  std::string_view path = field.substr(0, colon);
  const std::size_t bang = path.find('!');
  const std::string_view conversion = bang == path.npos ? "" : path.substr(bang + 1);
  path = path.substr(0, bang);
  PC_TRY(Value value, argument(path));
  if (!conversion.empty() || bang != std::string_view::npos) {
    if (conversion != "r" && conversion != "s" && conversion != "a")
      return error(Code::kInvalidArgument, "Unknown conversion specifier");
    PC_TRY(std::string text, conversion == "s" ? to_str(&runtime_->budget, value)
                                               : to_repr(&runtime_->budget, value));
    PC_TRY(value, make_string(&runtime_->budget, std::move(text)));
  }
  PC_TRY(const std::string spec,
         run(colon < field.size() ? field.substr(colon + 1) : "", false, depth + 1));
  PC_TRY(std::string text, format_by_spec(*runtime_, value, spec));
  return escapes && !value.is_markup() ? escape_html(text) : text;
}

Result<std::string> BraceFormatter::run(std::string_view form, bool escapes, int depth) {
  std::string out;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const char c = form[i];
    if (c != '{' && c != '}') {
      out += c;
      continue;
    }
    if (i + 1 < form.size() && form[i + 1] == c && depth == 0) {
      out += c;
      ++i;
      continue;
    }
    if (c == '}') return error(Code::kInvalidArgument, "Single '}' encountered in format string");
    std::size_t end = i + 1;
    for (int open = 1; end < form.size(); ++end) {
      open += form[end] == '{' ? 1 : form[end] == '}' ? -1 : 0;
      if (open == 0) break;
    }
    if (end == form.size())
      return error(Code::kInvalidArgument, "expected '}' before end of string");
    if (depth > 1) return error(Code::kInvalidArgument, "Max string recursion exceeded");
    PC_TRY(const std::string text, field(form.substr(i + 1, end - i - 1), escapes, depth));
    PC_CHECK_OK(runtime_->budget.spend_bytes(text.size()));
    out += text;
    if (out.size() > runtime_->budget.limits().live_bytes)
      return error(Code::kUnsupported, "a string beyond the limit of memory");
    i = end;
  }
  return out;
}

}  // namespace

Result<std::string> format_by_spec(Runtime& runtime, const Value& value, std::string_view text) {
  if (text.empty()) return to_str(&runtime.budget, value);
  PC_TRY(const Spec spec, parse_spec(text));
  if (value.is(Kind::kString)) return format_string(spec, value.text());
  if (value.is(Kind::kFloat)) return format_real(spec, value.real);
  if (value.is_integral()) {
    if (value.is(Kind::kBool) && (spec.type == 's' || !spec.type))
      return spec.type ? format_string(spec, value.integer ? "True" : "False")
                       : format_integer(spec, value.integer);
    if (is_one_of(spec.type, "eEfFgG%") && spec.type) return format_real(spec, value.number());
    return spec.type == 's'
               ? error(Code::kInvalidArgument, "Unknown format code 's' for object of type 'int'")
               : format_integer(spec, value.integer);
  }
  return error(Code::kInvalidArgument,
               "unsupported format string passed to " + type_name(value) + ".__format__");
}

Result<Value> brace_format(Runtime& runtime, const Value& form, const Arguments& arguments) {
  BraceFormatter formatter(&runtime, arguments);
  PC_TRY(std::string text, formatter.run(form.text(), form.is_markup()));
  return make_string(&runtime.budget, std::move(text), form.is_markup());
}

}  // namespace pc::jinja
