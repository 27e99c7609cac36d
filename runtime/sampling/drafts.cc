#include "runtime/sampling/drafts.h"

#include <algorithm>

#include "base/status.h"  // PC_EXPECT

namespace pc {

void Drafts::begin(TokenId drawn, std::span<const TokenId> proposed, std::size_t n_agreeing,
                   std::uint32_t vocab_size) {
  PC_EXPECT(n_ahead_ == 0);
  step_.assign(1, drawn);
  step_.insert(step_.end(), proposed.begin(), proposed.end());
  n_agreeing_ = n_agreeing;
  if (proposed.empty()) return;
  if (rows_.size() < step_.size()) rows_.resize(step_.size());
  for (std::size_t i = 0; i < step_.size(); ++i) rows_[i].resize(vocab_size);
}

void Drafts::take(std::uint64_t token, const float* logits) noexcept {
  std::copy_n(logits, rows_[token].size(), rows_[token].begin());
}

void Drafts::computed(std::vector<float>* logits) {
  n_ahead_ = n_drafted();
  if (n_ahead_ != 0) logits->swap(rows_[0]);
}

bool Drafts::is_next(TokenId drawn) const {
  return n_ahead_ != 0 && step_[step_.size() - n_ahead_] == drawn;
}

void Drafts::take_next(std::vector<float>* logits) noexcept {
  logits->swap(rows_[step_.size() - n_ahead_]);
  --n_ahead_;
}

void Drafts::shrink(std::size_t n_ahead) {
  if (n_ahead_ == 0 && rows_.size() > n_ahead + 1) rows_.resize(n_ahead + 1);
}

}  // namespace pc
