#include "runtime/sampling/prompt_scores.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pc {

PromptScores::PromptScores(Tokens tokens, const PromptScoring& scoring, std::uint64_t n_computed,
                           std::uint32_t vocab_size)
    : tokens_(std::move(tokens)),
      first_(std::min(scoring.first_scored(), tokens_.size())),
      n_before_(tokens_.size() - n_computed),
      n_top_(std::min(scoring.n_top, vocab_size)),
      scores_(tokens_.size() - first_),
      top_(scores_.size() * n_top_),
      ids_(n_top_ != 0 ? vocab_size : 0),
      vocab_size_(vocab_size) {}

std::uint64_t PromptScores::first_row() const {
  return first_ - 1 - n_before_;
}

void PromptScores::take(std::uint64_t row, const float* values) noexcept {
  const std::size_t index = static_cast<std::size_t>(n_before_ + row) + 1;  // of whom they foretell
  if (index < first_ || index >= tokens_.size()) return;
  const std::span<const float> logits(values, vocab_size_);
  if (!std::ranges::all_of(logits, [](float x) { return std::isfinite(x); })) {
    if (!not_finite_) not_finite_ = index - 1;
    return;
  }
  const double sum = log_sum_exp(logits);
  const TokenId token = tokens_[index];
  scores_[index - first_] = {token,
                             static_cast<float>(logits[static_cast<std::size_t>(token)] - sum)};
  if (n_top_ != 0)
    find_top_logprobs(logits, sum, ids_,
                      std::span(top_).subspan((index - first_) * n_top_, n_top_));
}

}  // namespace pc
