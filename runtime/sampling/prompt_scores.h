// How likely a model finds the tokens of a prompt, each behind those before it.
//
// Takes the logits row by row while the prompt is computed, and keeps of each what was asked for:
// memory is in proportion to the tokens, never to tokens times the vocabulary. take() allocates
// nothing. Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pml/turns/text_encoder.h"  // Tokens
#include "runtime/sampling/sampler.h"
#include "runtime/scheduler/task.h"

namespace pc {

// What is asked for.
struct PromptScoring {
  std::uint32_t n_top = 0;  // the likeliest beside each token; at most kMostTop
  std::uint32_t from = 0;   // the first token that is scored; the prompt's first never is

  static constexpr std::uint32_t kMostTop = 128;
  std::size_t first_scored() const { return from > 1 ? from : 1; }
};

class PromptScores final : public RowSink {
 public:
  // tokens: of the whole prompt, of which the work computes the last n_computed.
  // Precondition: n_computed > tokens.size() - scoring.first_scored(), or nothing is scored.
  PromptScores(Tokens tokens, const PromptScoring& scoring, std::uint64_t n_computed,
               std::uint32_t vocab_size);

  // The number, among the computed tokens, of the first whose logits count.
  std::uint64_t first_row() const;
  void take(std::uint64_t row, const float* logits) noexcept override;

  // The number of a token whose logits were not finite; none: all were.
  const std::optional<std::size_t>& not_finite() const { return not_finite_; }

  // By the token's number in the prompt. Precondition: first() <= index < end().
  std::size_t first() const { return first_; }
  std::size_t end() const { return tokens_.size(); }
  TokenLogprob of(std::size_t index) const { return scores_[index - first_]; }
  std::span<const TokenLogprob> top(std::size_t index) const {  // [n_top], the likeliest first
    return std::span(top_).subspan((index - first_) * n_top_, n_top_);
  }

 private:
  Tokens tokens_;
  std::size_t first_;
  std::uint64_t n_before_;  // tokens that are not computed
  std::uint32_t n_top_;
  std::vector<TokenLogprob> scores_;  // [end() - first()]
  std::vector<TokenLogprob> top_;     // [end() - first(), n_top]
  std::vector<std::int32_t> ids_;     // scratch, [vocab_size]
  std::uint32_t vocab_size_;
  std::optional<std::size_t> not_finite_;
};

}  // namespace pc
