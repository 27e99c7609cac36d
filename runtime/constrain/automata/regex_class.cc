#include "runtime/constrain/automata/regex_class.h"

#include "runtime/constrain/automata/refusal.h"

namespace pc::constrain {
namespace {

constexpr CharacterSet::Range kBeyondAscii{0x80, kMaxCharacter};

RegexClass digits() {
  const CharacterSet ascii{{'0', '9'}};
  return {ascii, {{'0', '9'}, kBeyondAscii}};
}

RegexClass word_characters() {
  const CharacterSet ascii{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  CharacterSet perhaps = ascii;
  perhaps.add({kBeyondAscii});
  return {ascii, perhaps};
}

// Python's has separators of files, ECMA-262's the mark of the byte order.
RegexClass white_space() {
  const CharacterSet ascii{{'\t', '\r'}, {' ', ' '}};
  CharacterSet perhaps = ascii;
  perhaps.add({{0x1C, 0x1F},
               {0x85, 0x85},
               {0xA0, 0xA0},
               {0x1680, 0x1680},
               {0x2000, 0x200A},
               {0x2028, 0x2029},
               {0x202F, 0x202F},
               {0x205F, 0x205F},
               {0x3000, 0x3000},
               {0xFEFF, 0xFEFF}});
  return {ascii, perhaps};
}

}  // namespace

Result<RegexClass> class_of_letter(char letter) {
  switch (letter) {
    case 'd':
      return digits();
    case 'D':
      return digits().others();
    case 'w':
      return word_characters();
    case 'W':
      return word_characters().others();
    case 's':
      return white_space();
    case 'S':
      return white_space().others();
    default:
      return refusal("\"\\" + std::string(1, letter) + "\" cannot be enforced here");
  }
}

CharacterSet any_in_line() {
  return CharacterSet{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}.others();
}

}  // namespace pc::constrain
