// Which tokens may come next in an answer, and which must where there is only one way to go on.
// Outside of a thought these are the tokens that the answer's grammar allows; in a thought that has
// used up its tokens, those that close it.
//
// Borrows the engine; borrowed by the session; stays where it is. Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <promptcache/promptcache.hpp>
#include <utility>
#include <vector>

#include "runtime/constrain/grammar/constraint.h"

namespace pc::serve {

// How long a thought may get, and what ends it then.
struct ThoughtLimit {
  std::uint32_t n_tokens = 0;
  std::vector<std::int32_t> close;
};

class AnswerMask {
 public:
  AnswerMask(const promptcache::Engine& engine, std::optional<constrain::Constraint> constraint,
             std::optional<ThoughtLimit> limit, bool is_thinking)
      : engine_(engine),
        constraint_(std::move(constraint)),
        limit_(std::move(limit)),
        is_thinking_(is_thinking) {}

  // Is there anything to mask?
  bool is_needed() const { return constraint_ || limit_; }
  // As pc_token_mask has it; user: an AnswerMask.
  static int hook(void* user, const pc_session* session, std::uint32_t position,
                  std::uint32_t* allowed, std::size_t n_words) noexcept;
  // As pc_token_draft has it: the tokens of the text that the grammar leaves no choice about.
  static std::size_t draft_hook(void* user, std::int32_t* tokens, std::size_t capacity) noexcept;

  // The token was drawn. thinks: is the answer inside of a thought behind it?
  void accept(std::int32_t token, bool thinks);

 private:
  bool is_forced() const {
    return is_thinking_ && limit_ && n_thought_ >= limit_->n_tokens &&
           n_forced_ < limit_->close.size();
  }

  const promptcache::Engine& engine_;
  std::optional<constrain::Constraint> constraint_;
  const std::optional<ThoughtLimit> limit_;
  bool is_thinking_;
  std::uint32_t n_thought_ = 0;  // tokens of the thought
  std::size_t n_forced_ = 0;     // tokens of limit_->close that were drawn
};

}  // namespace pc::serve
