// The states of an automaton, numbered as a walk comes to them: what was asked once of a state and
// a byte is found in a table (the lazy DFA of Thompson 1968, as grep and RE2 have it).
//
// For one walk: grows with it, and borrows the automaton. Threads: one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/constrain/automata/state.h"

namespace pc::constrain {

class LazyDfa {
 public:
  using Id = std::uint32_t;
  static constexpr Id kDead = 0;

  explicit LazyDfa(const Automaton& automaton);

  Id add(State state);
  Id behind_byte(Id from, std::uint8_t byte) {
    const Id to = (*rows_[from])[byte];
    return to != kUnknown ? to : find(from, byte);
  }

 private:
  static constexpr Id kUnknown = UINT32_MAX;
  using Row = std::array<Id, 256>;

  Id find(Id from, std::uint8_t byte);

  const Automaton& automaton_;
  std::vector<State> states_;
  std::vector<std::unique_ptr<Row>> rows_;  // of each state
  std::unordered_map<Fingerprint, Id> ids_;
};

}  // namespace pc::constrain
