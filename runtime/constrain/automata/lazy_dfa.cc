#include "runtime/constrain/automata/lazy_dfa.h"

#include <utility>

namespace pc::constrain {

LazyDfa::LazyDfa(const Automaton& automaton) : automaton_(automaton) {
  states_.emplace_back();
  rows_.push_back(std::make_unique<Row>());
  rows_[kDead]->fill(kDead);
}

LazyDfa::Id LazyDfa::add(State state) {
  if (state.is_dead()) return kDead;
  const auto [at, is_new] = ids_.try_emplace(state.fingerprint, static_cast<Id>(states_.size()));
  if (is_new) {
    states_.push_back(std::move(state));
    rows_.push_back(std::make_unique<Row>());
    rows_.back()->fill(kUnknown);
  }
  return at->second;
}

LazyDfa::Id LazyDfa::find(Id from, std::uint8_t byte) {
  const Id to = add(constrain::behind_byte(automaton_, states_[from], byte));
  return (*rows_[from])[byte] = to;
}

}  // namespace pc::constrain
