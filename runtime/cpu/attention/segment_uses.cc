#include "runtime/cpu/attention/segment_uses.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace pc {
namespace {

// What is read, and what of it is seen.
std::tuple<std::uintptr_t, std::uint32_t, std::uintptr_t> bytes_of(const SegmentUses::Use& use) {
  return {reinterpret_cast<std::uintptr_t>(use.segment->data), use.segment->first_block,
          reinterpret_cast<std::uintptr_t>(use.segment->hidden)};
}

}  // namespace

void SegmentUses::plan(std::span<const TimelineRows> timelines, std::uint32_t tile_rows,
                       bool groups) {
  group_uses(timelines, groups);
  visits_.clear();
  tiles_.clear();
  const std::uint32_t n_rows = timelines.empty() ? 0 : timelines.back().first + timelines.back().n;
  for (std::uint32_t row = 0; row < n_rows; row += tile_rows)
    visit_tile(row, std::min(row + tile_rows, n_rows));
  tiles_.push_back({visits_.size(), 0});
}

// Uses of the same bytes one after the other, groups in the order of their first use. One
// timeline's segments are bytes of their own, as a rule; where they are not, as of a module that
// stands in a prompt twice, each is a use, and no visit has both (see visit_tile).
void SegmentUses::group_uses(std::span<const TimelineRows> timelines, bool groups) {
  uses_.clear();
  groups_.clear();
  for (const TimelineRows& t : timelines)
    for (const KvSegment& segment : t.segments) uses_.push_back({t.first, t.first + t.n, &segment});
  if (groups && timelines.size() > 1) {
    // Each use takes the number of the first one of its bytes: sorting by that groups them.
    order_.resize(uses_.size());
    std::iota(order_.begin(), order_.end(), 0u);
    const auto bytes = [this](std::uint32_t i) { return bytes_of(uses_[i]); };
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return bytes(a) != bytes(b) ? bytes(a) < bytes(b) : a < b;
    });
    firsts_.resize(uses_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const bool same = i != 0 && bytes(order_[i]) == bytes(order_[i - 1]);
      firsts_[order_[i]] = same ? firsts_[order_[i - 1]] : order_[i];
    }
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tie(firsts_[a], a) < std::tie(firsts_[b], b);
    });
    sorted_.clear();
    for (const std::uint32_t i : order_) sorted_.push_back(uses_[i]);
    uses_.swap(sorted_);
  }
  for (std::uint32_t i = 0; i < uses_.size(); ++i)
    if (i == 0 || bytes_of(uses_[i]) != bytes_of(uses_[i - 1])) groups_.push_back(i);
  groups_.push_back(n_uses());
}

// The visits of rows [begin, end): of each group those of its uses that have rows there, cut
// where rows are left out or come again.
void SegmentUses::visit_tile(std::uint32_t begin, std::uint32_t end) {
  Tile tile{visits_.size(), 0};
  for (std::size_t g = 0; g + 1 < groups_.size(); ++g) {
    bool open = false;
    std::uint64_t n_blocks = 0;
    for (std::uint32_t i = groups_[g]; i < groups_[g + 1]; ++i) {
      const Use& use = uses_[i];
      const std::uint32_t first = std::max(begin, use.first_row), last = std::min(end, use.end_row);
      if (first >= last) continue;
      if (!open || visits_.back().end_row != first) {
        tile.n_blocks += n_blocks;
        n_blocks = 0;
        visits_.push_back({i, i, first, first, tile.n_blocks});
        open = true;
      }
      visits_.back().end_use = i + 1;
      visits_.back().end_row = last;
      n_blocks =
          std::max<std::uint64_t>(n_blocks, kv_blocks(use.segment->begin + use.segment->n_tokens));
    }
    tile.n_blocks += n_blocks;
  }
  tiles_.push_back(tile);
}

}  // namespace pc
