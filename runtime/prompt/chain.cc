#include "runtime/prompt/chain.h"

#include <algorithm>
#include <utility>

#include "base/status.h"  // PC_EXPECT

namespace pc {

pc_run Chain::Link::run(bool keeps_recurrent) const {
  PC_EXPECT(n_missing() > 0);
  const Position from = position_of(n_computed);
  return {tokens.data() + n_computed,
          n_missing(),
          from,
          from,
          n_computed != 0,
          nullptr,
          positions.empty() ? nullptr : positions.data() + n_computed,
          keeps_recurrent,
          nullptr};
}

Chain::Chain(const ModuleIdentity& base)
    : base_(&base), context_(Sha256().field("promptcache chain").finish()) {}

// Of what comes next.
Digest Chain::context() const {
  return context_ ? *context_ : key_of(identity(links_.back(), *base_)).digest;
}

void Chain::attach(const ModuleKey& key, std::uint32_t run, std::uint32_t n_tokens,
                   Position position) {
  attachments_.push_back({position, links_.size(), context_});
  const Digest before = context();
  Sha256 hash;
  hash.field("promptcache chain attaches").field(std::as_bytes(std::span(before)));
  hash.field(std::as_bytes(std::span(key.digest))).field(std::uint64_t{run});
  hash.field(std::uint64_t{n_tokens}).field(static_cast<std::uint64_t>(std::int64_t{position}));
  if (!links_.empty()) links_.back().ends = true;
  context_ = hash.finish();
}

void Chain::append(std::span<const TokenId> tokens, Position position, bool may_be_stored) {
  for (const TokenId token : tokens) {
    const bool goes_on = !context_ && !links_.back().ends && links_.back().positions.empty() &&
                         links_.back().end() == position &&
                         links_.back().tokens.size() < kMaxTokens &&
                         links_.back().may_be_stored == (may_be_stored && may_be_stored_);
    if (!goes_on) open_link(position, may_be_stored);
    Link& link = links_.back();
    link.tokens.reserve(kMaxTokens);  // a copy has no more room than tokens
    link.tokens.push_back(token);
    link.stored = false;
    ++position;
  }
}

void Chain::append_between(std::span<const TokenId> tokens, std::span<const Position> positions) {
  PC_EXPECT(tokens.size() == positions.size());
  for (std::size_t i = 0; i < tokens.size(); i += kMaxTokens) {
    const std::size_t n = std::min<std::size_t>(kMaxTokens, tokens.size() - i);
    open_link(positions[i], false);
    Link& link = links_.back();
    link.tokens.assign(tokens.begin() + static_cast<std::ptrdiff_t>(i),
                       tokens.begin() + static_cast<std::ptrdiff_t>(i + n));
    if (positions[i + n - 1] != positions[i] + static_cast<Position>(n - 1))
      link.positions.assign(positions.begin() + static_cast<std::ptrdiff_t>(i),
                            positions.begin() + static_cast<std::ptrdiff_t>(i + n));
    link.ends = true;
  }
}

void Chain::append_found(std::span<const TokenId> tokens, Position position) {
  PC_EXPECT(!tokens.empty() && tokens.size() <= kMaxTokens);
  open_link(position, true);
  Link& link = links_.back();
  link.tokens.assign(tokens.begin(), tokens.end());
  link.ends = link.attached = link.stored = true;
}

void Chain::append_moved(std::span<const TokenId> tokens, Position position, const Digest& file,
                         std::uint32_t first) {
  PC_EXPECT(!tokens.empty() && tokens.size() <= kMaxTokens);
  open_link(position, false);
  Link& link = links_.back();
  link.tokens.assign(tokens.begin(), tokens.end());
  link.ends = link.attached = link.moved = true;
  link.first = first;
  const Digest here = context();
  context_ = Sha256()
                 .field("promptcache chain moves")
                 .field(std::as_bytes(std::span(here)))
                 .field(std::as_bytes(std::span(file)))
                 .field(std::uint64_t{first})
                 .finish();
}

void Chain::append_held(std::span<const TokenId> tokens, Position position) {
  PC_EXPECT(!tokens.empty() && tokens.size() <= kMaxTokens);
  open_link(position, false);
  Link& link = links_.back();
  link.tokens.assign(tokens.begin(), tokens.end());
  link.ends = link.attached = true;
}

void Chain::slide(const Digest& before) {
  const Digest here = context();
  if (!links_.empty()) links_.back().ends = true;
  context_ = Sha256()
                 .field("promptcache chain slides")
                 .field(std::as_bytes(std::span(here)))
                 .field(std::as_bytes(std::span(before)))
                 .finish();
  may_be_stored_ = false;
}

void Chain::open_link(Position position, bool may_be_stored) {
  Link link;
  link.context = context();
  link.position = position;
  link.may_be_stored = may_be_stored && may_be_stored_;
  if (!links_.empty()) links_.back().ends = true;
  links_.push_back(std::move(link));
  context_.reset();
}

void Chain::end_turn() {
  if (context_ || links_.back().tokens.size() < kMinTokens) return;
  links_.back().ends = links_.back().ends_turn = true;
}

void Chain::end_link() {
  if (!context_ && links_.back().tokens.size() >= kMinTokens) links_.back().ends = true;
}

ModuleIdentity Chain::identity(const Link& link, const ModuleIdentity& base, bool recurrent) {
  ModuleIdentity identity = base;
  identity.attend = kAttend;
  if (!recurrent) identity.n_recurrent = 0;
  identity.context = link.context;
  if (link.positions.empty()) {
    identity.runs = {{link.tokens, link.position, true}};
    return identity;
  }
  identity.runs.clear();
  for (std::size_t i = 0; i < link.tokens.size(); ++i)
    identity.runs.push_back({{link.tokens[i]}, link.positions[i], true});
  return identity;
}

Digest Chain::place(const Link& link, const ModuleIdentity& base) {
  ModuleIdentity identity = base;
  identity.attend = kAttend;
  identity.context = link.context;
  identity.runs = {{{0}, link.position, true}};
  identity.n_recurrent = 0;
  const Digest key = key_of(identity).digest;
  return Sha256().field("promptcache place").field(std::as_bytes(std::span(key))).finish();
}

Tokens Chain::text_from(std::size_t link, std::size_t most) const {
  Tokens text;
  for (std::size_t i = link; i < links_.size() && text.size() < most; ++i) {
    const Link& next = links_[i];
    const bool goes_on =
        next.may_be_stored && next.positions.empty() &&
        (i == link ||
         (next.position == links_[i - 1].end() &&
          std::ranges::none_of(attachments_, [&](const Attachment& a) { return a.n_links == i; })));
    if (!goes_on) break;
    const std::size_t n = std::min(next.tokens.size(), most - text.size());
    text.insert(text.end(), next.tokens.begin(),
                next.tokens.begin() + static_cast<std::ptrdiff_t>(n));
  }
  return text;
}

Tokens Chain::tokens(Position begin, Position end) const {
  Tokens tokens;
  for (const Link& link : links_) {
    for (std::size_t i = 0; i < link.tokens.size(); ++i)
      if (begin <= link.position_of(i) && link.position_of(i) < end)
        tokens.push_back(link.tokens[i]);
  }
  return tokens;
}

bool Chain::may_be_stored(Position position) const {
  for (const Link& link : links_)
    if (link.position <= position && position < link.end()) return link.may_be_stored;
  return true;
}

std::uint64_t Chain::n_tokens() const {
  std::uint64_t n = 0;
  for (const Link& link : links_) n += link.tokens.size();
  return n;
}

std::uint64_t Chain::n_moved() const {
  std::uint64_t n = 0;
  for (const Link& link : links_) n += link.moved ? link.tokens.size() : 0;
  return n;
}

std::uint32_t Chain::n_computed() const {
  std::uint32_t n = 0;
  for (const Link& link : links_) n += link.n_computed;
  return n;
}

void Chain::keep_computed(std::uint32_t n) {
  for (Link& link : links_) {
    link.n_computed = std::min(link.n_computed, n);
    n -= link.n_computed;
  }
}

void Chain::add_missing(std::vector<pc_run>* runs) const {
  const std::vector<bool> places = recurrent_places();
  for (std::size_t i = 0; i < links_.size(); ++i)
    if (links_[i].n_missing() != 0) runs->push_back(links_[i].run(places[i]));
}

pc_run Chain::last_run() const {
  const Link& last = links_.back();
  return last.run(has_recurrent() && last.is_kept());
}

std::vector<bool> Chain::recurrent_places() const {
  std::vector<bool> places(links_.size());
  if (!has_recurrent()) return places;
  // The last token of a prompt is always computed, so whoever asks the same once more goes on from
  // a link before the one that ends there.
  std::size_t last_turn = links_.size(), last_before_end = links_.size();
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (links_[i].is_kept() && i + 1 < links_.size()) last_before_end = i;
    if (links_[i].is_kept() && links_[i].ends_turn) last_turn = i;
  }
  std::uint64_t n_since = 0;  // tokens behind a place
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const Link& link = links_[i];
    n_since += link.tokens.size();
    const bool far = n_since >= (link.ends_turn ? kTokensToTurn : kTokensToState);
    const bool is_end = i + 1 == links_.size();
    places[i] = link.is_kept() && (i == last_turn || i == last_before_end || is_end || far);
    if (link.attached || link.stored ? link.recurrent : places[i]) n_since = 0;
  }
  return places;
}

void Chain::computed() {
  for (Link& link : links_)
    if (!link.attached) link.n_computed = static_cast<std::uint32_t>(link.tokens.size());
}

void Chain::rewind(Position position) {
  const auto gone = std::ranges::find_if(
      attachments_, [&](const Attachment& a) { return a.position >= position; });
  if (gone != attachments_.end()) {
    context_ = gone->context;
    links_.erase(links_.begin() + static_cast<std::ptrdiff_t>(gone->n_links), links_.end());
    attachments_.erase(gone, attachments_.end());
  }
  std::size_t n = links_.size();
  while (n > 0 && links_[n - 1].position >= position) --n;
  if (n < links_.size()) {
    context_ = links_[n].context;
    links_.erase(links_.begin() + static_cast<std::ptrdiff_t>(n), links_.end());
  }
  if (links_.empty()) return;
  Link& last = links_.back();
  // Something is attached behind it: it stays as it is.
  if (context_ && *context_ != key_of(identity(last, *base_)).digest) return;
  if (last.end() > position) {
    PC_EXPECT(!last.attached && last.positions.empty());
    last.tokens.resize(static_cast<std::size_t>(position - last.position));
    last.n_computed = std::min(last.n_computed, static_cast<std::uint32_t>(last.tokens.size()));
    last.stored = last.recurrent = last.ends_turn = false;
  }
  last.ends = last.attached || last.ends_turn;
  context_.reset();
}

}  // namespace pc
