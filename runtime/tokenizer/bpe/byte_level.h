// The alphabet of byte-level BPE: each byte has a printable character, so that
// a vocabulary can be written as text ("Ġthe" is " the"). Printable Latin-1
// bytes stand for themselves; the others are U+0100 and up, in their order.
//
// Pure; threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pc {

// All characters of the alphabet are below it.
inline constexpr char32_t kByteLevelEnd = 0x144;

// Appends the characters of the bytes, as UTF-8.
void to_byte_level(std::string_view bytes, std::string* out);

// The byte that a character stands for.
std::optional<char> from_byte_level(char32_t character);

}  // namespace pc
