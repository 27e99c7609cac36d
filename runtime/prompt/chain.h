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
  // A block of a file: it would hold no less for fewer.
  static constexpr std::uint32_t kMinTokens = kKvBlockTokens;
  // As a page of a timeline.
  static constexpr std::uint32_t kMaxTokens = 256;
  // ModuleIdentity::attend of a link; pml::Attend has small numbers, a scaffold adds 16.
  static constexpr std::uint32_t kAttend = 32;

  struct Link {
    Digest context{};                      // of all that stands before it
    Position position = 0;                 // of tokens[0]; the others follow without a gap, unless
    std::vector<Position> positions = {};  // [tokens] says where they are; else empty
    Tokens tokens;                         // at most kMaxTokens
    bool may_be_stored = true;             // no text of it is declared cache="false"
    bool ends = false;                     // before kMaxTokens
    bool ends_turn = false;                // because a turn's text does
    bool attached = false;                 // the timeline has it from a file, or is to get it
    bool stored = false;                   // known to be in the store
    std::uint32_t first = 0;               // attached: of the file's tokens, its first
    bool moved = false;                    // attached elsewhere than its file was computed
    std::uint32_t n_computed = 0;          // the timeline has the first so many by computing them

    Position end() const { return position_of(tokens.size() - 1) + 1; }
    Position position_of(std::size_t token) const {
      return positions.empty() ? position + static_cast<Position>(token) : positions[token];
    }
    // Does the store hold such links? One that is not at its end might become another.
    bool is_kept() const {
      return may_be_stored && tokens.size() >= kMinTokens && (ends || tokens.size() == kMaxTokens);
    }
    std::uint32_t n_missing() const {
      return attached ? 0 : static_cast<std::uint32_t>(tokens.size()) - n_computed;
    }
    // Those tokens, to be computed. Precondition: n_missing() > 0. Borrows them.
    pc_run run() const;
  };

  // `base`: every cause of a module's bytes but its pass.
  explicit Chain(const ModuleIdentity& base);

  // A run of a module stands here: the first n_tokens of its kept run `run`.
  void attach(const ModuleKey& key, std::uint32_t run, std::uint32_t n_tokens, Position position);
  // Tokens to be computed. Allocates once a link, and once more where the chain was copied.
  void append(std::span<const TokenId> tokens, Position position, bool may_be_stored = true);
  // The same of tokens between those of modules, which have their places there. Never stored.
  void append_between(std::span<const TokenId> tokens, std::span<const Position> positions);
  // One link, of tokens that a file has: it begins with them. At most kMaxTokens.
  void append_found(std::span<const TokenId> tokens, Position position);
  // One link, of tokens that a file, named by `file`, has from its token `first` on, where it saw
  // something else: approximate. What follows has seen that, and is stored as such. At most
  // kMaxTokens.
  void append_moved(std::span<const TokenId> tokens, Position position, const Digest& file,
                    std::uint32_t first);
  // One link, of tokens whose states somebody holds. At most kMaxTokens. Never stored.
  void append_held(std::span<const TokenId> tokens, Position position);
  // What comes next has seen more than stands before it: what it stood behind is named by `before`.
  // Nothing behind is stored.
  void slide(const Digest& before);
  // Nobody else could find it: none of what comes is stored. Precondition: it is empty.
  void never_stored() { may_be_stored_ = false; }
  // A turn, or its text, ends here.
  void end_turn();
  // The last link is to be kept as it is: what follows begins another. Whoever begins alike finds
  // it as the first tokens of something else.
  void end_link();

  std::span<Link> links() { return links_; }
  std::span<const Link> links() const { return links_; }
  static ModuleIdentity identity(const Link& link, const ModuleIdentity& base);
  // Where it stands, whatever its tokens: what hints are filed by (modules/link_hints.h).
  static Digest place(const Link& link, const ModuleIdentity& base);

  // The tokens of this link and of those behind it, as far as they are one text: without a gap,
  // with nothing attached between, none that may not be stored.
  Tokens text_from(std::size_t link, std::size_t most = kMaxTokens) const;

  // Those of [begin, end), where they are links'.
  Tokens tokens(Position begin, Position end) const;
  // Of links that were moved.
  std::uint64_t n_moved() const;
  // Of the link that has this position, or true.
  bool may_be_stored(Position position) const;
  // Of all links.
  std::uint64_t n_tokens() const;

  // Tokens of all links that the timeline has by computing them.
  std::uint32_t n_computed() const;

  // What is missing of all links, in order, and that it is missing no more.
  void add_missing(std::vector<pc_run>* runs) const;
  void computed();

  // Forgets all from `position` on; a turn that ends there has ended. Precondition: nothing that is
  // attached reaches across it.
  void rewind(Position position);

 private:
  void open_link(Position position, bool may_be_stored);
  Digest context() const;

  // A module that stands here, and what was before it.
  struct Attachment {
    Position position;
    std::size_t n_links;
    std::optional<Digest> context;
  };

  const ModuleIdentity* base_;
  bool may_be_stored_ = true;            // until it slides, or never
  std::vector<Attachment> attachments_;  // by position
  std::vector<Link> links_;
  // Of what comes next, where something else stands before it than the last link.
  std::optional<Digest> context_;
};

}  // namespace pc
