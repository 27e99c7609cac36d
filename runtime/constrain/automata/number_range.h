// Numbers in decimal digits, exactly those between two bounds.
//
// Compared as text, digit by digit, so nothing is rounded: a text that is not beyond a bound is no
// number beyond it, in whatever type a reader keeps it.
//
// Values. Threads: any.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "runtime/constrain/automata/dfa.h"

namespace pc::constrain {

struct Bound {
  std::string whole = "0", fraction;  // digits of its magnitude, no zero to spare
  bool is_negative = false;
  bool is_excluded = false;

  bool is_zero() const { return whole == "0" && fraction.empty(); }
};

struct NumberRange {
  std::optional<Bound> least, most;
  bool is_integer = false;
};

// "-12.50" as a bound. Precondition: a number in JSON without an exponent.
Bound bound_of(const std::string& decimal);

// Without bounds, numbers may have an exponent. No number is written "-0". Takes nothing where the
// budget is over.
Dfa number_dfa(const NumberRange& range, Budget& budget);

}  // namespace pc::constrain
