// Sets of characters, and how a text has one of a set.
//
// A value. Threads: any.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "runtime/constrain/automata/dfa.h"

namespace pc::constrain {

inline constexpr std::uint32_t kMaxCharacter = 0x10FFFF;

// Unicode scalar values, as ranges that do not touch, in order.
class CharacterSet {
 public:
  struct Range {
    std::uint32_t first, last;
  };
  CharacterSet() = default;
  CharacterSet(std::initializer_list<Range> ranges) : CharacterSet(std::vector<Range>(ranges)) {}
  // In any order, and they may touch. Of many ranges this is the way to a set: add() looks at all
  // that are there already.
  explicit CharacterSet(std::vector<Range> ranges);
  static CharacterSet all() { return {{0, kMaxCharacter}}; }

  void add(const CharacterSet& other);
  CharacterSet others() const;  // all that are not in it
  bool empty() const { return ranges_.empty(); }
  std::span<const Range> ranges() const { return ranges_; }

 private:
  std::vector<Range> ranges_;
};

enum class Spelling {
  kPlain,  // each character stands for itself
  kJson,   // in a string of JSON: behind a backslash, or in lower-case hexadecimal digits, where it
           // may not stand for itself, and only there
};

// Ways from one node to another: one character of the set, in the one spelling that it has here.
void add_character(Nfa& nfa, NodeId from, const CharacterSet& set, NodeId to, Spelling spelling);

}  // namespace pc::constrain
