// Which tokens may come in a state of an automaton.
//
// Most tokens of a vocabulary may stand in a text, and whether they may depends only on where in
// the text it is, not on what stands around it: so that is found once for each node of a rule of
// text, as a set, with the tokens in which the text ends, and what these may go on with is asked of
// each state (XGrammar's context-independent tokens, arXiv 2411.15100). In all other places few
// tokens fit, and the tree of the vocabulary is walked.
//
// What was found is remembered, up to some memory; then all is forgotten at once.
//
// Borrows the vocabulary. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "runtime/constrain/automata/automaton.h"
#include "runtime/constrain/automata/state.h"
#include "runtime/constrain/grammar/vocabulary.h"

namespace pc::constrain {

// Values that are made when they are first asked for, up to a sum of their bytes().
template <class Key, class Value>
class Memo {
 public:
  explicit Memo(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  template <class Make>
  std::shared_ptr<const Value> get(const Key& key, Make make) {
    {
      const MutexLock lock(mutex_);
      if (const auto found = values_.find(key); found != values_.end()) return found->second;
    }
    auto value = std::make_shared<const Value>(make());
    const MutexLock lock(mutex_);
    if (bytes_ + value->bytes() > max_bytes_) {
      values_.clear();
      bytes_ = 0;
    }
    if (values_.try_emplace(key, value).second) bytes_ += value->bytes();
    return value;
  }

 private:
  Mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<const Value>> values_ PC_GUARDED_BY(mutex_);
  std::size_t bytes_ PC_GUARDED_BY(mutex_) = 0;
  const std::size_t max_bytes_;
};

// From one node of a rule of text.
struct TextTokens {
  struct Exit {
    std::uint32_t trie_node;   // here the rule may be over
    std::uint32_t characters;  // have begun by then; of a counted rule, else 0
  };
  std::vector<TokenSet> inside;  // by the number of characters that begin in them
  TokenSet all_inside;
  std::vector<Exit> exits;

  std::size_t bytes() const;
};

// The texts of all strings without a pattern, whatever their automaton.
class StringTokens {
 public:
  explicit StringTokens(const Vocabulary& vocabulary);
  // place: of json_text().
  std::shared_ptr<const TextTokens> at(NodeId place);

 private:
  const Vocabulary& vocabulary_;
  Memo<NodeId, TextTokens> memo_;
};

class Masks {
 public:
  // Borrows all three.
  Masks(const Automaton& automaton, const Vocabulary& vocabulary, StringTokens& strings);

  std::shared_ptr<const TokenSet> of(const State& state);

 private:
  class Search;

  std::shared_ptr<const TextTokens> text_tokens(NodeId node);

  const Automaton& automaton_;
  const Vocabulary& vocabulary_;
  StringTokens& strings_;
  Memo<NodeId, TextTokens> texts_;
  Memo<Fingerprint, TokenSet> states_;
};

}  // namespace pc::constrain
