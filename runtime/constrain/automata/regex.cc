#include "runtime/constrain/automata/regex.h"

#include <algorithm>

namespace pc::constrain {
namespace {

// At least: any character has four lengths in UTF-8, each with nodes of its own.
constexpr std::size_t kUnitsPerCharacter = 8;

// Writes a tree down as an automaton (Thompson 1968).
class Emitter {
 public:
  Emitter(Nfa& nfa, Budget& budget, Spelling spelling)
      : nfa_(nfa), budget_(budget), spelling_(spelling) {}

  // Gives the node behind.
  NodeId emit(const Regex& regex, NodeId from) {
    budget_.spend(1);
    if (budget_.is_over()) return from;
    switch (regex.kind) {
      case Regex::Kind::kCharacter:
        return one_of(regex.characters, from);
      case Regex::Kind::kSequence:
        for (const RegexPtr& part : regex.parts) from = emit(*part, from);
        return from;
      case Regex::Kind::kChoice:
        return choice(regex, from);
      case Regex::Kind::kRepeat:
        return repeat(regex, from);
    }
    return from;
  }

  NodeId one_of(const CharacterSet& set, NodeId from) {
    const std::size_t before = nfa_.size();
    budget_.expect(set.ranges().size());
    if (budget_.is_over()) return from;
    const NodeId to = nfa_.add();
    add_character(nfa_, from, set, to, spelling_);
    budget_.spend(nfa_.size() - before);
    return to;
  }

  // Any text.
  NodeId anything(NodeId from) {
    const NodeId loop = nfa_.add();
    nfa_.skip(from, loop);
    nfa_.skip(one_of(CharacterSet::all(), loop), loop);
    return loop;
  }

 private:
  NodeId choice(const Regex& regex, NodeId from) {
    const NodeId end = nfa_.add();
    for (const RegexPtr& part : regex.parts) nfa_.skip(emit(*part, from), end);
    return end;
  }

  NodeId repeat(const Regex& regex, NodeId from) {
    const Regex& part = *regex.parts.front();
    for (std::uint32_t i = 0; i < regex.least; ++i) from = emit(part, from);
    const NodeId end = nfa_.add();
    if (regex.most == Regex::kUnlimited) {
      const NodeId loop = nfa_.add();
      nfa_.skip(from, loop);
      nfa_.skip(emit(part, loop), loop);
      nfa_.skip(loop, end);
      return end;
    }
    for (std::uint32_t i = regex.least; i < regex.most; ++i) {
      nfa_.skip(from, end);
      from = emit(part, from);
    }
    nfa_.skip(from, end);
    return end;
  }

  Nfa& nfa_;
  Budget& budget_;
  const Spelling spelling_;
};

}  // namespace

Result<Dfa> pattern_text(std::string_view pattern, Budget& budget, const TextForm& form) {
  Nfa nfa;
  Emitter emitter(nfa, budget, form.spelling);
  PC_TRY(const std::vector<AnchoredRegex> alternatives, parse_pattern(pattern));
  for (const AnchoredRegex& one : alternatives) {
    NodeId at = nfa.add();
    nfa.skip(Nfa::kStart, at);
    if (!one.at_start) at = emitter.anything(at);
    at = emitter.emit(*one.regex, at);
    if (!one.at_end) at = emitter.anything(at);
    nfa.finish_at(nfa.literal(at, form.end));
  }
  return determinise(nfa, budget);
}

Result<Dfa> matched_text(std::string_view pattern, Budget& budget) {
  Nfa nfa;
  Emitter emitter(nfa, budget, Spelling::kPlain);
  PC_TRY(const std::vector<AnchoredRegex> alternatives, parse_pattern(pattern));
  for (const AnchoredRegex& one : alternatives) {
    const NodeId begin = nfa.add();
    nfa.skip(Nfa::kStart, begin);
    nfa.finish_at(emitter.emit(*one.regex, begin));
  }
  return determinise(nfa, budget);
}

Dfa length_text(std::uint32_t least, std::uint32_t most, Budget& budget, const TextForm& form) {
  Regex any, repeat;
  any.kind = Regex::Kind::kCharacter;
  any.characters = CharacterSet::all();
  repeat.kind = Regex::Kind::kRepeat;
  repeat.parts = {std::make_shared<Regex>(any)};
  repeat.least = least;
  repeat.most = most;
  Nfa nfa;
  Emitter emitter(nfa, budget, form.spelling);
  budget.expect(kUnitsPerCharacter * (most == Regex::kUnlimited ? least : std::max(least, most)));
  if (budget.is_over()) return Dfa::of_nothing();
  nfa.finish_at(nfa.literal(emitter.emit(repeat, Nfa::kStart), form.end));
  return determinise(nfa, budget);
}

Result<Dfa> all_but(std::string_view pattern, Budget& budget, const TextForm& form) {
  PC_TRY(Dfa found, pattern_text(pattern, budget, form));
  return intersection(length_text(0, UINT32_MAX, budget, form), complement(std::move(found)),
                      budget);
}

}  // namespace pc::constrain
