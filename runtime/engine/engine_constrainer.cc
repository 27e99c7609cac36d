// What an engine's tokens are to grammars.

#include <cstddef>
#include <mutex>

#include "runtime/constrain/grammar/vocabulary.h"
#include "runtime/engine/engine.h"

namespace pc {
namespace {

constrain::Vocabulary vocabulary_of(const Engine& engine) {
  const Tokenizer& tokenizer = engine.tokenizer();
  return constrain::Vocabulary::read(engine.model().desc.vocab_size, [&](std::size_t i) {
    const auto id = static_cast<TokenId>(i);
    return constrain::TokenFacts{tokenizer.bytes(id), engine.ends_turn(id),
                                 tokenizer.is_added_text(id), tokenizer.spelling(id)};
  });
}

}  // namespace

const constrain::Constrainer& Engine::constrainer() const {
  std::call_once(reads_vocabulary_, [this] { constrainer_.emplace(vocabulary_of(*this)); });
  return *constrainer_;
}

}  // namespace pc
