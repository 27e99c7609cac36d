#include "runtime/prompt/link_search.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/prompt/followed_text.h"

namespace pc {
namespace {

class LinkSearch {
 public:
  LinkSearch(const LoadedPrompt& prompt, const LinkLimits& limits)
      : prompt_(prompt),
        limits_(limits),
        end_(std::min(limits.end, prompt.findable_end())),
        store_(prompt.schema->engine().store()),
        recurrent_(prompt.schema->engine().model().is_recurrent()),
        departs_(!recurrent_ &&
                 std::ranges::all_of(limits.anew, [](const Anew& a) { return a.empty(); }) &&
                 is_in_order(prompt.plan)),
        moves_(departs_ && limits.moves && prompt.schema->engine().model().relocates()),
        found_{prompt.chain(limits.reuse, limits.anew), {}} {}

  FoundChain run() {
    for (std::size_t i = 0; i < chain().links().size(); ++i) {
      if (i >= found_.lookups.size()) found_.lookups.emplace_back();
      if (store_ && !chain().links()[i].moved) look_up(i);
    }
    if (recurrent_) keep_to_states();
    return std::move(found_);
  }

 private:
  // A file of a link whose first tokens stand here.
  struct Sibling {
    Lookup lookup;
    std::uint32_t n_tokens = 0;  // so many
  };

  Chain& chain() { return found_.chain; }
  const ModuleIdentity& base() const { return prompt_.schema->identity(); }

  std::size_t tokens_before(std::size_t i) {
    std::size_t n = 0;
    for (const Chain::Link& link : chain().links().first(i)) n += link.tokens.size();
    return n;
  }

  // To depart somewhere is to go back there, which is by position.
  static bool is_in_order(const pml::Plan& plan) {
    return std::ranges::is_sorted(plan.runs, {}, &pml::PlanRun::position);
  }

  void look_up(std::size_t i) {
    Chain::Link& link = chain().links()[i];
    if (link.is_kept() && link.end() <= end_) {
      if (recurrent_) found_.lookups[i] = store_->find(Chain::identity(link, base(), true));
      link.recurrent = static_cast<bool>(found_.lookups[i]);
      if (!link.recurrent) found_.lookups[i] = store_->find(Chain::identity(link, base()));
      link.attached = link.stored = static_cast<bool>(found_.lookups[i]);
    }
    if (!link.attached && departs_) depart(i);
    if (!chain().links()[i].attached && moves_) move(i);
  }

  // What is computed goes on from states: links without some in front of it, behind the last that
  // has some, are computed as well.
  void keep_to_states() {
    const std::span<Chain::Link> links = chain().links();
    std::size_t first_without = 0;  // states, of those behind the last place that has some
    for (std::size_t i = 0; i <= links.size(); ++i) {
      const bool is_computed = i == links.size() || !links[i].attached;
      if (is_computed)
        for (std::size_t before = first_without; before < i; ++before) compute(before);
      if (is_computed || links[i].recurrent) first_without = i + 1;
    }
  }

  // And kept with states.
  void compute(std::size_t i) {
    Chain::Link& link = chain().links()[i];
    link.attached = link.recurrent = link.stored = false;
    found_.lookups[i] = {};
  }

  // Where a link begins as this one does, its first tokens stand here, and what follows is cut
  // anew.
  void depart(std::size_t i) {
    Tokens text = chain().text_from(i);
    const Position position = chain().links()[i].position;
    const Position room = std::max<Position>(0, end_ - position);
    text.resize(std::min(text.size(), static_cast<std::size_t>(room)));
    Sibling sibling = find_sibling(chain().links()[i], text);
    if (sibling.n_tokens < LinkHints::kMinTokens) return;
    text.resize(sibling.n_tokens);
    const std::size_t n_before = tokens_before(i);
    chain().rewind(position);
    chain().append_found(text, position);
    prompt_.extend(&chain(),
                   {n_before + text.size(), position + static_cast<Position>(text.size())},
                   limits_.reuse, limits_.anew);
    found_.lookups[i] = std::move(sibling.lookup);
    departed_ = i;
  }

  // Where what stands behind its beginning in the store has pieces of the rest of the text, these
  // stand here, and what is between is computed.
  void move(std::size_t i) {
    const Position position = chain().links()[i].position;
    const Position room = std::max<Position>(0, end_ - position);
    const Tokens text = chain().text_from(i, static_cast<std::size_t>(room));
    const FollowedText followed = followed_text(*store_, base(), what_it_follows(i));
    std::span<const TokenId> rest = text;
    std::size_t at = 0;  // in what followed
    auto same = same_tokens(rest, followed.tokens);
    if (!same) return;
    const std::size_t n_before = tokens_before(i);
    chain().rewind(position);
    const auto end = [&] { return position + static_cast<Position>(text.size() - rest.size()); };
    for (; same; same = same_tokens(rest, std::span(followed.tokens).subspan(at))) {
      chain().append(rest.first(same->begin), end());
      rest = rest.subspan(same->begin);
      at += same->theirs;
      const std::size_t n = append_moved(followed, at, rest.first(same->n), end());
      rest = rest.subspan(n);
      at += n;
      if (n < same->n) break;
    }
    const std::size_t n = text.size() - rest.size();
    prompt_.extend(&chain(), {n_before + n, end()}, limits_.reuse, limits_.anew);
  }

  // What stands in the place of a link, or the one before it that a text departed from.
  Chain::Link what_it_follows(std::size_t i) {
    if (departed_ && *departed_ + 1 == i) return chain().links()[*departed_];
    Chain::Link place = chain().links()[i];
    place.tokens.clear();
    return place;
  }

  // Tokens that stand in what followed from `at` on. Gives how many there are files of.
  std::size_t append_moved(const FollowedText& followed, std::size_t at,
                           std::span<const TokenId> tokens, Position position) {
    std::size_t n_moved = 0;
    for (std::size_t p = 0; p < followed.pieces.size() && n_moved < tokens.size(); ++p) {
      const FollowedText::Piece& piece = followed.pieces[p];
      const bool is_last = p + 1 == followed.pieces.size();
      const std::size_t begin = at + n_moved;
      const std::size_t end = is_last ? followed.tokens.size() : followed.pieces[p + 1].begin;
      if (begin >= end) continue;
      Lookup lookup = store_->find(piece.identity);
      if (!lookup) break;
      const std::size_t n = std::min(end - begin, tokens.size() - n_moved);
      chain().append_moved(tokens.subspan(n_moved, n), position + static_cast<Position>(n_moved),
                           key_of(piece.identity).digest,
                           piece.first + static_cast<std::uint32_t>(begin - piece.begin));
      found_.lookups.resize(chain().links().size());
      found_.lookups.back() = std::move(lookup);
      n_moved += n;
    }
    return n_moved;
  }

  Sibling find_sibling(const Chain::Link& link, const Tokens& text) const {
    constexpr std::size_t kMostOpened = 4;  // of files that begin so, by their hints
    if (text.size() < LinkHints::kMinTokens) return {};
    const Digest place = Chain::place(link, base());
    Sibling best;
    std::size_t n_opened = 0;
    for (const ModuleKey& key : store_->hints().likely(place, text)) {
      if (n_opened++ == kMostOpened || best.n_tokens == text.size()) break;
      if (Sibling other = open(key, link, text); other.n_tokens > best.n_tokens)
        best = std::move(other);
    }
    return best;
  }

  // Its own tokens say whether it is a link of this place.
  Sibling open(const ModuleKey& key, const Chain::Link& link, const Tokens& text) const {
    const auto file = store_->inspect(key);
    if (!file.ok() || (*file)->tokens().size() > Chain::kMaxTokens) return {};
    Chain::Link theirs = link;
    theirs.tokens.assign((*file)->tokens().begin(), (*file)->tokens().end());
    const auto [mine, other] = std::ranges::mismatch(text, theirs.tokens);
    const auto n = static_cast<std::uint32_t>(mine - text.begin());
    const ModuleIdentity identity = Chain::identity(theirs, base());
    if (n < LinkHints::kMinTokens || key_of(identity) != key) return {};
    Lookup lookup = store_->find(identity);
    return lookup ? Sibling{std::move(lookup), n} : Sibling{};
  }

  const LoadedPrompt& prompt_;
  const LinkLimits limits_;
  const Position end_;
  ModuleStore* const store_;
  const bool recurrent_;  // layers of the model carry states
  const bool departs_, moves_;
  std::optional<std::size_t> departed_;  // the latest link that is a file's first tokens
  FoundChain found_;
};

}  // namespace

std::uint64_t FoundChain::n_found() const {
  std::uint64_t n = 0;
  for (const Chain::Link& link : chain.links())
    if (link.attached) n += link.tokens.size();
  return n;
}

FoundChain find_links(const LoadedPrompt& prompt, const LinkLimits& limits) {
  return LinkSearch(prompt, limits).run();
}

}  // namespace pc
