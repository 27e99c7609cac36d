// Characters of a template's texts as Python counts and classifies them: the
// second home of utf8proc.
//
// Positions and lengths are in characters (code points), texts in UTF-8.
// Precondition throughout: valid UTF-8. Pure. Threads: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pc::jinja {

std::size_t n_characters(std::string_view text);

// The byte at which character i starts; text.size() for i = n_characters(text).
std::size_t byte_of(std::string_view text, std::size_t i);

std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
std::string capitalize(std::string_view text);
std::string to_title(std::string_view text);  // str.title(): each run of letters

// Python's str.is...(): of every character, and false for "".
bool is_alpha(char32_t c);
bool is_decimal(char32_t c);
bool is_numeric(char32_t c);
bool is_space(char32_t c);
bool is_printable(char32_t c);
bool is_word(char32_t c);  // \w of a regular expression
bool is_mark(char32_t c);  // a vowel, tone or accent that goes with the letter before it

bool all_of(std::string_view text, bool (*is)(char32_t));

// Does the text start (strip_left) or end with white space, or with one of `set`?
enum class Side { kLeft, kRight, kBoth };
std::string_view strip(std::string_view text, Side side);
std::string_view strip(std::string_view text, Side side, std::string_view set);

}  // namespace pc::jinja
