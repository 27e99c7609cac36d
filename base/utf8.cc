#include "base/utf8.h"

#include <algorithm>

#include "base/status.h"  // PC_EXPECT

namespace pc {
namespace {

// What the first byte says: the length of the character, and the range of its
// second byte, which alone excludes overlong forms, surrogates and everything
// above U+10FFFF (Unicode, table 3-7). Length 0: no character starts so.
struct Lead {
  std::size_t length;
  unsigned char second_low, second_high;
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte < 0xF0)
    return {3, static_cast<unsigned char>(byte == 0xE0 ? 0xA0 : 0x80),
            static_cast<unsigned char>(byte == 0xED ? 0x9F : 0xBF)};
  if (byte < 0xF5)
    return {4, static_cast<unsigned char>(byte == 0xF0 ? 0x90 : 0x80),
            static_cast<unsigned char>(byte == 0xF4 ? 0x8F : 0xBF)};
  return {0, 0, 0};
}

// The longest start of a non-empty text that is a character or the beginning of
// one; a byte that starts no character counts alone.
struct Scan {
  std::size_t n;
  bool complete;
  bool possible;  // complete, or more bytes could make it so
};

Scan scan(std::string_view text) {
  const Lead lead = lead_of(static_cast<unsigned char>(text[0]));
  if (lead.length == 0) return {1, false, false};
  std::size_t n = 1;
  for (; n < std::min(lead.length, text.size()); ++n) {
    const auto byte = static_cast<unsigned char>(text[n]);
    const unsigned char low = n == 1 ? lead.second_low : 0x80;
    const unsigned char high = n == 1 ? lead.second_high : 0xBF;
    if (byte < low || byte > high) return {n, false, false};
  }
  return {n, n == lead.length, true};
}

// Unicode's White_Space.
bool is_white_space(char32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

}  // namespace

std::size_t utf8_valid_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {  // most of most texts
      ++at;
      continue;
    }
    const Scan character = scan(text.substr(at));
    if (!character.complete) break;
    at += character.n;
  }
  return at;
}

char32_t utf8_next(std::string_view text, std::size_t* at) {
  PC_EXPECT(*at < text.size());
  const std::size_t n = utf8_length(text[*at]);
  PC_EXPECT(n <= text.size() - *at);
  const auto lead = static_cast<unsigned char>(text[*at]);
  char32_t code_point = n == 1 ? lead : lead & (0x7Fu >> n);
  for (std::size_t i = 1; i < n; ++i) {
    code_point = code_point << 6 | (static_cast<unsigned char>(text[*at + i]) & 0x3F);
  }
  *at += n;
  return code_point;
}

std::string_view trim_begin(std::string_view text) {
  for (std::size_t at = 0; !text.empty(); at = 0) {
    if (!is_white_space(utf8_next(text, &at))) break;
    text.remove_prefix(at);
  }
  return text;
}

std::string_view trim_end(std::string_view text) {
  while (!text.empty()) {
    std::size_t last = text.size() - 1;
    while (last > 0 && continues_character(text[last])) --last;
    std::size_t at = last;
    if (!is_white_space(utf8_next(text, &at))) break;
    text.remove_suffix(text.size() - last);
  }
  return text;
}

void utf8_append(char32_t c, std::string* out) {
  const auto put = [out](char32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

std::string one_line(std::string_view text) {
  Utf8Stream stream;
  std::string line;
  stream.append(text, &line);
  stream.finish(&line);
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 0x7F; };
  std::replace_if(line.begin(), line.end(), is_control, '?');
  return line;
}

void Utf8Stream::append(std::string_view bytes, std::string* out) {
  for (const char byte : bytes) {
    pending_[n_pending_++] = byte;
    // At most twice: a byte that breaks off a sequence may start another.
    while (n_pending_ > 0) {
      const Scan character = scan({pending_, n_pending_});
      if (!character.complete && character.possible) break;
      if (character.complete) {
        out->append(pending_, character.n);
      } else {
        out->append(kReplacement);
      }
      n_pending_ -= character.n;
      std::copy_n(pending_ + character.n, n_pending_, pending_);
    }
  }
}

void Utf8Stream::finish(std::string* out) {
  if (n_pending_ > 0) out->append(kReplacement);
  n_pending_ = 0;
}

}  // namespace pc
