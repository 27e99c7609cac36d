#include "runtime/constrain/grammar/vocabulary.h"

#include <algorithm>
#include <utility>

#include "runtime/constrain/schemas/member_words.h"  // kControlMark

namespace pc::constrain {
namespace {

// Published tokens have up to some hundred bytes; a longer one may not come.
constexpr std::size_t kMaxTokenBytes = 1024;

std::size_t common_prefix(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

Vocabulary::Vocabulary(std::vector<Token> tokens) : tokens_(std::move(tokens)) {
  for (std::uint32_t i = 0; i < tokens_.size(); ++i) {
    Token& token = tokens_[i];
    if (token.ends_turn) turn_ends_.push_back(i);
    if (token.spelling.empty()) {
      if (token.bytes.find(kControlMark) != token.bytes.npos) token.bytes.clear();
      continue;
    }
    controls_.push_back(i);
    if (token.bytes.empty()) token.bytes = marked(i);
  }
  std::ranges::stable_sort(controls_, std::ranges::greater(),
                           [this](std::uint32_t i) { return tokens_[i].spelling.size(); });
  build_trie();
}

Vocabulary::Token Vocabulary::token_of(const TokenFacts& facts) {
  return {std::string(facts.bytes), facts.ends_turn,
          std::string(facts.is_added ? facts.bytes : facts.spelling)};
}

std::string Vocabulary::marked(std::uint32_t token) const {
  const std::string& spelling = tokens_[token].spelling;
  return spelling.empty() ? spelling : kControlMark + spelling;
}

std::string Vocabulary::with_controls(std::string_view text) const {
  std::string marked;
  while (!text.empty()) {
    const auto is_here = [&](std::uint32_t i) { return text.starts_with(tokens_[i].spelling); };
    const auto found = std::ranges::find_if(controls_, is_here);
    if (found == controls_.end()) {
      marked += text.front();
      text.remove_prefix(1);
      continue;
    }
    const Token& token = tokens_[*found];
    if (token.ends_turn) break;
    marked += this->marked(*found);
    text.remove_prefix(token.spelling.size());
  }
  return marked;
}

void Vocabulary::open_node(std::uint8_t byte, std::size_t depth) {
  trie_.push_back({0, static_cast<std::uint32_t>(trie_tokens_.size()),
                   static_cast<std::uint16_t>(depth), byte});
  max_depth_ = std::max(max_depth_, depth);
}

void Vocabulary::build_trie() {
  // An added token has two.
  std::vector<std::pair<std::string, std::uint32_t>> sorted;
  for (std::uint32_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].ends_turn) continue;
    const std::string &text = tokens_[i].bytes, own = marked(i);
    if (!text.empty() && text.size() <= kMaxTokenBytes) sorted.emplace_back(text, i);
    if (!own.empty() && own != text && own.size() <= kMaxTokenBytes) sorted.emplace_back(own, i);
  }
  std::ranges::stable_sort(sorted, {}, &std::pair<std::string, std::uint32_t>::first);
  open_node(0, 0);
  std::vector<std::uint32_t> path{0};  // from the root to the node that is open
  const auto close_to = [&](std::size_t depth) {
    for (; path.size() > depth; path.pop_back())
      trie_[path.back()].end = static_cast<std::uint32_t>(trie_.size());
  };
  std::string_view before;
  for (const auto& [text, token] : sorted) {
    close_to(1 + common_prefix(before, text));
    while (path.size() <= text.size()) {
      const char byte = text[path.size() - 1];
      const std::size_t depth = path.size();
      path.push_back(static_cast<std::uint32_t>(trie_.size()));
      open_node(static_cast<std::uint8_t>(byte), depth);
    }
    trie_tokens_.push_back(token);
    before = text;
  }
  close_to(0);
  open_node(0, 0);
}

}  // namespace pc::constrain
