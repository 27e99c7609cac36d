// Tokens that a timeline has ahead of a conversation: proposed, computed in one step behind the
// token that was drawn last, each with the logits behind it. They are the conversation's where they
// are drawn; the first that is not, and what follows it, go.
//
// Owner of the logits, one vocabulary a row. Threads: one at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pml/turns/text_encoder.h"  // Tokens
#include "runtime/scheduler/task.h"

namespace pc {

class Drafts final : public RowSink {
 public:
  // The most rows of a step, of all sessions that decode: beyond, each row costs as much as the
  // first.
  static constexpr std::size_t kMostRows = 16;
  // How many tokens one session may draft while n_others decode as well.
  static std::size_t room_beside(std::size_t n_others) {
    return std::max<std::size_t>(kMostRows / (n_others + 1), 1) - 1;
  }

  // Prepares a step of the token drawn last and the proposed ones behind it.
  // n_agreeing: of the proposal (PromptLookup::Proposal), or DraftLength::kTold.
  void begin(TokenId drawn, std::span<const TokenId> proposed, std::size_t n_agreeing,
             std::uint32_t vocab_size);
  std::span<const TokenId> step() const { return step_; }
  void take(std::uint64_t token, const float* logits) noexcept override;
  // The step is over: `logits` becomes what the next token is drawn from.
  void computed(std::vector<float>* logits);

  // The number of drafted tokens that are computed and not drawn yet.
  std::size_t n_ahead() const { return n_ahead_; }
  // Is the drawn token the first of them?
  bool is_next(TokenId drawn) const;
  // The first of them is drawn: `logits` are those behind it. Precondition: n_ahead() > 0.
  void take_next(std::vector<float>* logits) noexcept;
  void clear() {
    step_.clear();
    n_ahead_ = 0;
  }
  // Gives back the memory of rows beyond those that n_ahead tokens need.
  void shrink(std::size_t n_ahead);

  std::size_t n_agreeing() const { return n_agreeing_; }
  std::size_t n_drafted() const { return step_.empty() ? 0 : step_.size() - 1; }
  std::size_t n_right() const { return n_drafted() - n_ahead_; }  // so far

 private:
  Tokens step_;
  std::vector<std::vector<float>> rows_;  // [step_ at least][vocab_size]
  std::size_t n_ahead_ = 0, n_agreeing_ = 0;
};

}  // namespace pc
