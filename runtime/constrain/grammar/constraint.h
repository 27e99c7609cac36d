// What holds a model to a grammar while it answers.
//
//   Constrainer constrainer(std::move(vocabulary));            // once
//   PC_TRY(Constraint constraint, constrainer.start(json_schema(schema, "response_format")));
//   constraint.mask(allowed);                                  // before a token is drawn
//   constraint.accept(token);                                  // of each token that was drawn
//   if (constraint.is_over()) ...                              // nothing else can come
//
// There is always a way on, so long as each byte is a token of the vocabulary by itself: a session
// fails otherwise, since no token may be drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "runtime/constrain/grammar/grammar.h"
#include "runtime/constrain/grammar/masks.h"

namespace pc::constrain {

// A grammar that is compiled for a vocabulary. Shared by all answers under it; threads: any.
struct CompiledGrammar {
  CompiledGrammar(CompiledRules made, std::shared_ptr<const Vocabulary> of,
                  std::shared_ptr<StringTokens> shared)
      : automaton(std::move(made.automaton)),
        left_out(std::move(made.left_out)),
        vocabulary(std::move(of)),
        strings(std::move(shared)),
        masks(automaton, *vocabulary, *strings) {}

  const Automaton automaton;
  const std::vector<LeftOut> left_out;
  const std::shared_ptr<const Vocabulary> vocabulary;
  const std::shared_ptr<StringTokens> strings;
  Masks masks;
};

// One answer's place in its grammar. Value: a copy goes on by itself. Threads: one at a time.
class Constraint {
 public:
  explicit Constraint(std::shared_ptr<CompiledGrammar> grammar)
      : grammar_(std::move(grammar)), state_(start_of(grammar_->automaton)) {}

  // The tokens that may come. Those that end the turn may where the grammar may end, control tokens
  // where it has them in its words.
  std::shared_ptr<const TokenSet> tokens() const { return grammar_->masks.of(state_); }
  // Clears the bits of the others; a bit a token, in words of 32.
  void mask(std::span<std::uint32_t> allowed) const { tokens()->keep_in(allowed); }

  // It was drawn. False, and nothing is changed, where it may not come.
  bool accept(std::int32_t token);

  bool may_end() const { return state_.may_end; }
  // The text that comes whatever is drawn, as far as it is ASCII; at most so many bytes.
  std::string forced_text(std::size_t most_bytes) const;
  // What of the grammar's schemas the answer is not held to.
  const std::vector<LeftOut>& left_out() const { return grammar_->left_out; }
  // Nothing but the end can come.
  bool is_over() const { return state_.threads.empty(); }
  // Is there a token that says so?
  bool has_end() const { return !grammar_->vocabulary->turn_ends().empty(); }

 private:
  friend class Constrainer;
  bool take(std::string_view bytes);

  std::shared_ptr<CompiledGrammar> grammar_;
  State state_;
};

// Of one vocabulary: compiles grammars, and remembers those that were started last. Threads: any.
class Constrainer {
 public:
  explicit Constrainer(Vocabulary vocabulary);

  // At its beginning. Refused as Grammar::compiled says.
  Result<Constraint> compile(const Grammar& grammar) const;
  // The same, compiled once where it was used lately.
  Result<Constraint> start(const Grammar& grammar);

  const Vocabulary& vocabulary() const { return *vocabulary_; }

 private:
  using Entry = std::pair<std::string, std::shared_ptr<CompiledGrammar>>;

  std::shared_ptr<CompiledGrammar> find(const std::string& key);
  void remember(const std::string& key, const std::shared_ptr<CompiledGrammar>& grammar);

  const std::shared_ptr<const Vocabulary> vocabulary_;
  const std::shared_ptr<StringTokens> strings_;
  Mutex mutex_;
  std::list<Entry> entries_ PC_GUARDED_BY(mutex_);  // the last used first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_key_ PC_GUARDED_BY(mutex_);
};

}  // namespace pc::constrain
