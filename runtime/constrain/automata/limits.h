// How long may be written what an answer must be. A text is refused by its length before it is
// read or copied; the budget, which refuses what a shorter one makes, is asked while that is made.
//
// A text costs a grammar's budget of 1,200,000 units some nine for each byte (a node, its edge, and
// the sets that it is in): so what is longer than these could not be paid for. Most of a schema and
// of a grammar in GBNF is not texts, and not paid for.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/constrain/automata/refusal.h"

namespace pc::constrain {

inline constexpr std::size_t kKiB = 1024;
inline constexpr std::size_t kMaxSchemaBytes = 1024 * kKiB;
inline constexpr std::size_t kMaxPatternBytes = 256 * kKiB;
inline constexpr std::size_t kMaxGbnfBytes = 64 * kKiB;     // rules are compared with each other
inline constexpr std::size_t kMaxChoiceBytes = 256 * kKiB;  // of all choices together
inline constexpr std::size_t kMaxChoices = 65'536;

inline Status check_bytes(std::size_t bytes, std::size_t most) {
  if (bytes <= most) return ok();
  return refusal("more than " + std::to_string(most / kKiB) + " KiB cannot be enforced");
}

}  // namespace pc::constrain
