// What a model's tokens are to grammars.
//
// Pure. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <promptcache/promptcache.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runtime/constrain/grammar/vocabulary.h"

namespace pc::serve {

inline constrain::Vocabulary vocabulary_of(const promptcache::Engine& engine) {
  std::vector<constrain::Vocabulary::Token> tokens(engine.facts().vocab_size);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const pc_token_facts facts = engine.token(static_cast<std::int32_t>(i));
    const std::string bytes(facts.bytes, facts.n_bytes);
    tokens[i] = {bytes, facts.ends_turn != 0,
                 facts.is_added ? bytes : std::string(facts.spelling, facts.n_spelling)};
  }
  return constrain::Vocabulary(std::move(tokens));
}

}  // namespace pc::serve
