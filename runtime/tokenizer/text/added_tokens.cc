#include "runtime/tokenizer/text/added_tokens.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace pc {
namespace {

bool is_between(std::string_view text, std::string_view open, std::string_view close) {
  return text.size() > open.size() + close.size() && text.starts_with(open) &&
         text.ends_with(close);
}

}  // namespace

bool is_control(bool special, std::string_view content) {
  return special || content.size() > kMaxTextTokenBytes || is_between(content, "<|", "|>") ||
         is_between(content, "<｜", "｜>") || content == "<start_of_turn>" ||
         content == "<end_of_turn>";
}

void AddedTokens::add(AddedToken token) {
  if (token.content.empty() || !index_.emplace(token.content, tokens_.size()).second) return;
  starts_[static_cast<unsigned char>(token.content[0])] = true;
  tokens_.push_back(std::move(token));
}

void AddedTokens::seal() {
  sorted_.resize(tokens_.size());
  std::iota(sorted_.begin(), sorted_.end(), 0u);
  std::sort(sorted_.begin(), sorted_.end(), [this](std::uint32_t a, std::uint32_t b) {
    return tokens_[a].content < tokens_[b].content;
  });
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  const auto place = index_.find(content);
  return place == index_.end() ? nullptr : &tokens_[place->second];
}

// Byte by byte, [begin, end) are the contents that begin as the text does.
const AddedToken* AddedTokens::longest_at(std::string_view text, std::size_t at,
                                          std::size_t control_end) const {
  const AddedToken* longest = nullptr;
  auto begin = sorted_.begin(), end = sorted_.end();
  for (std::size_t i = at; i < text.size(); ++i) {
    const std::size_t depth = i - at;
    if (tokens_[*begin].content.size() == depth && ++begin == end) break;
    const auto byte_of = [&](std::uint32_t token) {
      return static_cast<unsigned char>(tokens_[token].content[depth]);
    };
    const auto byte = static_cast<unsigned char>(text[i]);
    begin = std::partition_point(begin, end, [&](std::uint32_t t) { return byte_of(t) < byte; });
    end = std::partition_point(begin, end, [&](std::uint32_t t) { return byte_of(t) == byte; });
    if (begin == end) break;
    const AddedToken& token = tokens_[*begin];
    if (token.content.size() == depth + 1 && (!token.control || i < control_end)) longest = &token;
  }
  return longest;
}

const AddedToken* AddedTokens::next(std::string_view text, std::size_t from, std::size_t to,
                                    std::size_t control_end, std::size_t* at) const {
  if (sorted_.empty()) return nullptr;
  for (std::size_t i = from; i < to; ++i) {
    if (!starts_[static_cast<unsigned char>(text[i])]) continue;
    if (const AddedToken* token = longest_at(text, i, control_end)) {
      *at = i;
      return token;
    }
  }
  return nullptr;
}

}  // namespace pc
