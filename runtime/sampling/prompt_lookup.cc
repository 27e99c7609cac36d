#include "runtime/sampling/prompt_lookup.h"

#include <algorithm>

namespace pc {

void PromptLookup::append(std::span<const TokenId> tokens) {
  for (const TokenId token : tokens) append_token(token);
}

void PromptLookup::reserve(std::size_t n_tokens) {
  tokens_.reserve(tokens_.size() + n_tokens);
  before_.reserve(tokens_.size() + n_tokens + 1);
  while (2 * (tokens_.size() + n_tokens) > latest_.size()) grow();
}

void PromptLookup::append_token(TokenId token) {
  if (before_.empty()) before_.push_back(kNowhere);  // of the end 0
  tokens_.push_back(token);
  before_.push_back(kNowhere);
  if (2 * tokens_.size() > latest_.size())
    grow();
  else
    index(tokens_.size());
}

void PromptLookup::grow() {
  constexpr std::size_t kLeast = 1024;
  latest_.assign(std::max(kLeast, 2 * latest_.size()), kNowhere);
  if (tokens_.empty()) return;
  for (std::size_t end = 0; end <= tokens_.size(); ++end) index(end);
}

void PromptLookup::index(std::size_t end) {
  if (!is_gram(end)) return;
  std::uint32_t& latest = latest_[slot(end)];
  before_[end] = latest;
  latest = static_cast<std::uint32_t>(end);
}

bool PromptLookup::is_gram(std::size_t end) const {
  if (end < kGram) return false;
  return std::ranges::count(std::span(tokens_).subspan(end - kGram, kGram), kEnd) == 0;
}

// Of a hash of the gram that ends there; several grams may share it.
std::size_t PromptLookup::slot(std::size_t end) const {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;  // 2^64 / the golden ratio
  std::uint64_t hash = 0;
  for (const TokenId token : std::span(tokens_).subspan(end - kGram, kGram))
    hash = (hash ^ static_cast<std::uint32_t>(token)) * kOdd;
  return (hash >> 32) & (latest_.size() - 1);
}

// Tokens in front of `end` that are those in front of the text's end.
std::size_t PromptLookup::agreeing(std::size_t end) const {
  std::size_t n = 0;
  const std::size_t most = std::min(end, kMostCompared);
  while (n < most && tokens_[end - 1 - n] != kEnd &&
         tokens_[end - 1 - n] == tokens_[tokens_.size() - 1 - n])
    ++n;
  return n;
}

PromptLookup::Proposal PromptLookup::propose(std::size_t most) {
  if (!is_gram(tokens_.size())) return {};
  std::size_t best = 0, n_agreeing = 0, n_places = 0;
  for (std::uint32_t end = before_[tokens_.size()]; end != kNowhere && n_places < kMostPlaces;
       end = before_[end], ++n_places) {
    const std::size_t n = agreeing(end);
    if (n < kGram || n <= n_agreeing) continue;
    best = end;
    n_agreeing = n;
  }
  if (n_agreeing == 0) return {};
  const auto next = behind(best, most);
  return next.empty() ? Proposal() : Proposal{next, n_agreeing};
}

// What stands behind the text's end is proposed already.
std::span<const TokenId> PromptLookup::behind(std::size_t end, std::size_t most) {
  proposed_.clear();
  for (std::size_t at = end; proposed_.size() < most; ++at) {
    const TokenId next = at < tokens_.size() ? tokens_[at] : proposed_[at - tokens_.size()];
    if (next == kEnd) break;
    proposed_.push_back(next);
  }
  return proposed_;
}

}  // namespace pc
