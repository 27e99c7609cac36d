// What a conversation computes itself, as modules: a chain of links, each of which saw everything
// before it (docs/adr/0022-chains.md).
//
// Where a link ends follows from what stands before its end alone: two conversations that begin
// alike have the same links as far as they do, and so one finds what the other kept. A link ends
// behind the text of a turn, and in front of the token that ends a turn which a template wrote
// itself (a call of a tool), once it has kMinTokens, with kMaxTokens at the latest, and where
// something is attached or positions have a gap; where a text departs from one that was kept,
// whose first tokens serve it (docs/adr/0038-reuse-to-the-token.md); and where a chat was kept. Its
// identity has its tokens and, as a digest, all that stands before it: other links' tokens, and
// which modules are attached where. A link is exact: its states are those that computing all of
// that again would give, up to rounding. Tokens of modules that are computed anew are links, too
// (runtime/prompt/repair.h), and never stored.
//
// Knows tokens, not states: whoever computes them says so (n_computed, attached). Value that
// borrows the base identity. Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/hash.h"
#include "modules/kv.h"  // kKvBlockTokens
#include "modules/module_key.h"
#include "pml/turns/text_encoder.h"
#include "runtime/backend/backend.h"  // pc_run

namespace pc {

class Chain {
 public:
  // One block: a file of a link with fewer tokens would be no smaller.
  static constexpr std::uint32_t kMinTokens = kKvBlockTokens;
  // As many as a page of a timeline has.
  static constexpr std::uint32_t kMaxTokens = 256;
  // ModuleIdentity::attend of a link; pml::Attend has small numbers, a scaffold adds 16.
  static constexpr std::uint32_t kAttend = kLinkAttend;

  struct Link {
    Digest context{};                      // of all that stands before it
    Position position = 0;                 // of tokens[0]; the others follow without a gap, unless
    std::vector<Position> positions = {};  // [tokens] says where they are; else empty
    Tokens tokens;                         // at most kMaxTokens
    bool may_be_stored = true;             // no text of it is declared cache="false"
    bool ends = false;                     // a border that comes before kMaxTokens
    bool ends_turn = false;                // ... because the text of a turn ends here
    bool attached = false;                 // the timeline has it from a file, or is to get it
    bool stored = false;                   // known to be in the store
    std::uint32_t first = 0;               // attached: index of its first token in the file
    bool moved = false;                    // attached where its file was not computed: approximate
    bool recurrent = false;                // its file has the states of recurrent layers behind it
    std::uint32_t n_computed = 0;  // of its tokens, from the first on: the timeline has them

    Position end() const { return position_of(tokens.size() - 1) + 1; }
    Position position_of(std::size_t token) const {
      return positions.empty() ? position + static_cast<Position>(token) : positions[token];
    }
    // May this link be put into the store? A link that can still grow would become another one.
    bool is_kept() const {
      return may_be_stored && tokens.size() >= kMinTokens && (ends || tokens.size() == kMaxTokens);
    }
    std::uint32_t n_missing() const {
      return attached ? 0 : static_cast<std::uint32_t>(tokens.size()) - n_computed;
    }
    // The missing tokens, as a run to be computed. Borrows them. Precondition: n_missing() > 0.
    pc_run run(bool keeps_recurrent = false) const;
  };

  // Of a model whose layers carry states: a turn that ends so many tokens behind the last place of
  // which states are kept is another place, and so is any link so many behind it.
  static constexpr std::uint64_t kTokensToTurn = 256, kTokensToState = 1024;

  // `base`: every cause of a module's bytes but its pass.
  explicit Chain(const ModuleIdentity& base);

  // A module is attached here: the first n_tokens of its kept run `run`.
  void attach(const ModuleKey& key, std::uint32_t run, std::uint32_t n_tokens, Position position);
  // Tokens to be computed, cut into links. Allocates once a link, and once more if the chain is a
  // copy.
  void append(std::span<const TokenId> tokens, Position position, bool may_be_stored = true);
  // Tokens to be computed between tokens of modules, at these positions. Their links are never
  // stored.
  void append_between(std::span<const TokenId> tokens, std::span<const Position> positions);
  // One link of tokens with which a file in the store begins. At most kMaxTokens.
  void append_found(std::span<const TokenId> tokens, Position position);
  // One link of tokens that the file `file` has from its token `first` on. They saw another text
  // there than stands here, so the link is approximate; the context of all links behind it says
  // that they saw this one. At most kMaxTokens.
  void append_moved(std::span<const TokenId> tokens, Position position, const Digest& file,
                    std::uint32_t first);
  // One link of tokens whose states are in memory already. At most kMaxTokens. Never stored.
  void append_held(std::span<const TokenId> tokens, Position position);
  // The conversation slid: what is appended from now on has seen text that is gone. `before` names
  // what stood before it then. No link from here on is stored.
  void slide(const Digest& before);
  // Nobody else could find this conversation: no link of it is stored. Precondition: it is empty.
  void never_stored() { may_be_stored_ = false; }
  // A turn ends here, or the text of one.
  void end_turn();
  // The last link is to be kept as it is: what follows begins another. Whoever begins alike finds
  // it as the first tokens of something else.
  void end_link();

  std::span<Link> links() { return links_; }
  std::span<const Link> links() const { return links_; }
  // recurrent: of the file that has the states of recurrent layers, too.
  static ModuleIdentity identity(const Link& link, const ModuleIdentity& base,
                                 bool recurrent = false);
  // The name of the place where a link stands, whatever its tokens are: hints are filed by it
  // (modules/link_hints.h).
  static Digest place(const Link& link, const ModuleIdentity& base);

  // The tokens from link `link` on, at most `most`, as far as the links are one text: up to a gap,
  // an attached module, or a link that may not be stored.
  Tokens text_from(std::size_t link, std::size_t most = kMaxTokens) const;

  // The tokens of links at the positions [begin, end).
  Tokens tokens(Position begin, Position end) const;
  // Tokens of links that were moved.
  std::uint64_t n_moved() const;
  // Link::may_be_stored of the link at this position; true where no link is.
  bool may_be_stored(Position position) const;
  // Tokens of all links.
  std::uint64_t n_tokens() const;

  // Tokens of all links that the timeline has computed.
  std::uint32_t n_computed() const;
  // The timeline has the first n of the computed tokens alone: the others are missing again.
  void keep_computed(std::uint32_t n);

  // add_missing(): the runs that are still to be computed, in order. computed(): they are computed.
  void add_missing(std::vector<pc_run>* runs) const;
  // That of the last link. Precondition: it misses tokens.
  pc_run last_run() const;

  // [links] behind which the states of recurrent layers are to be kept, where there are such
  // layers: the last turn, the last link, the last before it, and now and then (docs/HYBRID.md says
  // what that costs).
  std::vector<bool> recurrent_places() const;
  void computed();

  // Forgets everything from `position` on; the end of a turn at `position` stays. Precondition:
  // nothing attached reaches across `position`.
  void rewind(Position position);

 private:
  void open_link(Position position, bool may_be_stored);
  bool has_recurrent() const { return base_->n_recurrent != 0; }
  Digest context() const;

  // A module that is attached: its position, the number of links before it, and their context.
  struct Attachment {
    Position position;
    std::size_t n_links;
    std::optional<Digest> context;
  };

  const ModuleIdentity* base_;
  bool may_be_stored_ = true;            // false from slide() or never_stored() on
  std::vector<Attachment> attachments_;  // by position
  std::vector<Link> links_;
  // The context of the next link, where it does not follow from the last link (attach, slide,
  // moved).
  std::optional<Digest> context_;
};

}  // namespace pc
