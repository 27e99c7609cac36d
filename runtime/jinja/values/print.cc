#include "runtime/jinja/values/print.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/utf8.h"
#include "runtime/jinja/values/callable.h"
#include "runtime/jinja/values/unicode.h"

namespace pc::jinja {
namespace {

// Python writes exponents from 1e16 on, and below 1e-4.
constexpr int kFirstExponent = 16, kLastFraction = -4;

struct Printer {
  Budget* budget;
  std::string out;
  int depth = 0;  // namespaces can hold themselves

  Status add(const Value& value);
  Status add_sequence(std::string_view open, const std::vector<Value>& items,
                      std::string_view close);
  Status add_dict(const Dict& dict);
  Status add_namespace(Namespace& values);
  Status check() {
    if (out.size() > budget_bytes()) return error(Code::kUnsupported, "prints too long a value");
    return budget ? budget->spend(1) : ok();
  }
  std::size_t budget_bytes() const { return budget ? budget->limits().live_bytes : SIZE_MAX; }
};

Status Printer::add_sequence(std::string_view open, const std::vector<Value>& items,
                             std::string_view close) {
  out += open;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    PC_CHECK_OK(add(items[i]));
  }
  out += close;
  return ok();
}

Status Printer::add_dict(const Dict& dict) {
  out += '{';
  for (std::size_t i = 0; i < dict.entries.size(); ++i) {
    if (i > 0) out += ", ";
    PC_CHECK_OK(add(dict.entries[i].first));
    out += ": ";
    PC_CHECK_OK(add(dict.entries[i].second));
  }
  out += '}';
  return ok();
}

Status Printer::add_namespace(Namespace& values) {
  out += "<Namespace {";
  for (std::size_t i = 0; i < values.attributes.size(); ++i) {
    if (i > 0) out += ", ";
    out += string_repr(values.attributes[i].first) + ": ";
    PC_CHECK_OK(add(values.attributes[i].second));
  }
  out += "}>";
  return ok();
}

std::string range_repr(const Range& range) {
  std::string out = "range(" + std::to_string(range.start) + ", " + std::to_string(range.stop);
  return out + (range.step == 1 ? ")" : ", " + std::to_string(range.step) + ")");
}

Status Printer::add(const Value& value) {
  PC_CHECK_OK(check());
  if (++depth > kMaxValueDepth + 2)
    return error(Code::kUnsupported, "prints values nested too deep");
  Status done = ok();
  switch (value.kind) {
    case Kind::kMissing:
    case Kind::kUndefined:
      out += "Undefined";
      break;
    case Kind::kNone:
      out += "None";
      break;
    case Kind::kBool:
      out += value.integer ? "True" : "False";
      break;
    case Kind::kInt:
      out += std::to_string(value.integer);
      break;
    case Kind::kFloat:
      out += float_repr(value.real);
      break;
    case Kind::kString:
      out += value.is_markup() ? "Markup(" + string_repr(value.text()) + ")"
                               : string_repr(value.text());
      break;
    case Kind::kList:
      done = add_sequence("[", value.items(), "]");
      break;
    case Kind::kTuple:
      done = add_sequence("(", value.items(), value.items().size() == 1 ? ",)" : ")");
      break;
    case Kind::kView:
      done = add_sequence(type_name(value) + "([", value.items(), "])");
      break;
    case Kind::kDict:
      done = add_dict(value.dict());
      break;
    case Kind::kRange:
      out += range_repr(value.range());
      break;
    case Kind::kIterator:
      out += "<" + type_name(value) + " object>";
      break;
    case Kind::kNamespace:
      done = add_namespace(value.name_space());
      break;
    case Kind::kLoop:
    case Kind::kCallable: {
      PC_TRY(const std::string text, static_cast<Callable*>(value.object.get())->repr());
      out += text;
      break;
    }
  }
  --depth;
  return done;
}

bool fits_two_digits(char32_t c) {
  return c < 0x100;
}

}  // namespace

std::string float_repr(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  char digits[40];  // a sign, 17 digits, a point and "e-308"
  auto end = std::to_chars(digits, digits + sizeof digits, number, std::chars_format::scientific);
  const std::string scientific(digits, end.ptr);
  const int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
  if (exponent >= kFirstExponent || exponent < kLastFraction) return scientific;
  char fixed[400];  // 1e15 at most, and four zeros before 17 digits at least
  end = std::to_chars(fixed, fixed + sizeof fixed, number, std::chars_format::fixed);
  std::string out(fixed, end.ptr);
  if (out.find('.') == out.npos) out += ".0";
  return out;
}

std::string string_repr(std::string_view text) {
  const bool has_single = text.find('\'') != text.npos, has_double = text.find('"') != text.npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  std::string out(1, quote);
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = utf8_next(text, &at);
    char code[16];
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if (is_printable(c)) {
      utf8_append(c, &out);
    } else {
      const char* form = fits_two_digits(c) ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x";
      std::snprintf(code, sizeof code, form, static_cast<unsigned>(c));
      out += code;
    }
  }
  return out + quote;
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '"':
        out += "&#34;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

Result<std::string> to_repr(Budget* budget, const Value& value) {
  if (budget) PC_CHECK_OK(budget->spend(value.weight()));
  Printer printer{budget, {}};
  PC_CHECK_OK(printer.add(value));
  return std::move(printer.out);
}

Result<std::string> to_str(Budget* budget, const Value& value) {
  if (value.is(Kind::kString)) return value.text();
  if (value.is(Kind::kUndefined) || value.is(Kind::kMissing)) return std::string();
  return to_repr(budget, value);
}

}  // namespace pc::jinja
