// UTF-8: validation, stepping through characters, and a decoder for streams
// that never shows half a character.
//
// "Valid" is Unicode's definition: shortest forms, no surrogates, nothing
// above U+10FFFF. Threads: values, thread-compatible; nothing is shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pc {

// The offset of the first byte that is not part of a valid character;
// text.size() when there is none.
std::size_t utf8_valid_prefix(std::string_view text);

inline bool is_utf8(std::string_view text) {
  return utf8_valid_prefix(text) == text.size();
}

// Length in bytes of the character that starts with `lead`. Precondition: the
// byte starts a character of valid UTF-8.
inline std::size_t utf8_length(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// The character at text[*at]; moves *at behind it. Precondition: valid UTF-8.
char32_t utf8_next(std::string_view text, std::size_t* at);

void utf8_append(char32_t code_point, std::string* out);

// Without the white space (as Unicode has it) at its beginning, or at its end.
// Precondition: valid UTF-8.
std::string_view trim_begin(std::string_view text);
std::string_view trim_end(std::string_view text);

// Text of somebody's file as a message may quote it: valid, and one line.
std::string one_line(std::string_view text);

// Bytes in, whole characters out. A sequence that can no longer become valid is
// replaced by U+FFFD, one for each maximal prefix of a valid sequence or single
// stray byte (the practice that Unicode recommends), so that the result does
// not depend on how the stream was cut.
class Utf8Stream {
 public:
  // Appends to *out every character that is complete by now.
  void append(std::string_view bytes, std::string* out);

  // The stream is over: an unfinished sequence becomes one U+FFFD.
  void finish(std::string* out);

  // Bytes held back because they may still become a character: 0 to 3.
  std::size_t pending() const { return n_pending_; }

 private:
  char pending_[4] = {};
  std::size_t n_pending_ = 0;
};

}  // namespace pc
