#include "runtime/engine/link_search.h"

#include <algorithm>
#include <utility>

namespace pc {
namespace {

class LinkSearch {
 public:
  LinkSearch(const LoadedPrompt& prompt, const LinkLimits& limits)
      : prompt_(prompt),
        limits_(limits),
        end_(std::min(limits.end, prompt.findable_end())),
        store_(prompt.schema->engine().store()),
        departs_(std::ranges::all_of(limits.anew, [](const Anew& a) { return a.empty(); }) &&
                 is_in_order(prompt.plan)),
        found_{prompt.chain(limits.reuse, limits.anew), {}} {}

  FoundChain run() {
    std::size_t n_before = 0;
    for (std::size_t i = 0; i < chain().links().size(); ++i) {
      found_.lookups.emplace_back();
      if (store_) look_up(i, n_before);
      n_before += chain().links()[i].tokens.size();
    }
    return std::move(found_);
  }

 private:
  // A file of a link whose first tokens stand here.
  struct Sibling {
    Lookup lookup;
    std::uint32_t n_tokens = 0;  // so many
  };

  Chain& chain() { return found_.chain; }

  // To depart somewhere is to go back there, which is by position.
  static bool is_in_order(const pml::Plan& plan) {
    return std::ranges::is_sorted(plan.runs, {}, &pml::PlanRun::position);
  }

  void look_up(std::size_t i, std::size_t n_before) {
    Chain::Link& link = chain().links()[i];
    if (link.is_kept() && link.end() <= end_) {
      found_.lookups[i] = store_->find(Chain::identity(link, prompt_.schema->identity()));
      link.attached = link.stored = static_cast<bool>(found_.lookups[i]);
    }
    if (!link.attached && departs_) depart(i, n_before);
  }

  // Where a link begins as this one does, its first tokens stand here, and what follows is cut
  // anew.
  void depart(std::size_t i, std::size_t n_before) {
    Tokens text = chain().text_from(i);
    const Position position = chain().links()[i].position;
    const Position room = std::max<Position>(0, end_ - position);
    text.resize(std::min(text.size(), static_cast<std::size_t>(room)));
    Sibling sibling = find_sibling(chain().links()[i], text);
    if (sibling.n_tokens < LinkHints::kMinTokens) return;
    text.resize(sibling.n_tokens);
    chain().rewind(position);
    chain().append_found(text, position);
    prompt_.extend(&chain(),
                   {n_before + text.size(), position + static_cast<Position>(text.size())},
                   limits_.reuse, limits_.anew);
    found_.lookups[i] = std::move(sibling.lookup);
  }

  Sibling find_sibling(const Chain::Link& link, const Tokens& text) const {
    constexpr std::size_t kMostOpened = 4;  // of files that begin so, by their hints
    if (text.size() < LinkHints::kMinTokens) return {};
    const Digest place = Chain::place(link, prompt_.schema->identity());
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
    const ModuleIdentity identity = Chain::identity(theirs, prompt_.schema->identity());
    if (n < LinkHints::kMinTokens || key_of(identity) != key) return {};
    Lookup lookup = store_->find(identity);
    return lookup ? Sibling{std::move(lookup), n} : Sibling{};
  }

  const LoadedPrompt& prompt_;
  const LinkLimits limits_;
  const Position end_;
  ModuleStore* const store_;
  const bool departs_;
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
