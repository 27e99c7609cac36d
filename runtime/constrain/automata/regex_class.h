// What a class of characters in a pattern takes, as far as engines agree.
//
// Values. Threads: any.
#pragma once

#include <utility>
#include <vector>

#include "base/status.h"
#include "runtime/constrain/automata/characters.h"

namespace pc::constrain {

struct RegexClass {
  CharacterSet surely;   // taken by all engines
  CharacterSet perhaps;  // taken by some: no less than surely

  static RegexClass of(std::uint32_t first, std::uint32_t last) {
    return {{{first, last}}, {{first, last}}};
  }
  RegexClass others() const { return {perhaps.others(), surely.others()}; }
};

// What stands in brackets, put together once all is known: as many ranges as there may be.
class RegexClassBuilder {
 public:
  void add(const RegexClass& part) {
    const auto surely = part.surely.ranges(), perhaps = part.perhaps.ranges();
    surely_.insert(surely_.end(), surely.begin(), surely.end());
    perhaps_.insert(perhaps_.end(), perhaps.begin(), perhaps.end());
  }
  RegexClass finish() && {
    return {CharacterSet(std::move(surely_)), CharacterSet(std::move(perhaps_))};
  }

 private:
  std::vector<CharacterSet::Range> surely_, perhaps_;
};

// Of \d, \w, \s and their opposites; others are refused.
Result<RegexClass> class_of_letter(char letter);
// Of a dot.
CharacterSet any_in_line();

}  // namespace pc::constrain
