// The tokens of a model as bytes: a tree of them, and those that end the turn.
//
// The tree is an array in preorder. A walk goes through it from left to right and, where a byte
// cannot be, jumps to the end of what begins with it: as LLGuidance walks its trie
// (https://github.com/guidance-ai/llguidance, "toktrie").
//
// A control token has bytes that no text has: kControlMark, and how it is spelled. So it comes only
// where a grammar has it in its own words (with_controls), never in what a schema leaves open.
// Other tokens with that byte, which is in no UTF-8, may never come. An added token that is text
// ("<tool_call>" of some models) has both: in a grammar's own words it comes as itself, as the
// tokenizer would have it, and not in letters; elsewhere as any token.
//
// Owner; immutable. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/constrain/grammar/token_set.h"

namespace pc::constrain {

// What an engine says of a token, as pc_token_facts has it. Views of what lives while it is read.
struct TokenFacts {
  std::string_view bytes;
  bool ends_turn;
  bool is_added;              // a text that is a token of its own
  std::string_view spelling;  // of a control token
};

struct TrieNode {
  std::uint32_t end;          // one behind the last node that begins with this one's bytes
  std::uint32_t first_token;  // of its own tokens; the next node's first is behind the last
  std::uint16_t depth;        // 0: the root, which has no byte
  std::uint8_t byte;
};

class Vocabulary {
 public:
  struct Token {
    std::string bytes;  // empty: it may never come
    bool ends_turn = false;
    std::string spelling = {};  // of a control token, or of an added one
  };
  explicit Vocabulary(std::vector<Token> tokens);
  // facts_of(i) gives the TokenFacts of each token.
  template <class FactsOf>
  static Vocabulary read(std::size_t n_tokens, FactsOf facts_of) {
    std::vector<Token> tokens;
    tokens.reserve(n_tokens);
    for (std::size_t i = 0; i < n_tokens; ++i) tokens.push_back(token_of(facts_of(i)));
    return Vocabulary(std::move(tokens));
  }

  std::size_t size() const { return tokens_.size(); }
  std::size_t n_words() const { return (tokens_.size() + 31) / 32; }
  std::string_view bytes(std::uint32_t token) const { return tokens_[token].bytes; }
  // In a grammar's own words; "": it is no such token.
  std::string marked(std::uint32_t token) const;
  bool ends_turn(std::uint32_t token) const { return tokens_[token].ends_turn; }
  std::span<const std::uint32_t> turn_ends() const { return turn_ends_; }

  // A template's words, with the control tokens and added ones that are spelled in them; up to the
  // first that ends the turn.
  std::string with_controls(std::string_view text) const;

  // [n + 1]: n nodes in preorder, and one whose first token is behind all.
  std::span<const TrieNode> trie() const { return trie_; }
  // Of all nodes, in their order.
  std::uint32_t trie_token(std::uint32_t i) const { return trie_tokens_[i]; }
  std::size_t max_depth() const { return max_depth_; }

 private:
  static Token token_of(const TokenFacts& facts);
  void build_trie();
  void open_node(std::uint8_t byte, std::size_t depth);

  std::vector<Token> tokens_;
  std::vector<std::uint32_t> turn_ends_, controls_;  // controls_: the longest spelling first
  std::vector<TrieNode> trie_;
  std::vector<std::uint32_t> trie_tokens_;
  std::size_t max_depth_ = 0;
};

}  // namespace pc::constrain
