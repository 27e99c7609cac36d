#include "runtime/constrain/grammar/masks.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <span>

#include "runtime/constrain/automata/json_text.h"
#include "runtime/constrain/automata/lazy_dfa.h"

namespace pc::constrain {
namespace {

// Of one automaton: at a vocabulary of 262,144 tokens, 250 sets of many tokens.
constexpr std::size_t kMaxStateBytes = 8 << 20;
constexpr std::size_t kMaxTextBytes = 8 << 20;
// There are 21 places in a string.
constexpr std::size_t kMaxStringBytes = 64 << 20;

// A rule of text, as a search for its tokens sees it.
class TextView {
 public:
  virtual std::span<const Edge> edges(NodeId node) const = 0;
  virtual bool is_final(NodeId node) const = 0;
  virtual bool has_end(NodeId node) const = 0;  // some way leads from there to a final node
  // The node between two characters; kNone where they are not counted.
  static constexpr NodeId kNone = UINT32_MAX;
  virtual NodeId between() const = 0;

 protected:
  ~TextView() = default;
};

class StringView final : public TextView {
 public:
  std::span<const Edge> edges(NodeId node) const override { return json_text().nodes[node].edges; }
  bool is_final(NodeId node) const override { return json_text().nodes[node].is_final; }
  bool has_end(NodeId) const override { return true; }
  NodeId between() const override { return 0; }
};

class RuleView final : public TextView {
 public:
  explicit RuleView(const Automaton& automaton) : automaton_(automaton) {}
  std::span<const Edge> edges(NodeId node) const override { return automaton_.edges(node); }
  bool is_final(NodeId node) const override { return automaton_.is_final(node); }
  bool has_end(NodeId node) const override { return automaton_.need(node) <= kMaxNesting; }
  NodeId between() const override { return kNone; }

 private:
  const Automaton& automaton_;
};

// Its nodes as they are met: what is behind each byte.
class TextTable {
 public:
  struct Row {
    NodeId node;
    bool is_known, is_final, goes_on;
    std::array<Row*, 256> to;  // null: the byte cannot come
  };
  explicit TextTable(const TextView& view) : view_(view) {}

  Row* row(NodeId node) {
    const auto [at, is_new] = rows_.try_emplace(node);
    if (is_new) at->second.node = node;
    return &at->second;
  }
  void know(Row* row) {
    if (row->is_known) return;
    row->is_known = true;
    row->is_final = view_.is_final(row->node);
    for (const Edge& e : view_.edges(row->node)) {
      if (!view_.has_end(e.to)) continue;
      row->goes_on = true;
      std::fill(row->to.begin() + e.first, row->to.begin() + e.last + 1, this->row(e.to));
    }
  }

 private:
  const TextView& view_;
  std::map<NodeId, Row> rows_;
};

// Sets of tokens by a small number.
class Groups {
 public:
  explicit Groups(std::size_t n_words) : n_words_(n_words) {}
  TokenBits& operator[](std::size_t group) {
    if (group >= bits_.size()) bits_.resize(group + 1, TokenBits(n_words_));
    return bits_[group];
  }
  const std::vector<TokenBits>& all() const { return bits_; }

 private:
  std::size_t n_words_;
  std::vector<TokenBits> bits_;
};

void add_tokens(const Vocabulary& vocabulary, std::uint32_t trie_node, TokenBits& bits) {
  const auto trie = vocabulary.trie();
  for (std::uint32_t i = trie[trie_node].first_token; i < trie[trie_node + 1].first_token; ++i)
    set_token(bits, vocabulary.trie_token(i));
}

TextTokens find_text_tokens(const Vocabulary& vocabulary, const TextView& view, NodeId from) {
  struct Step {
    TextTable::Row* row;
    std::uint32_t characters;
  };
  TextTable table(view);
  TextTokens found;
  Groups inside(vocabulary.n_words());
  std::vector<Step> path(vocabulary.max_depth() + 1);
  path[0] = {table.row(from), 0};
  table.know(path[0].row);
  const auto trie = vocabulary.trie();
  for (std::uint32_t i = 1; i + 1 < trie.size();) {
    const Step& before = path[trie[i].depth - 1u];
    TextTable::Row* const row = before.row->to[trie[i].byte];
    if (row == nullptr) {
      i = trie[i].end;
      continue;
    }
    table.know(row);
    const bool begins = before.row->node == view.between() && row->goes_on;
    const Step step{row, before.characters + begins};
    if (row->is_final) found.exits.push_back({i, step.characters});
    if (row->goes_on) add_tokens(vocabulary, i, inside[step.characters]);
    path[trie[i].depth] = step;
    ++i;
  }
  TokenBits all(vocabulary.n_words());
  for (const TokenBits& bits : inside.all()) {
    found.inside.emplace_back(bits);
    found.inside.back().add_to(all);
  }
  found.all_inside = TokenSet(all);
  return found;
}

}  // namespace

std::size_t TextTokens::bytes() const {
  return std::accumulate(inside.begin(), inside.end(),
                         sizeof *this + exits.size() * sizeof(Exit) + all_inside.bytes(),
                         [](std::size_t sum, const TokenSet& set) { return sum + set.bytes(); });
}

StringTokens::StringTokens(const Vocabulary& vocabulary)
    : vocabulary_(vocabulary), memo_(kMaxStringBytes) {}

std::shared_ptr<const TextTokens> StringTokens::at(NodeId place) {
  return memo_.get(place, [&] { return find_text_tokens(vocabulary_, StringView(), place); });
}

// Finds the tokens of one state.
class Masks::Search {
 public:
  explicit Search(Masks& masks)
      : masks_(masks),
        bits_(masks.vocabulary_.n_words()),
        walk_(masks.automaton_),
        path_(masks.vocabulary_.max_depth() + 1) {}

  TokenSet run(const State& state) {
    State others{{}, state.may_end, {}};
    for (const Thread& thread : state.threads)
      if (masks_.automaton_.rule_of(thread.node).kind == Rule::Kind::kSyntax)
        others.threads.push_back(thread);
      else
        add_text(thread);
    if (!others.threads.empty()) walk(0, walk_.add(std::move(others)));
    if (state.may_end)
      for (const std::uint32_t end : masks_.vocabulary_.turn_ends()) set_token(bits_, end);
    return TokenSet(bits_);
  }

 private:
  // All tokens below a node of the tree at which the state is `from`.
  void walk(std::uint32_t top, LazyDfa::Id from) {
    const auto trie = masks_.vocabulary_.trie();
    path_[trie[top].depth] = from;
    for (std::uint32_t i = top + 1; i < trie[top].end;) {
      const LazyDfa::Id to = walk_.behind_byte(path_[trie[i].depth - 1u], trie[i].byte);
      if (to == LazyDfa::kDead) {
        i = trie[i].end;
        continue;
      }
      add_tokens(masks_.vocabulary_, i, bits_);
      path_[trie[i].depth] = to;
      ++i;
    }
  }

  void add_text(const Thread& thread) {
    const Rule& rule = masks_.automaton_.rule_of(thread.node);
    const bool is_counted = rule.kind == Rule::Kind::kCounted;
    const auto tokens =
        is_counted ? masks_.strings_.at(thread.node - rule.entry) : masks_.text_tokens(thread.node);
    const std::uint32_t room = is_counted ? rule.most - thread.count : 0;
    if (room >= tokens->inside.size())
      tokens->all_inside.add_to(bits_);
    else
      for (std::uint32_t n = 0; n <= room && n < tokens->inside.size(); ++n)
        tokens->inside[n].add_to(bits_);
    const std::uint32_t least =
        is_counted && rule.least > thread.count ? rule.least - thread.count : 0;
    const LazyDfa::Id behind = walk_.add(behind_rule(masks_.automaton_, thread.frame));
    for (const TextTokens::Exit& exit : tokens->exits) {
      if (exit.characters < least || exit.characters > room) continue;
      add_tokens(masks_.vocabulary_, exit.trie_node, bits_);
      walk(exit.trie_node, behind);
    }
  }

  Masks& masks_;
  TokenBits bits_;
  LazyDfa walk_;
  std::vector<LazyDfa::Id> path_;
};

Masks::Masks(const Automaton& automaton, const Vocabulary& vocabulary, StringTokens& strings)
    : automaton_(automaton),
      vocabulary_(vocabulary),
      strings_(strings),
      texts_(kMaxTextBytes),
      states_(kMaxStateBytes) {}

std::shared_ptr<const TokenSet> Masks::of(const State& state) {
  return states_.get(state.fingerprint, [&] { return Search(*this).run(state); });
}

std::shared_ptr<const TextTokens> Masks::text_tokens(NodeId node) {
  return texts_.get(node,
                    [&] { return find_text_tokens(vocabulary_, RuleView(automaton_), node); });
}

}  // namespace pc::constrain
