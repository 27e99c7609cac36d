// What a class of characters in a pattern takes, as far as engines agree.
//
// A value. Threads: any.
#pragma once

#include "base/status.h"
#include "runtime/constrain/automata/characters.h"

namespace pc::constrain {

struct RegexClass {
  CharacterSet surely;   // taken by all engines
  CharacterSet perhaps;  // taken by some: no less than surely

  static RegexClass of(std::uint32_t first, std::uint32_t last) {
    return {{{first, last}}, {{first, last}}};
  }
  void add(const RegexClass& other) {
    surely.add(other.surely);
    perhaps.add(other.perhaps);
  }
  RegexClass others() const { return {perhaps.others(), surely.others()}; }
};

// Of \d, \w, \s and their opposites; others are refused.
Result<RegexClass> class_of_letter(char letter);
// Of a dot.
CharacterSet any_in_line();

}  // namespace pc::constrain
