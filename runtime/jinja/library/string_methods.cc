// Methods of strings that give a string or an answer about one.
#include <algorithm>
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

constexpr std::array<Method, 17> kMethods = {{
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
    {"find", found_at<true, false>},
    {"rfind", found_at<false, false>},
    {"index", found_at<true, true>},
    {"rindex", found_at<false, true>},
    {"count", count},
    {"join", join},
    {"format", format},
}};

}  // namespace

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
