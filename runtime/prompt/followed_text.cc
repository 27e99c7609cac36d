#include "runtime/prompt/followed_text.h"

#include <algorithm>
#include <utility>

namespace pc {
namespace {

// Files of one conversation: 8,192 tokens of full links.
constexpr std::size_t kMostFiles = 32;
// Tokens that a history writes before what it has of an answer: what closes an empty thought.
constexpr std::size_t kMostBefore = 32;

// The identity of a link of this place that begins as this one does and that the file of this key
// is, by its own tokens.
std::optional<ModuleIdentity> link_of(const ModuleStore& store, const ModuleIdentity& base,
                                      Chain::Link link, const ModuleKey& key) {
  const auto file = store.inspect(key);
  if (!file.ok() || (*file)->tokens().empty() || (*file)->tokens().size() > Chain::kMaxTokens)
    return std::nullopt;
  const std::span<const TokenId> tokens = (*file)->tokens();
  if (std::ranges::mismatch(link.tokens, tokens).in1 != link.tokens.end()) return std::nullopt;
  link.tokens.assign(tokens.begin(), tokens.end());
  ModuleIdentity identity = Chain::identity(link, base);
  if (key_of(identity) != key) return std::nullopt;
  return identity;
}

// The newest that can be read, of few.
std::optional<ModuleIdentity> newest(const ModuleStore& store, const ModuleIdentity& base,
                                     const Chain::Link& link) {
  constexpr std::size_t kMostOpened = 4;
  const Digest place = Chain::place(link, base);
  std::vector<ModuleKey> keys =
      link.tokens.empty() ? store.hints().newest(place) : store.hints().likely(place, link.tokens);
  keys.resize(std::min(keys.size(), kMostOpened));
  for (const ModuleKey& key : keys)
    if (auto identity = link_of(store, base, link, key)) return identity;
  return std::nullopt;
}

}  // namespace

FollowedText followed_text(const ModuleStore& store, const ModuleIdentity& base, Chain::Link link) {
  FollowedText followed;
  for (std::size_t i = 0; i < kMostFiles; ++i) {
    auto identity = newest(store, base, link);
    if (!identity) break;
    const Tokens& tokens = identity->runs.front().tokens;
    const std::size_t n_read = link.tokens.size(), begin = followed.tokens.size();
    followed.tokens.insert(followed.tokens.end(),
                           tokens.begin() + static_cast<std::ptrdiff_t>(n_read), tokens.end());
    link.context = key_of(*identity).digest;
    link.position += static_cast<Position>(tokens.size());
    link.tokens.clear();
    followed.pieces.push_back({std::move(*identity), static_cast<std::uint32_t>(n_read), begin});
  }
  return followed;
}

std::optional<SameTokens> same_tokens(std::span<const TokenId> text,
                                      std::span<const TokenId> theirs) {
  SameTokens best;
  for (std::size_t begin = 0; begin < std::min(text.size(), kMostBefore); ++begin) {
    const auto rest = text.subspan(begin);
    for (std::size_t at = 0; at < theirs.size(); ++at) {
      // A place that goes on with a run that was measured has less of it.
      if (begin > 0 && at > 0 && text[begin - 1] == theirs[at - 1]) continue;
      const auto same = std::ranges::mismatch(rest, theirs.subspan(at)).in1 - rest.begin();
      const auto n = static_cast<std::size_t>(same);
      if (n > best.n || (n == best.n && begin == best.begin)) best = {begin, at, n};
    }
  }
  if (best.n < kLeastMoved) return std::nullopt;
  return best;
}

}  // namespace pc
