#include "runtime/jinja/values/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace pc::jinja {
namespace {

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

struct Expansion {
  char32_t from;
  std::u32string_view upper, title;
};

// Characters that become several in upper case (Unicode's SpecialCasing, the
// unconditional ones outside Greek's iota subscripts, which utf8proc maps singly).
constexpr std::array<Expansion, 20> kExpansions = {{
    {0xDF, U"SS", U"Ss"},
    {0x149, U"\u02BCN", U"\u02BCN"},
    {0x1F0, U"J\u030C", U"J\u030C"},
    {0x390, U"\u0399\u0308\u0301", U"\u0399\u0308\u0301"},
    {0x3B0, U"\u03A5\u0308\u0301", U"\u03A5\u0308\u0301"},
    {0x587, U"\u0535\u0552", U"\u0535\u0582"},
    {0x1E96, U"H\u0331", U"H\u0331"},
    {0x1E97, U"T\u0308", U"T\u0308"},
    {0x1E98, U"W\u030A", U"W\u030A"},
    {0x1E99, U"Y\u030A", U"Y\u030A"},
    {0x1E9A, U"A\u02BE", U"A\u02BE"},
    {0xFB00, U"FF", U"Ff"},
    {0xFB01, U"FI", U"Fi"},
    {0xFB02, U"FL", U"Fl"},
    {0xFB03, U"FFI", U"Ffi"},
    {0xFB04, U"FFL", U"Ffl"},
    {0xFB05, U"ST", U"St"},
    {0xFB06, U"ST", U"St"},
    {0xFB13, U"\u0544\u0546", U"\u0544\u0576"},
    {0xFB15, U"\u0544\u053B", U"\u0544\u056B"},
}};

const Expansion* expansion(char32_t c) {
  const auto found = std::find_if(kExpansions.begin(), kExpansions.end(),
                                  [c](const Expansion& e) { return e.from == c; });
  return found == kExpansions.end() ? nullptr : &*found;
}

void append(std::u32string_view characters, std::string* out) {
  for (const char32_t c : characters) utf8_append(c, out);
}

void append_upper(char32_t c, std::string* out) {
  if (const Expansion* e = c < 0x80 ? nullptr : expansion(c)) return append(e->upper, out);
  utf8_append(static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))), out);
}

void append_title(char32_t c, std::string* out) {
  if (const Expansion* e = c < 0x80 ? nullptr : expansion(c)) return append(e->title, out);
  utf8_append(static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))), out);
}

bool is_cased(char32_t c) {
  const auto kind = category(c);
  return kind == UTF8PROC_CATEGORY_LU || kind == UTF8PROC_CATEGORY_LL ||
         kind == UTF8PROC_CATEGORY_LT;
}

bool is_case_ignorable(char32_t c) {
  const auto kind = category(c);
  return c == '\'' || c == '.' || c == ':' || c == 0xB7 || c == 0x2019 ||
         kind == UTF8PROC_CATEGORY_MN || kind == UTF8PROC_CATEGORY_ME ||
         kind == UTF8PROC_CATEGORY_CF || kind == UTF8PROC_CATEGORY_LM ||
         kind == UTF8PROC_CATEGORY_SK;
}

// A capital sigma at the end of a word is the final one in lower case.
bool is_final_sigma(std::u32string_view text, std::size_t at) {
  std::size_t i = at;
  while (i > 0 && is_case_ignorable(text[i - 1])) --i;
  if (i == 0 || !is_cased(text[i - 1])) return false;
  i = at + 1;
  while (i < text.size() && is_case_ignorable(text[i])) ++i;
  return i == text.size() || !is_cased(text[i]);
}

void append_lower(std::u32string_view text, std::size_t at, std::string* out) {
  const char32_t c = text[at];
  if (c == 0x3A3) return utf8_append(is_final_sigma(text, at) ? 0x3C2 : 0x3C3, out);
  if (c == 0x130) return append(U"i\u0307", out);
  utf8_append(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))), out);
}

std::u32string characters_of(std::string_view text) {
  std::u32string characters;
  characters.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) characters.push_back(utf8_next(text, &at));
  return characters;
}

// The character before the end.
char32_t last_character(std::string_view text, std::size_t* start) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  *start = at;
  return utf8_next(text, &at);
}

template <class Predicate>
std::string_view strip_if(std::string_view text, Side side, const Predicate& is) {
  while (side != Side::kRight && !text.empty()) {
    std::size_t next = 0;
    if (!is(utf8_next(text, &next))) break;
    text.remove_prefix(next);
  }
  while (side != Side::kLeft && !text.empty()) {
    std::size_t start = 0;
    if (!is(last_character(text, &start))) break;
    text = text.substr(0, start);
  }
  return text;
}

}  // namespace

std::size_t n_characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::size_t byte_of(std::string_view text, std::size_t i) {
  std::size_t at = 0;
  for (; i > 0; --i) at += utf8_length(text[at]);
  return at;
}

std::string to_upper(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) append_upper(utf8_next(text, &at), &out);
  return out;
}

std::string to_lower(std::string_view text) {
  const std::u32string characters = characters_of(text);
  std::string out;
  for (std::size_t i = 0; i < characters.size(); ++i) append_lower(characters, i, &out);
  return out;
}

std::string capitalize(std::string_view text) {
  const std::u32string characters = characters_of(text);
  std::string out;
  for (std::size_t i = 0; i < characters.size(); ++i)
    i == 0 ? append_title(characters[i], &out) : append_lower(characters, i, &out);
  return out;
}

std::string to_title(std::string_view text) {
  const std::u32string characters = characters_of(text);
  std::string out;
  bool inside = false;  // behind a cased character
  for (std::size_t i = 0; i < characters.size(); ++i) {
    inside ? append_lower(characters, i, &out) : append_title(characters[i], &out);
    inside = is_cased(characters[i]);
  }
  return out;
}

bool is_alpha(char32_t c) {
  const auto kind = category(c);
  return is_cased(c) || kind == UTF8PROC_CATEGORY_LM || kind == UTF8PROC_CATEGORY_LO;
}
bool is_decimal(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_ND;
}
bool is_numeric(char32_t c) {
  const auto kind = category(c);
  return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL ||
         kind == UTF8PROC_CATEGORY_NO;
}
bool is_space(char32_t c) {
  return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 ||
         (c >= 0x80 &&
          (category(c) == UTF8PROC_CATEGORY_ZS || category(c) == UTF8PROC_CATEGORY_ZL ||
           category(c) == UTF8PROC_CATEGORY_ZP));
}
bool is_printable(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    case UTF8PROC_CATEGORY_ZS:
      return c == ' ';
    default:
      return true;
  }
}
bool is_word(char32_t c) {
  return c == '_' || is_alpha(c) || is_numeric(c);
}

bool is_mark(char32_t c) {
  const auto kind = category(c);
  return kind == UTF8PROC_CATEGORY_MN || kind == UTF8PROC_CATEGORY_MC ||
         kind == UTF8PROC_CATEGORY_ME;
}

bool all_of(std::string_view text, bool (*is)(char32_t)) {
  for (std::size_t at = 0; at < text.size();)
    if (!is(utf8_next(text, &at))) return false;
  return !text.empty();
}

std::string_view strip(std::string_view text, Side side) {
  return strip_if(text, side, is_space);
}

std::string_view strip(std::string_view text, Side side, std::string_view set) {
  const std::u32string wanted = characters_of(set);
  return strip_if(text, side,
                  [&wanted](char32_t c) { return wanted.find(c) != std::u32string::npos; });
}

}  // namespace pc::jinja
