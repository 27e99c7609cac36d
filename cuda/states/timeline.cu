#include <algorithm>
#include <utility>

#include "cuda/states/timeline.h"

namespace pc::cuda {

Timeline::Timeline(KvShape shape, std::shared_ptr<PagePool> pool)
    : shape_(shape), pool_(std::move(pool)) {}

// Does the run go on where the last part ends?
bool Timeline::continues(const pc_run& run) const {
  if (!run.extend || run.planes || run.positions || parts_.empty()) return false;
  const Part& last = parts_.back();
  const auto n = static_cast<std::int32_t>(last.n_tokens);
  return last.positions.empty() && last.position + n == run.position &&
         last.key_position + n == run.key_position;
}

Status Timeline::append(const pc_run& run, std::uint32_t first, std::uint32_t n, Room room,
                        cudaStream_t stream) {
  if (n == 0) return ok();
  PC_CHECK_OK(own_last_page(room, stream));
  while (pages_.size() * kPageTokens < std::size_t{n_tokens_} + n) {
    PC_TRY(PagePool::Page page, pool_->take(room));
    pages_.push_back(std::move(page));
  }
  if (first == 0 && !continues(run))
    parts_.push_back({n_tokens_, 0, run.position, run.key_position, {}});
  Part& part = parts_.back();
  if (run.positions)
    part.positions.insert(part.positions.end(), run.positions + first, run.positions + first + n);
  part.n_tokens += n;
  n_tokens_ += n;
  return ok();
}

// Makes the page that is written next one that no other timeline holds.
Status Timeline::own_last_page(Room room, cudaStream_t stream) {
  const std::uint32_t n_rows = n_tokens_ % kPageTokens;
  pages_.resize((n_tokens_ + kPageTokens - 1) / kPageTokens);
  if (n_rows == 0 || pages_.back().use_count() == 1) return ok();
  PC_TRY(PagePool::Page copy, pool_->take(room));
  const auto first_row = [&](const PagePool::Rows& page) {
    return page.planes.data + std::size_t{page.first} * shape_.row();
  };
  const PagePool::Rows& shared = *pages_.back();
  PC_CHECK_OK(check(
      cudaMemcpy2DAsync(first_row(*copy), shape_.plane_bytes(copy->planes.room), first_row(shared),
                        shape_.plane_bytes(shared.planes.room), std::size_t{n_rows} * shape_.row(),
                        std::size_t{2} * shape_.n_layers * shape_.n_kv_heads, cudaMemcpyDefault,
                        stream),  // either may be the host's
      "copying what two conversations share"));
  pages_.back() = std::move(copy);
  return ok();
}

void Timeline::rewind(std::uint32_t n_tokens, std::uint32_t n_attached) {
  if (n_attached < attached_.size())
    attached_.erase(attached_.begin() + n_attached, attached_.end());
  if (n_tokens >= n_tokens_) return;
  while (!parts_.empty() && parts_.back().first >= n_tokens) parts_.pop_back();
  if (!parts_.empty()) {
    Part& last = parts_.back();
    last.n_tokens = std::min(last.n_tokens, n_tokens - last.first);
    if (!last.positions.empty()) last.positions.resize(last.n_tokens);
  }
  n_tokens_ = n_tokens;
  pages_.resize((n_tokens + kPageTokens - 1) / kPageTokens);
}

bool Timeline::is_run(std::uint32_t first, std::uint32_t n) const {
  auto part = std::ranges::find(parts_, first, &Part::first);
  std::uint32_t seen = 0;
  for (const Part* before = nullptr; part != parts_.end() && seen < n; before = &*part++) {
    if (!part->positions.empty()) return false;
    const auto end = [](const Part& p) {
      return p.position + static_cast<std::int32_t>(p.n_tokens);
    };
    if (before && (end(*before) != part->position)) return false;
    seen += part->n_tokens;
  }
  return n != 0 && seen >= n;
}

}  // namespace pc::cuda
