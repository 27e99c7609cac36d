// How an answer is held to a constraint while it is drawn: follows the answer when it is next
// asked, so that nothing can fail behind a token that was drawn.
//
// Value: a copy goes on by itself, as a fork of a session does. Threads: one at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "pml/turns/text_encoder.h"  // TokenId
#include "runtime/constrain/grammar/constraint.h"

namespace pc {

class AnswerConstraint {
 public:
  AnswerConstraint() = default;  // the answer may be anything
  explicit AnswerConstraint(std::optional<constrain::Constraint> begin) : at_(std::move(begin)) {}

  // The next token of the answer; false, and nothing is changed: the constraint forbids it.
  bool accept(TokenId token) {
    if (at_ && !at_->accept(token)) return false;
    ++n_followed_;
    return true;
  }

  // Where it is behind these tokens, to which later calls only add; null: the answer may be
  // anything.
  const constrain::Constraint* behind(std::span<const TokenId> answer) {
    if (!at_) return nullptr;
    for (; n_followed_ < answer.size(); ++n_followed_) at_->accept(answer[n_followed_]);
    return &*at_;
  }

 private:
  std::optional<constrain::Constraint> at_;
  std::size_t n_followed_ = 0;
};

}  // namespace pc
