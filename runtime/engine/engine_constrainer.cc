// What an engine's tokens are to grammars.

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/constrain/grammar/vocabulary.h"
#include "runtime/engine/engine.h"

namespace pc {
namespace {

constrain::Vocabulary vocabulary_of(const Engine& engine) {
  const Tokenizer& tokenizer = engine.tokenizer();
  std::vector<constrain::Vocabulary::Token> tokens(engine.model().desc.vocab_size);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const std::string bytes(tokenizer.bytes(id));
    tokens[i] = {bytes, engine.ends_turn(id),
                 tokenizer.is_added_text(id) ? bytes : std::string(tokenizer.spelling(id))};
  }
  return constrain::Vocabulary(std::move(tokens));
}

}  // namespace

const constrain::Constrainer& Engine::constrainer() const {
  std::call_once(reads_vocabulary_, [this] { constrainer_.emplace(vocabulary_of(*this)); });
  return *constrainer_;
}

}  // namespace pc
