#include "runtime/session/drafter.h"

#include <algorithm>

#include "runtime/engine/engine.h"

namespace pc {

// All that the conversation has seen up to the token drawn last, which is the chain's last.
void Drafter::look_up(const Conversation& conversation, TokenId drawn, std::size_t n_lookup) {
  if (lookup_) return lookup_->append({&drawn, 1});
  lookup_.emplace();
  conversation.for_each_module([this](const Tokens& run) {
    lookup_->append(run);
    lookup_->end_text();
  });
  for (const Chain::Link& link : conversation.chain().links()) lookup_->append(link.tokens);
  lookup_->reserve(n_lookup);
}

// Of who knows better, or of the conversation.
PromptLookup::Proposal Drafter::proposal(const Room& room) {
  if (room.most == 0) return {};
  told_.clear();
  if (room.told) room.told(&told_, room.most);
  if (told_.empty()) return lookup_->propose(room.most);
  told_.resize(std::min(told_.size(), room.most));
  return {told_, DraftLength::kTold};
}

std::span<const TokenId> Drafter::draft(const Conversation& conversation, TokenId drawn,
                                        const Room& room) noexcept try {
  const Engine& engine = conversation.engine();
  if (!engine.backend().hands_out_rows()) return {};
  drafts_.shrink(room.most);
  look_up(conversation, drawn, room.n_lookup);
  const PromptLookup::Proposal next = proposal(room);
  if (next.tokens.empty()) return {};
  // Who is ahead leaves the steps that others take together, and joins them again: not for a guess.
  if (!room.is_alone && !DraftLength::is_likely(next.n_agreeing)) return {};
  const std::uint32_t vocab_size = engine.model().desc.vocab_size;
  const std::size_t n = length_.choose(next.n_agreeing, next.tokens.size());
  const auto cannot_follow = [&](TokenId token) {
    return token < 0 || static_cast<std::size_t>(token) >= vocab_size || engine.ends_turn(token);
  };
  const auto right = next.tokens.first(n);
  const auto end = std::ranges::find_if(right, cannot_follow);
  if (end == right.begin()) return {};
  drafts_.begin(drawn, {right.begin(), end}, next.n_agreeing, vocab_size);
  return drafts_.step();
} catch (...) {
  fail();
  return {};
}

void Drafter::fail() {
  drafts_.clear();
  lookup_.reset();  // it may lack a token
}

void Drafter::take_next(const Conversation& conversation, TokenId drawn, std::size_t n_lookup,
                        std::vector<float>* logits) noexcept {
  drafts_.take_next(logits);
  try {
    look_up(conversation, drawn, n_lookup);
  } catch (...) {
    lookup_.reset();  // it is built again, of the chain
  }
  if (drafts_.n_ahead() == 0) learn();
}

void Drafter::learn() {
  length_.learn(drafts_.n_agreeing(), drafts_.n_drafted(), drafts_.n_right());
}

}  // namespace pc
