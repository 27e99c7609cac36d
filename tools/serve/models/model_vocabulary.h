// What a model's tokens are to grammars.
//
// Pure. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <promptcache/promptcache.hpp>

#include "runtime/constrain/grammar/vocabulary.h"

namespace pc::serve {

inline constrain::Vocabulary vocabulary_of(const promptcache::Engine& engine) {
  return constrain::Vocabulary::read(engine.facts().vocab_size, [&](std::size_t i) {
    const pc_token_facts facts = engine.token(static_cast<std::int32_t>(i));
    return constrain::TokenFacts{{facts.bytes, facts.n_bytes},
                                 facts.ends_turn != 0,
                                 facts.is_added != 0,
                                 {facts.spelling, facts.n_spelling}};
  });
}

}  // namespace pc::serve
