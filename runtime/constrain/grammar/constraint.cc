#include "runtime/constrain/grammar/constraint.h"

#include <optional>

namespace pc::constrain {
namespace {

// With the masks that each may remember, half a gigabyte at most.
constexpr std::size_t kMaxGrammars = 32;

}  // namespace

bool Constraint::accept(std::int32_t token) {
  const Vocabulary& vocabulary = *grammar_->vocabulary;
  const auto i = static_cast<std::uint32_t>(token);
  if (token < 0 || i >= vocabulary.size()) return false;
  if (vocabulary.ends_turn(i)) {
    if (!state_.may_end) return false;
    state_ = State{{}, true, {}};
    return true;
  }
  return take(vocabulary.marked(i)) || take(vocabulary.bytes(i));
}

namespace {

// That comes next whichever way is taken; none where two can, or the text may end. Counts of
// characters are not looked at: in their rules nothing is forced.
std::optional<std::uint8_t> only_byte(const Automaton& automaton, const State& state) {
  std::optional<std::uint8_t> only;
  if (state.may_end) return std::nullopt;
  for (const Thread& thread : state.threads) {
    if (automaton.rule_of(thread.node).kind == Rule::Kind::kCounted) return std::nullopt;
    for (const Edge& edge : automaton.edges(thread.node)) {
      if (edge.first != edge.last || (only && *only != edge.first)) return std::nullopt;
      only = edge.first;
    }
  }
  return only;
}

}  // namespace

std::string Constraint::forced_text(std::size_t most_bytes) const {
  constexpr std::uint8_t kFirstOfNoAscii = 0x80;
  std::string text;
  State state = state_;
  while (text.size() < most_bytes) {
    const auto byte = only_byte(grammar_->automaton, state);
    if (!byte || *byte >= kFirstOfNoAscii) break;
    text += static_cast<char>(*byte);
    state = behind_byte(grammar_->automaton, state, *byte);
  }
  return text;
}

bool Constraint::take(std::string_view bytes) {
  if (bytes.empty()) return false;
  State state = state_;
  for (const char byte : bytes)
    state = behind_byte(grammar_->automaton, state, static_cast<std::uint8_t>(byte));
  if (state.is_dead()) return false;
  state_ = std::move(state);
  return true;
}

Constrainer::Constrainer(Vocabulary vocabulary)
    : vocabulary_(std::make_shared<const Vocabulary>(std::move(vocabulary))),
      strings_(std::make_shared<StringTokens>(*vocabulary_)) {
  // Between two characters of a string, where the search takes longest and nearly every grammar
  // comes: whoever is first to need the vocabulary waits for it, and no answer does.
  strings_->at(0);
}

Result<Constraint> Constrainer::compile(const Grammar& grammar) const {
  PC_TRY(CompiledRules rules, grammar.compiled());
  return Constraint(std::make_shared<CompiledGrammar>(std::move(rules), vocabulary_, strings_));
}

Result<Constraint> Constrainer::start(const Grammar& grammar) {
  if (auto known = find(grammar.key())) return Constraint(std::move(known));
  PC_TRY(Constraint begin, compile(grammar));
  remember(grammar.key(), begin.grammar_);
  return begin;
}

std::shared_ptr<CompiledGrammar> Constrainer::find(const std::string& key) {
  const MutexLock lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->second;
}

void Constrainer::remember(const std::string& key,
                           const std::shared_ptr<CompiledGrammar>& grammar) {
  const MutexLock lock(mutex_);
  if (by_key_.contains(key)) return;
  entries_.emplace_front(key, grammar);
  by_key_[key] = entries_.begin();
  if (entries_.size() <= kMaxGrammars) return;
  by_key_.erase(entries_.back().first);
  entries_.pop_back();
}

}  // namespace pc::constrain
