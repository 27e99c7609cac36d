// Filters that make a text of a text, and those that mark it as safe HTML.
#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "runtime/jinja/library/access.h"
#include "runtime/jinja/library/filters.h"
#include "runtime/jinja/library/format.h"
#include "runtime/jinja/library/json.h"
#include "runtime/jinja/values/iterate.h"
#include "runtime/jinja/values/number_format.h"
#include "runtime/jinja/values/print.h"
#include "runtime/jinja/values/unicode.h"

namespace pc::jinja {
namespace {

template <auto change>
Result<Value> changed(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("filter", arguments, {}));
  PC_TRY(const Value text, soft_string(runtime, self));
  PC_CHECK_OK(runtime.budget.spend_bytes(8 * text.text().size()));
  return make_string(&runtime.budget, change(text.text()), text.is_markup());
}

bool starts_word(char32_t c) {
  return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || is_space(c);
}

// The first character of each word in upper case, the rest in lower.
Result<Value> title(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("title", arguments, {}));
  PC_TRY(const Value text, soft_string(runtime, self));
  PC_CHECK_OK(runtime.budget.spend_bytes(8 * text.text().size()));
  std::string_view rest = text.text();
  std::string out;
  while (!rest.empty()) {
    std::size_t first = 0;
    const bool is_word = !starts_word(utf8_next(rest, &first));
    std::size_t end = first;
    for (std::size_t next = end;
         end < rest.size() && starts_word(utf8_next(rest, &next)) != is_word; end = next) {
    }
    out += to_upper(rest.substr(0, first)) + to_lower(rest.substr(first, end - first));
    rest.remove_prefix(end);
  }
  return make_string(&runtime.budget, std::move(out));
}

Result<Value> trim(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("trim", arguments, {"chars"}));
  PC_TRY(const Value text, soft_string(runtime, self));
  PC_TRY(const std::string set, bound.has(0) ? bound.string(0, "") : Result<std::string>(""));
  PC_CHECK_OK(runtime.budget.spend(1 + text.text().size() * (set.size() + 1) / 16));
  const std::string_view kept =
      bound.has(0) ? strip(text.text(), Side::kBoth, set) : strip(text.text(), Side::kBoth);
  return make_string(&runtime.budget, std::string(kept), text.is_markup());
}

Result<Value> replace(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("replace", arguments, {"old", "new", "count"}, 2));
  PC_TRY(const std::string text, to_str(&runtime.budget, self));
  PC_TRY(const std::string from, to_str(&runtime.budget, *bound.get(0)));
  PC_TRY(const std::string to, to_str(&runtime.budget, *bound.get(1)));
  PC_TRY(const std::int64_t count, bound.has(2) ? bound.integer(2, -1) : Result<std::int64_t>(-1));
  PC_TRY(std::string out, replaced(runtime, text, from, to, count));
  return make_string(&runtime.budget, std::move(out));
}

Result<Value> string(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("string", arguments, {}));
  return soft_string(runtime, self);
}

Result<Value> format(Runtime& runtime, const Value& self, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty())
    return error(Code::kInvalidArgument,
                 "can't handle positional and keyword arguments at the same time");
  PC_TRY(const Value text, soft_string(runtime, self));
  if (arguments.named.empty()) {
    PC_TRY(const Value all, make_tuple(&runtime.budget, arguments.positional));
    return percent_format(runtime, text, all);
  }
  std::vector<std::pair<Value, Value>> entries;
  for (const auto& [name, value] : arguments.named) entries.emplace_back(word(name), value);
  PC_TRY(const Value all, make_dict(&runtime.budget, std::move(entries)));
  return percent_format(runtime, text, all);
}

Error not_a_string(std::string_view filter, const Value& value) {
  if (value.is(Kind::kUndefined)) return error(Code::kInvalidArgument, value.reason());
  return error(Code::kInvalidArgument,
               std::string(filter) + " wants a string, not " + type_name(value));
}

Result<Value> indent(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("indent", arguments, {"width", "first", "blank"}));
  if (!self.is(Kind::kString)) return not_a_string("indent", self);
  std::string margin = bound.get(0) && bound.get(0)->is(Kind::kString) ? bound.get(0)->text() : "";
  if (!bound.get(0) || !bound.get(0)->is(Kind::kString)) {
    PC_TRY(const std::int64_t width, bound.integer(0, 4));
    if (width > kMaxFormatWidth) return error(Code::kUnsupported, "a width of more than 100000");
    margin.assign(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' ');
  }
  const bool indents_blank = bound.truth(2, false);
  const std::string text = self.text() + "\n";
  std::string out = bound.truth(1, false) ? margin : "";
  bool is_first = true;
  for (const std::string_view line : lines_of(text)) {
    PC_CHECK_OK(runtime.budget.spend_bytes(line.size() + margin.size()));
    if (!is_first) out += (indents_blank || !line.empty()) ? "\n" + margin : "\n";
    out += line;
    is_first = false;
    if (out.size() > runtime.budget.limits().live_bytes)
      return error(Code::kUnsupported, "a string beyond the limit of memory");
  }
  return make_string(&runtime.budget, std::move(out), self.is_markup());
}

Result<Value> join(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("join", arguments, {"d", "attribute"}));
  PC_TRY(const std::string separator,
         bound.get(0) ? to_str(&runtime.budget, *bound.get(0)) : Result<std::string>(""));
  PC_TRY(Cursor cursor, Cursor::over(&runtime.budget, self));
  std::string out;
  for (bool is_first = true;; is_first = false) {
    PC_TRY(auto element, cursor.next());
    if (!element) break;
    if (bound.has(1)) {
      PC_TRY(element, get_path(runtime, *element, *bound.get(1)));
    }
    PC_TRY(const std::string part, to_str(&runtime.budget, *element));
    PC_CHECK_OK(runtime.budget.spend_bytes(part.size() + separator.size()));
    if (!is_first) out += separator;
    out += part;
    if (out.size() > runtime.budget.limits().live_bytes)
      return error(Code::kUnsupported, "a string beyond the limit of memory");
  }
  return make_string(&runtime.budget, std::move(out));
}

Result<Value> to_json(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound,
         Bound::bind("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  style.ensures_ascii = bound.truth(0, false);
  style.sorts_keys = bound.truth(3, false);
  if (bound.has(1)) {
    style.has_indent = true;
    if (bound.get(1)->is(Kind::kString)) {
      style.indent = bound.get(1)->text();
    } else {
      PC_TRY(const std::int64_t width, bound.integer(1, 0));
      if (width > 1000) return error(Code::kUnsupported, "an indent of more than 1000");
      style.indent.assign(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' ');
    }
    style.item_separator = ",";
  }
  if (bound.has(2)) {
    PC_TRY(const std::vector<Value> both, elements(&runtime.budget, *bound.get(2)));
    if (both.size() != 2 || !both[0].is(Kind::kString) || !both[1].is(Kind::kString))
      return error(Code::kInvalidArgument, "separators of JSON are two strings");
    style.item_separator = both[0].text();
    style.key_separator = both[1].text();
  }
  PC_TRY(std::string text, json_of(runtime.budget, self, style));
  return make_string(&runtime.budget, std::move(text));
}

Result<Value> safe(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("safe", arguments, {}));
  PC_TRY(std::string text, to_str(&runtime.budget, self));
  return make_string(&runtime.budget, std::move(text), true);
}

Result<Value> escape(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("escape", arguments, {}));
  if (self.is_markup()) return self;
  PC_TRY(const std::string text, to_str(&runtime.budget, self));
  return make_string(&runtime.budget, escape_html(text), true);
}

constexpr std::array<Method, 14> kFilters = {{
    {"upper", changed<to_upper>},
    {"lower", changed<to_lower>},
    {"capitalize", changed<capitalize>},
    {"title", title},
    {"trim", trim},
    {"replace", replace},
    {"string", string},
    {"format", format},
    {"indent", indent},
    {"join", join},
    {"tojson", to_json},
    {"safe", safe},
    {"escape", escape},
    {"e", escape},
}};

}  // namespace

std::span<const Method> text_filters() {
  return kFilters;
}

}  // namespace pc::jinja
