// Several tokens a step, where the text is known (docs/adr/0039-drafts.md): what may follow the
// token that was drawn is computed beside it, and what is drawn then decides.
//
// Owns the rows of what is ahead and an index of the conversation, which is made when the first
// step asks for it. Threads: one at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "runtime/conversation/conversation.h"
#include "runtime/sampling/draft_length.h"
#include "runtime/sampling/drafts.h"
#include "runtime/sampling/prompt_lookup.h"

namespace pc {

class Drafter {
 public:
  // The tokens of a step: `drawn`, which is the conversation's last, and at most `most` that may
  // follow it; none where it is to be computed alone: there is no memory for more, or whoever knows
  // better throws. is_alone: no others decode, whose steps would be left. n_lookup: tokens that the
  // answer may have, for the index.
  struct Room {
    std::size_t most;
    bool is_alone;
    std::size_t n_lookup;
    FunctionRef<void(Tokens* next, std::size_t most)>
        told;  // who knows better; none: it is looked up
  };
  std::span<const TokenId> draft(const Conversation& conversation, TokenId drawn,
                                 const Room& room) noexcept;
  RowSink* rows() { return &drafts_; }
  // The step is over: `logits` becomes what the next token is drawn from.
  void computed(std::vector<float>* logits) { drafts_.computed(logits); }
  // It failed: nothing is ahead, and what was looked up may be more than was said.
  void fail();

  std::size_t n_ahead() const { return drafts_.n_ahead(); }
  std::size_t n_drafted() const { return drafts_.n_drafted(); }
  bool is_next(TokenId drawn) const { return drafts_.is_next(drawn); }
  // `drawn`, the conversation's last, is the next that is ahead: `logits` become those behind it.
  void take_next(const Conversation& conversation, TokenId drawn, std::size_t n_lookup,
                 std::vector<float>* logits) noexcept;
  // What is ahead goes. learn(): before, since it says how much was right.
  void learn();
  void drop() { drafts_.clear(); }

  // The conversation is another: it is indexed anew.
  void forget_text() { lookup_.reset(); }
  // Of a fork.
  void learn_from(const Drafter& other) { length_ = other.length_; }

 private:
  void look_up(const Conversation& conversation, TokenId drawn, std::size_t n_lookup);
  PromptLookup::Proposal proposal(const Room& room);

  std::optional<PromptLookup> lookup_;  // of this answer, from its first step on
  Tokens told_;                         // by Room::told
  DraftLength length_;
  Drafts drafts_;
};

}  // namespace pc
