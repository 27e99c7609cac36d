#include "runtime/tokenizer/bpe/byte_level.h"

#include <array>

#include "base/utf8.h"

namespace pc {
namespace {

struct Alphabet {
  std::array<char32_t, 256> character{};
  std::array<int, kByteLevelEnd> byte{};  // -1: not in the alphabet
};

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

constexpr Alphabet kAlphabet = [] {
  Alphabet a;
  a.byte.fill(-1);
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const char32_t c = stands_for_itself(byte) ? static_cast<char32_t>(byte) : next++;
    a.character[static_cast<std::size_t>(byte)] = c;
    a.byte[c] = byte;
  }
  return a;
}();

}  // namespace

void to_byte_level(std::string_view bytes, std::string* out) {
  for (const char byte : bytes) {
    utf8_append(kAlphabet.character[static_cast<unsigned char>(byte)], out);
  }
}

std::optional<char> from_byte_level(char32_t character) {
  if (character >= kByteLevelEnd || kAlphabet.byte[character] < 0) return std::nullopt;
  return static_cast<char>(kAlphabet.byte[character]);
}

}  // namespace pc
