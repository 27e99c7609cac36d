// Grammars in GBNF, llama.cpp's notation: rules of literals, classes of characters, groups,
// alternatives, repetitions and calls, recursion included. The first rule is "root".
//
// Refused, by name and line: a rule that begins with itself (the automaton would not come to its
// first byte), a rule that is missing, tokens in angle brackets, what is no GBNF. Of a grammar
// that takes the empty text the others are enforced: an answer has one character at least.
//
// Values. Threads: one at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/constrain/automata/automaton.h"
#include "runtime/constrain/automata/characters.h"

namespace pc::constrain {

struct GbnfNode;
using GbnfPtr = std::shared_ptr<const GbnfNode>;

// A tree. Immutable.
struct GbnfNode {
  enum class Kind { kCharacter, kSequence, kChoice, kRepeat, kCall };
  static constexpr std::uint32_t kUnlimited = UINT32_MAX;

  Kind kind = Kind::kSequence;
  CharacterSet characters = {};       // kCharacter
  std::vector<GbnfPtr> parts = {};    // of a repeat, one
  std::uint32_t least = 1, most = 1;  // kRepeat
  std::string rule = {};              // kCall
};

using GbnfRules = std::map<std::string, GbnfPtr>;

Result<GbnfRules> parse_gbnf(std::string_view text);

// The rule of the automaton that stands for "root".
Result<RuleId> add_gbnf(const GbnfRules& rules, AutomatonBuilder& builder, Budget& budget);

}  // namespace pc::constrain
