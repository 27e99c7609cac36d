// Patterns of JSON Schema: what of ECMA-262's regular expressions is regular.
//
// A pattern is UTF-8. Validators read patterns as the engine does that they are written over, and
// engines differ: in Python \d takes every script's digits. A class takes here what it takes in all
// of them.
//
// Refused: assertions inside a pattern (\b, look-around, ^ and $ elsewhere than at the ends of the
// pattern's alternatives), references to groups, and properties (\p).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/constrain/automata/characters.h"
#include "runtime/constrain/automata/dfa.h"

namespace pc::constrain {

struct Regex;
using RegexPtr = std::shared_ptr<const Regex>;

// A tree. Immutable.
struct Regex {
  enum class Kind { kCharacter, kSequence, kChoice, kRepeat };
  static constexpr std::uint32_t kUnlimited = UINT32_MAX;

  Kind kind = Kind::kSequence;
  CharacterSet characters;            // kCharacter
  std::vector<RegexPtr> parts;        // of a repeat, one
  std::uint32_t least = 1, most = 1;  // kRepeat
};

// One alternative of a pattern.
struct AnchoredRegex {
  RegexPtr regex;
  bool at_start = false, at_end = false;
};

Result<std::vector<AnchoredRegex>> parse_pattern(std::string_view pattern);

// How a text is written, and what ends it.
struct TextForm {
  Spelling spelling = Spelling::kJson;
  std::string end = "\"";
};

// A text in which the pattern is found, and its end: by default the inside of a JSON string, as
// json_text.h has it. Takes nothing where the budget is over.
Result<Dfa> pattern_text(std::string_view pattern, Budget& budget, const TextForm& form = {});
// A text that it takes wholly, from its beginning to its end, with nothing behind.
Result<Dfa> matched_text(std::string_view pattern, Budget& budget);
// In which it is not found.
Result<Dfa> all_but(std::string_view pattern, Budget& budget, const TextForm& form = {});
// In which there are so many characters; likewise.
Dfa length_text(std::uint32_t least, std::uint32_t most, Budget& budget, const TextForm& form = {});

}  // namespace pc::constrain
