#include "runtime/sampling/draft_length.h"

#include <algorithm>

namespace pc {
namespace {

// What a row adds to a step of one, by docs/adr/0039-drafts.md.
constexpr double kRowCost = 0.15;
// Shares by which a probability moves: to what a token showed, and back to what it was at first.
constexpr double kLearnt = 0.1, kForgotten = 0.005;

}  // namespace

std::size_t DraftLength::kind(std::size_t n_agreeing) {
  return n_agreeing == kTold ? 3 : n_agreeing <= 4 ? 0 : n_agreeing <= 8 ? 1 : 2;
}

std::size_t DraftLength::choose(std::size_t n_agreeing, std::size_t most) {
  double& p = right_[kind(n_agreeing)];
  std::size_t best = 0;
  double tokens = 1.0, right = 1.0, best_rate = 1.0;
  for (std::size_t k = 1; k <= std::min(most, kMost); ++k) {
    tokens += right *= p;
    const double rate = tokens / (1.0 + kRowCost * static_cast<double>(k));
    if (rate > best_rate) best = k, best_rate = rate;
  }
  if (best == 0) p += kForgotten * (kAtFirst[kind(n_agreeing)] - p);
  return best;
}

void DraftLength::learn(std::size_t n_agreeing, std::size_t n_drafted, std::size_t n_right) {
  double& p = right_[kind(n_agreeing)];
  for (std::size_t i = 0; i < n_right; ++i) p += kLearnt * (1.0 - p);
  if (n_right < n_drafted) p -= kLearnt * p;
}

}  // namespace pc
