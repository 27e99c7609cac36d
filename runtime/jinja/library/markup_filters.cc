// Filters about HTML and addresses. Chat templates use `safe` and little else of
// these; urlize and random are not offered.
#include <array>
#include <charconv>

#include "base/utf8.h"
#include "runtime/jinja/library/filters.h"
#include "runtime/jinja/values/iterate.h"
#include "runtime/jinja/values/print.h"
#include "runtime/jinja/values/unicode.h"

namespace pc::jinja {
namespace {

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

Result<Value> force_escape(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("forceescape", arguments, {}));
  PC_TRY(const std::string text, to_str(&runtime.budget, self));
  return make_string(&runtime.budget, escape_html(text), true);
}

// &amp; &lt; &gt; &quot; &#39; &#x27;: what escaping writes, and numbers.
std::string unescaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t at = std::min(text.find('&'), text.size());
    out += text.substr(0, at);
    text.remove_prefix(at);
    if (text.empty()) break;
    const std::size_t end = text.find(';');
    const std::string_view name = end == text.npos ? "" : text.substr(1, end - 1);
    const auto named = [name]() -> char32_t {
      if (name == "amp") return '&';
      if (name == "lt") return '<';
      if (name == "gt") return '>';
      if (name == "quot") return '"';
      if (name == "apos") return '\'';
      if (name == "nbsp") return 0xA0;
      if (!name.starts_with('#') || name.size() < 2) return 0;
      const bool is_hex = (name[1] | 0x20) == 'x';
      std::uint32_t code = 0;
      const std::string_view digits = name.substr(is_hex ? 2 : 1);
      const auto parsed =
          std::from_chars(digits.data(), digits.data() + digits.size(), code, is_hex ? 16 : 10);
      const bool is_character = code < 0xD800 || (code > 0xDFFF && code <= 0x10FFFF);
      return parsed.ptr == digits.data() + digits.size() && is_character ? code : 0;
    }();
    if (named)
      utf8_append(named, &out);
    else
      out += '&';
    text.remove_prefix(named ? end + 1 : 1);
  }
  return out;
}

// Cuts what stands between two marks, as often as both are there.
void cut_all(std::string_view open, std::string_view close, std::string* text) {
  std::string kept;
  std::size_t at = 0;
  while (true) {
    const std::size_t start = text->find(open, at);
    const std::size_t end = start == text->npos ? start : text->find(close, start);
    if (end == text->npos) break;
    kept.append(*text, at, start - at);
    at = end + close.size();
  }
  *text = kept + text->substr(at);
}

Result<Value> strip_tags(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("striptags", arguments, {}));
  PC_TRY(std::string text, to_str(&runtime.budget, self));
  PC_CHECK_OK(runtime.budget.spend_bytes(8 * text.size()));
  cut_all("<!--", "-->", &text);
  cut_all("<", ">", &text);
  std::string words;
  std::string_view rest = strip(text, Side::kBoth);
  while (!rest.empty()) {
    std::size_t end = 0;
    for (std::size_t next = 0; end < rest.size() && !is_space(utf8_next(rest, &next)); end = next) {
    }
    words += (words.empty() ? "" : " ") + std::string(rest.substr(0, end));
    rest = strip(rest.substr(end), Side::kLeft);
  }
  return make_string(&runtime.budget, unescaped(words));
}

std::string quoted(std::string_view text, bool for_query) {
  constexpr std::string_view kKept =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~";
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (kKept.find(c) != kKept.npos || (c == '/' && !for_query))
      out += c;
    else if (c == ' ' && for_query)
      out += '+';
    else
      out.append(1, '%').append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
  }
  return out;
}

Result<Value> url_encode(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("urlencode", arguments, {}));
  if (self.is(Kind::kString) || !is_iterable(self)) {
    PC_TRY(const std::string text, to_str(&runtime.budget, self));
    PC_CHECK_OK(runtime.budget.spend_bytes(3 * text.size()));
    return make_string(&runtime.budget, quoted(text, false));
  }
  std::vector<std::pair<Value, Value>> pairs;
  if (self.is(Kind::kDict)) {
    pairs = self.dict().entries;
  } else {
    PC_TRY(const std::vector<Value> items, elements(&runtime.budget, self));
    for (const Value& item : items) {
      PC_TRY(const std::vector<Value> both, elements(&runtime.budget, item));
      if (both.size() != 2) return error(Code::kInvalidArgument, "urlencode wants pairs");
      pairs.emplace_back(both[0], both[1]);
    }
  }
  std::string out;
  for (const auto& [key, value] : pairs) {
    PC_TRY(const std::string name, to_str(&runtime.budget, key));
    PC_TRY(const std::string text, to_str(&runtime.budget, value));
    PC_CHECK_OK(runtime.budget.spend_bytes(3 * (name.size() + text.size())));
    out += (out.empty() ? "" : "&") + quoted(name, true) + "=" + quoted(text, true);
  }
  return make_string(&runtime.budget, std::move(out));
}

Result<Value> xml_attributes(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("xmlattr", arguments, {"autospace"}));
  if (!self.is(Kind::kDict)) return error(Code::kInvalidArgument, "xmlattr wants a dictionary");
  std::string out;
  for (const auto& [key, value] : self.dict().entries) {
    if (value.is(Kind::kNone) || value.is(Kind::kUndefined)) continue;
    if (!key.is(Kind::kString)) return error(Code::kInvalidArgument, "an attribute without a name");
    if (key.text().find_first_of(" \t\n\r\f\v/>=") != std::string::npos)
      return error(Code::kInvalidArgument,
                   "Invalid character in attribute name: " + string_repr(key.text()));
    PC_TRY(const std::string text, to_str(&runtime.budget, value));
    const auto escaped = [](const Value& v, const std::string& s) {
      return v.is_markup() ? s : escape_html(s);
    };
    out +=
        (out.empty() ? "" : " ") + escaped(key, key.text()) + "=\"" + escaped(value, text) + "\"";
  }
  if (bound.truth(0, true) && !out.empty()) out.insert(0, 1, ' ');
  return make_string(&runtime.budget, std::move(out));
}

constexpr std::array<Method, 7> kFilters = {{{"safe", safe},
                                             {"escape", escape},
                                             {"e", escape},
                                             {"forceescape", force_escape},
                                             {"striptags", strip_tags},
                                             {"urlencode", url_encode},
                                             {"xmlattr", xml_attributes}}};

}  // namespace

std::span<const Method> markup_filters() {
  return kFilters;
}

}  // namespace pc::jinja
