// Text that is free until one of some words stands in it: what comes behind the word is another's.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "runtime/constrain/automata/dfa.h"

namespace pc::constrain {

// Any bytes between `begin` and `end`, in which none of the words stands; from where one is over it
// goes on at `behind_word`, if anywhere. No other edges may leave `begin`, to which the text comes
// back. Words are not empty. (Aho and Corasick 1975.)
void add_watched_text(Nfa& nfa, NodeId begin, std::span<const std::string> words,
                      std::optional<NodeId> behind_word, NodeId end);

}  // namespace pc::constrain
