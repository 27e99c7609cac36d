#include "tools/serve/answer/answer_mask.h"

#include <algorithm>
#include <string>

namespace pc::serve {

int AnswerMask::hook(void* user, const pc_session*, std::uint32_t, std::uint32_t* allowed,
                     std::size_t n_words) noexcept try {
  AnswerMask& self = *static_cast<AnswerMask*>(user);
  if (self.is_forced()) {
    const auto token = static_cast<std::uint32_t>(self.limit_->close[self.n_forced_]);
    std::fill_n(allowed, n_words, 0u);
    allowed[token / 32] |= 1u << token % 32;
    return 0;
  }
  if (self.is_thinking_ || !self.constraint_) return 0;
  self.constraint_->mask({allowed, n_words});
  return 0;
} catch (...) {  // no memory: no token is drawn
  return 1;
}

std::size_t AnswerMask::draft_hook(void* user, std::int32_t* tokens, std::size_t capacity) noexcept
    try {
  constexpr std::size_t kMostBytes = 64;
  const AnswerMask& self = *static_cast<AnswerMask*>(user);
  if (self.is_thinking_ || !self.constraint_) return 0;
  const std::string text = self.constraint_->forced_text(kMostBytes);
  if (text.empty()) return 0;
  const std::vector<std::int32_t> forced = self.engine_.tokenize(text);
  const std::size_t n = std::min(capacity, forced.size());
  std::copy_n(forced.begin(), n, tokens);
  return n;
} catch (...) {  // nothing is drafted
  return 0;
}

void AnswerMask::accept(std::int32_t token, bool thinks) {
  if (is_forced()) ++n_forced_;
  if (is_thinking_)
    ++n_thought_;
  else if (constraint_)
    constraint_->accept(token);
  is_thinking_ = thinks;
}

}  // namespace pc::serve
