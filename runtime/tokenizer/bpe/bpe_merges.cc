#include "runtime/tokenizer/bpe/bpe_merges.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

namespace pc {

BpeMerges::BpeMerges(std::vector<Merge> merges, std::size_t vocab_size)
    : merges_(std::move(merges)), first_(vocab_size + 1) {
  const auto pair = [](const Merge& m) { return std::tie(m.left, m.right); };
  // Behind each other the later first, so that unique() keeps it.
  std::sort(merges_.begin(), merges_.end(), [&](const Merge& a, const Merge& b) {
    return pair(a) != pair(b) ? pair(a) < pair(b) : a.rank > b.rank;
  });
  const auto same = [&](const Merge& a, const Merge& b) { return pair(a) == pair(b); };
  merges_.erase(std::unique(merges_.begin(), merges_.end(), same), merges_.end());
  for (const Merge& m : merges_) ++first_[static_cast<std::size_t>(m.left) + 1];
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
}

const BpeMerges::Merge* BpeMerges::find(TokenId left, TokenId right) const {
  const auto l = static_cast<std::size_t>(left);
  const auto begin = merges_.begin() + first_[l], end = merges_.begin() + first_[l + 1];
  const auto place = std::lower_bound(
      begin, end, right, [](const Merge& m, TokenId wanted) { return m.right < wanted; });
  return place != end && place->right == right ? &*place : nullptr;
}

Status BpeMerges::apply(Tokens* symbols, TextWatch& watch, Workspace* workspace) const {
  constexpr TokenId kGone = -1;
  const auto n = static_cast<std::uint32_t>(symbols->size());
  if (n < 2) return ok();
  if (!watch.steps(n)) return watch.stopped();
  Tokens& token = *symbols;
  std::vector<std::uint32_t>&next = workspace->next, &previous = workspace->previous;
  std::vector<std::uint64_t>& queue = workspace->queue;
  next.resize(n);
  previous.resize(n);
  queue.clear();

  // An entry is the pair that begins at a place: rank << 32 | place. It is stale
  // when that place now begins another pair.
  const auto entry = [&](std::uint32_t at) -> const Merge* {
    return next[at] < n ? find(token[at], token[next[at]]) : nullptr;
  };
  for (std::uint32_t i = 0; i < n; ++i) {
    next[i] = i + 1;
    previous[i] = i - 1;  // wraps for the first, which is >= n
    if (const Merge* merge = entry(i)) queue.push_back(std::uint64_t{merge->rank} << 32 | i);
  }
  std::make_heap(queue.begin(), queue.end(), std::greater<>());
  const auto push = [&](std::uint32_t at) {
    if (const Merge* merge = entry(at)) {
      queue.push_back(std::uint64_t{merge->rank} << 32 | at);
      std::push_heap(queue.begin(), queue.end(), std::greater<>());
    }
  };

  while (!queue.empty()) {
    if (!watch.steps(1)) return watch.stopped();
    std::pop_heap(queue.begin(), queue.end(), std::greater<>());
    const auto rank = static_cast<std::uint32_t>(queue.back() >> 32);
    const auto at = static_cast<std::uint32_t>(queue.back());
    queue.pop_back();
    if (token[at] == kGone) continue;
    const Merge* merge = entry(at);
    if (merge == nullptr || merge->rank != rank) continue;
    const std::uint32_t gone = next[at];
    token[at] = merge->merged;
    token[gone] = kGone;
    next[at] = next[gone];
    if (next[at] < n) previous[next[at]] = at;
    push(at);
    if (previous[at] < n) push(previous[at]);
  }
  std::erase(token, kGone);
  return ok();
}

}  // namespace pc
