// Methods of strings that give a string or an answer about one.
#include <array>
#include <cstring>

#include "base/utf8.h"
#include "runtime/jinja/library/format.h"
#include "runtime/jinja/library/methods.h"
#include "runtime/jinja/values/iterate.h"
#include "runtime/jinja/values/number_format.h"
#include "runtime/jinja/values/print.h"
#include "runtime/jinja/values/unicode.h"

namespace pc::jinja {
namespace {

Result<Value> like(Runtime& runtime, const Value& self, std::string text) {
  return make_string(&runtime.budget, std::move(text), self.is_markup());
}

// An argument that joins a safe text is escaped, unless it is safe itself.
std::string text_for(const Value& self, const Value& argument) {
  return self.is_markup() && !argument.is_markup() ? escape_html(argument.text()) : argument.text();
}

template <auto change>
Result<Value> changed(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::positional("str method", arguments, {}));
  PC_CHECK_OK(runtime.budget.spend_bytes(8 * self.text().size()));
  return like(runtime, self, change(self.text()));
}

template <Side side>
Result<Value> stripped(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::positional("strip", arguments, {"chars"}));
  if (!bound.has(0)) return like(runtime, self, std::string(strip(self.text(), side)));
  PC_TRY(const std::string set, bound.string(0, ""));
  PC_CHECK_OK(runtime.budget.spend(1 + self.text().size() * (set.size() + 1) / 16));
  return like(runtime, self, std::string(strip(self.text(), side, set)));
}

template <bool (*is)(char32_t)>
Result<Value> all_are(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::positional("str method", arguments, {}));
  PC_CHECK_OK(runtime.budget.spend_bytes(8 * self.text().size()));
  return boolean(all_of(self.text(), is));
}

bool is_alphanumeric(char32_t c) {
  return is_alpha(c) || is_numeric(c) || is_digit(c);
}

bool is_ascii(char32_t c) {
  return c < 0x80;
}

// Every cased character is of the one case, and there is one.
template <bool (*is)(char32_t), bool (*is_other)(char32_t)>
Result<Value> cased_are(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::positional("str method", arguments, {}));
  PC_CHECK_OK(runtime.budget.spend_bytes(8 * self.text().size()));
  bool found = false;
  for (std::size_t at = 0; at < self.text().size();) {
    const char32_t c = utf8_next(self.text(), &at);
    if (is_other(c) || is_title(c)) return boolean(false);
    found |= is(c);
  }
  return boolean(found);
}

Result<Value> is_titled(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::positional("istitle", arguments, {}));
  PC_CHECK_OK(runtime.budget.spend_bytes(8 * self.text().size()));
  bool found = false, inside = false;
  for (std::size_t at = 0; at < self.text().size();) {
    const char32_t c = utf8_next(self.text(), &at);
    const bool is_capital = is_upper(c) || is_title(c);
    if (is_capital ? inside : is_lower(c) && !inside) return boolean(false);
    inside = is_capital || is_lower(c);
    found |= inside;
  }
  return boolean(found);
}

bool is_identifier_text(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return all_of(text, is_word);
}

Result<Value> is_identifier(Runtime&, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::positional("isidentifier", arguments, {}));
  return boolean(is_identifier_text(self.text()));
}

Result<Value> is_printable_text(Runtime& runtime, const Value& self, const Arguments& arguments) {
  if (self.text().empty()) return boolean(true);
  return all_are<is_printable>(runtime, self, arguments);
}

Result<Value> is_ascii_text(Runtime& runtime, const Value& self, const Arguments& arguments) {
  if (self.text().empty()) return boolean(true);
  return all_are<is_ascii>(runtime, self, arguments);
}

// A part of the text by Python's bounds, in bytes.
struct Part {
  std::size_t first = 0;
  std::string_view text;
  bool exists = true;  // the bounds do not cross
};

Result<Part> part_of(const Value& self, const Bound& bound) {
  PC_TRY(const std::int64_t n, length_of(self));
  const auto bound_at = [&](std::size_t i, std::int64_t fallback) -> Result<std::int64_t> {
    if (!bound.has(i)) return fallback;
    PC_TRY(const std::int64_t at, bound.integer(i, 0));
    return at < 0 ? std::max<std::int64_t>(0, at + n) : at;
  };
  PC_TRY(const std::int64_t start, bound_at(1, 0));
  PC_TRY(const std::int64_t stop, bound_at(2, n));
  const std::int64_t end = std::min(stop, n);
  if (start > end) return Part{0, {}, false};
  const std::string_view text = self.text();
  const std::size_t first = byte_of(text, static_cast<std::size_t>(start));
  const std::size_t size = byte_of(text.substr(first), static_cast<std::size_t>(end - start));
  return Part{first, text.substr(first, size), true};
}

template <bool at_start>
Result<Value> is_edged_by(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const char* name = at_start ? "startswith" : "endswith";
  PC_TRY(const Bound bound, Bound::positional(name, arguments, {"affix", "start", "end"}, 1));
  PC_CHECK_OK(runtime.budget.spend_bytes(self.text().size()));
  PC_TRY(const Part part, part_of(self, bound));
  const std::vector<Value> one = {*bound.get(0)};
  for (const Value& affix : bound.get(0)->is(Kind::kTuple) ? bound.get(0)->items() : one) {
    if (affix.is(Kind::kUndefined)) return error(Code::kInvalidArgument, affix.reason());
    if (!affix.is(Kind::kString))
      return error(
          Code::kInvalidArgument,
          std::string(name) + " first arg must be str or a tuple of str, not " + type_name(affix));
    const std::string& text = affix.text();
    if (part.exists && (at_start ? part.text.starts_with(text) : part.text.ends_with(text)))
      return boolean(true);
  }
  return boolean(false);
}

// Linear, which std::string_view::find is not.
std::size_t find_in(std::string_view text, std::string_view what) {
  const void* found = memmem(text.data(), text.size(), what.data(), what.size());
  return found ? static_cast<std::size_t>(static_cast<const char*>(found) - text.data())
               : text.npos;
}

// The last place: the first one of everything turned around.
std::size_t find_last_in(std::string_view text, std::string_view what) {
  const std::string turned_text(text.rbegin(), text.rend());
  const std::string turned_what(what.rbegin(), what.rend());
  const std::size_t at = find_in(turned_text, turned_what);
  return at == text.npos ? at : text.size() - at - what.size();
}

template <bool from_left, bool must_exist>
Result<Value> found_at(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::positional("find", arguments, {"sub", "start", "end"}, 1));
  PC_CHECK_OK(runtime.budget.spend_bytes(2 * self.text().size()));
  PC_TRY(const std::string what, bound.string(0, ""));
  PC_TRY(const Part part, part_of(self, bound));
  const std::size_t at = !part.exists ? std::string_view::npos
                         : from_left  ? find_in(part.text, what)
                                      : find_last_in(part.text, what);
  if (at != std::string_view::npos)
    return integer(static_cast<std::int64_t>(
        n_characters(std::string_view(self.text()).substr(0, part.first + at))));
  if (must_exist) return error(Code::kInvalidArgument, "substring not found");
  return integer(-1);
}

Result<Value> count(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::positional("count", arguments, {"sub", "start", "end"}, 1));
  PC_CHECK_OK(runtime.budget.spend_bytes(self.text().size()));
  PC_TRY(const std::string what, bound.string(0, ""));
  PC_TRY(const Part part, part_of(self, bound));
  if (!part.exists) return integer(0);
  if (what.empty()) return integer(static_cast<std::int64_t>(n_characters(part.text)) + 1);
  std::int64_t n = 0;
  std::string_view rest = part.text;
  for (std::size_t at; (at = find_in(rest, what)) != rest.npos; ++n)
    rest.remove_prefix(at + what.size());
  return integer(n);
}

Result<Value> replace(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::positional("replace", arguments, {"old", "new", "count"}, 2));
  PC_TRY(const std::string from, bound.string(0, ""));
  PC_TRY([[maybe_unused]] const std::string to, bound.string(1, ""));
  PC_TRY(const std::int64_t count, bound.integer(2, -1));
  PC_TRY(std::string text,
         replaced(runtime, self.text(), from, text_for(self, *bound.get(1)), count));
  return like(runtime, self, std::move(text));
}

template <char align>
Result<Value> padded(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::positional("just", arguments, {"width", "fillchar"}, 1));
  PC_TRY(const std::int64_t width, bound.integer(0, 0));
  PC_TRY(const std::string fill, bound.string(1, " "));
  if (n_characters(fill) != 1)
    return error(Code::kInvalidArgument, "The fill character must be exactly one character long");
  if (width > kMaxFormatWidth) return error(Code::kUnsupported, "a width of more than 100000");
  if (align != '^') return like(runtime, self, pad(self.text(), width, align, fill));
  PC_TRY(const std::int64_t n, length_of(self));
  return like(runtime, self, centered(self.text(), n, width, fill));
}

Result<Value> zero_filled(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::positional("zfill", arguments, {"width"}, 1));
  PC_TRY(const std::int64_t width, bound.integer(0, 0));
  if (width > kMaxFormatWidth) return error(Code::kUnsupported, "a width of more than 100000");
  const bool has_space = self.text().starts_with(' ');
  return like(runtime, self, pad(self.text(), width, has_space ? '>' : '=', "0"));
}

Result<Value> remove_prefix(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::positional("removeprefix", arguments, {"prefix"}, 1));
  PC_TRY(const std::string prefix, bound.string(0, ""));
  const bool has = self.text().starts_with(prefix);
  return like(runtime, self, has ? self.text().substr(prefix.size()) : self.text());
}

Result<Value> remove_suffix(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::positional("removesuffix", arguments, {"suffix"}, 1));
  PC_TRY(const std::string suffix, bound.string(0, ""));
  const bool has = self.text().ends_with(suffix);
  return like(runtime, self,
              has ? self.text().substr(0, self.text().size() - suffix.size()) : self.text());
}

Result<Value> expand_tabs(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("expandtabs", arguments, {"tabsize"}));
  PC_TRY(const std::int64_t size, bound.integer(0, 8));
  if (size > 1000) return error(Code::kUnsupported, "a tab of more than 1000 columns");
  std::string out;
  std::int64_t column = 0;
  for (std::size_t at = 0; at < self.text().size();) {
    const char32_t c = utf8_next(self.text(), &at);
    if (c == '\t') {
      const std::int64_t n = size > 0 ? size - column % size : 0;
      PC_CHECK_OK(runtime.budget.spend(1 + static_cast<std::uint64_t>(n)));
      out.append(static_cast<std::size_t>(n), ' ');
      column += n;
      continue;
    }
    utf8_append(c, &out);
    column = c == '\n' || c == '\r' ? 0 : column + 1;
  }
  return like(runtime, self, std::move(out));
}

Result<Value> join(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::positional("join", arguments, {"iterable"}, 1));
  PC_TRY(const std::vector<Value> parts, elements(&runtime.budget, *bound.get(0)));
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].is(Kind::kString))
      return error(Code::kInvalidArgument, "sequence item " + std::to_string(i) +
                                               ": expected str instance, " + type_name(parts[i]) +
                                               " found");
    if (i > 0) out += self.text();
    out += text_for(self, parts[i]);
    PC_CHECK_OK(runtime.budget.spend_bytes(parts[i].text().size() + self.text().size()));
    if (out.size() > runtime.budget.limits().live_bytes)
      return error(Code::kUnsupported, "a string beyond the limit of memory");
  }
  return like(runtime, self, std::move(out));
}

Result<Value> format(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return brace_format(runtime, self, arguments);
}

Result<Value> format_map(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::positional("format_map", arguments, {"mapping"}, 1));
  Arguments named;
  if (!bound.get(0)->is(Kind::kDict))
    return error(Code::kInvalidArgument, "format_map() wants a dict");
  for (const auto& [key, value] : bound.get(0)->dict().entries)
    if (key.is(Kind::kString)) named.named.emplace_back(key.text(), value);
  return brace_format(runtime, self, named);
}

constexpr std::array<Method, 39> kMethods = {{
    {"strip", stripped<Side::kBoth>},
    {"lstrip", stripped<Side::kLeft>},
    {"rstrip", stripped<Side::kRight>},
    {"startswith", is_edged_by<true>},
    {"endswith", is_edged_by<false>},
    {"replace", replace},
    {"upper", changed<to_upper>},
    {"lower", changed<to_lower>},
    {"title", changed<to_title>},
    {"capitalize", changed<capitalize>},
    {"casefold", changed<to_lower>},
    {"swapcase", changed<swap_case>},
    {"find", found_at<true, false>},
    {"rfind", found_at<false, false>},
    {"index", found_at<true, true>},
    {"rindex", found_at<false, true>},
    {"count", count},
    {"join", join},
    {"format", format},
    {"format_map", format_map},
    {"removeprefix", remove_prefix},
    {"removesuffix", remove_suffix},
    {"ljust", padded<'<'>},
    {"rjust", padded<'>'>},
    {"center", padded<'^'>},
    {"zfill", zero_filled},
    {"expandtabs", expand_tabs},
    {"isalpha", all_are<is_alpha>},
    {"isdigit", all_are<is_digit>},
    {"isdecimal", all_are<is_decimal>},
    {"isnumeric", all_are<is_numeric>},
    {"isalnum", all_are<is_alphanumeric>},
    {"isspace", all_are<is_space>},
    {"isprintable", is_printable_text},
    {"isascii", is_ascii_text},
    {"isupper", cased_are<is_upper, is_lower>},
    {"islower", cased_are<is_lower, is_upper>},
    {"istitle", is_titled},
    {"isidentifier", is_identifier},
}};

}  // namespace

std::string centered(const std::string& text, std::int64_t n, std::int64_t width,
                     std::string_view fill) {
  if (n >= width) return text;
  // An odd rest goes to the left where the width is odd, as Python has it.
  const std::int64_t missing = width - n;
  const std::int64_t left = missing / 2 + (missing & width & 1);
  return pad(pad(text, n + left, '>', fill), width, '<', fill);
}

Result<std::string> replaced(Runtime& runtime, std::string_view text, std::string_view from,
                             std::string_view to, std::int64_t count) {
  std::string out;
  const auto append = [&](std::string_view part) -> Status {
    out += part;
    if (out.size() > runtime.budget.limits().live_bytes)
      return error(Code::kUnsupported, "a string beyond the limit of memory");
    return runtime.budget.spend_bytes(part.size());
  };
  for (std::int64_t n = 0; count < 0 || n < count; ++n) {
    if (from.empty()) {  // in front of each character, and at the end
      PC_CHECK_OK(append(to));
      if (text.empty()) return out;
      const std::size_t size = utf8_length(text[0]);
      PC_CHECK_OK(append(text.substr(0, size)));
      text.remove_prefix(size);
      continue;
    }
    const std::size_t at = find_in(text, from);
    if (at == text.npos) break;
    PC_CHECK_OK(append(text.substr(0, at)));
    PC_CHECK_OK(append(to));
    text.remove_prefix(at + from.size());
  }
  PC_CHECK_OK(append(text));
  return out;
}

std::span<const Method> string_methods() {
  return kMethods;
}

}  // namespace pc::jinja
