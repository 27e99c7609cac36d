#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "cuda/attention/attention_plan.h"

namespace pc::cuda {
namespace {

// Keys of a tile of the kernels, and the fewest tiles that are worth results of their own.
constexpr std::uint32_t kTileKeys = 64;
constexpr std::uint64_t kLeastTiles = 2;

// Blocks that a multiprocessor should find, so that uneven ones balance.
constexpr std::uint64_t kBlocksEach = 3;

std::uint32_t n_tiles(const Visit& visit) {
  return (visit.end - visit.begin + kTileKeys - 1) / kTileKeys;
}

}  // namespace

// Neighbouring rows that see the same bytes.
struct AttentionPlan::Range {
  std::uint32_t first, n;  // rows
  std::vector<Visit> visits;
};

AttentionPlan::AttentionPlan(const KvShape& shape, std::uint32_t n_heads,
                             std::uint32_t multiprocessors, bool tensor_cores)
    : shape_(shape),
      group_(n_heads / shape.n_kv_heads),
      multiprocessors_(multiprocessors),
      tensor_(tensor_cores && attend_tiles_fits(shape)) {}

void AttentionPlan::make(std::span<const TimelineRows> timelines, bool merge_all) {
  for (Tasks* t : {&plain, &tiles, &few}) *t = {};
  visits.clear();
  uses.clear();
  hidden_at.clear();
  positions_at.clear();
  words.clear();
  moves.clear();
  views_.clear();
  n_partials = 0;
  const std::vector<Range> ranges = ranges_of(timelines);
  std::vector<std::uint32_t> ranges_of_row(timelines.back().first + timelines.back().n);
  for (const Range& range : ranges)
    for (std::uint32_t row = range.first; row < range.first + range.n; ++row) ++ranges_of_row[row];
  for (const Range& range : ranges) {
    const auto rows = std::span(ranges_of_row).subspan(range.first, range.n);
    const bool alone = std::ranges::all_of(rows, [](std::uint32_t n) { return n == 1; });
    add_tasks(range, alone && !merge_all);
  }
  list_partials(static_cast<std::uint32_t>(ranges_of_row.size()));
}

// What neighbours share, range by range, then what each has for itself.
std::vector<AttentionPlan::Range> AttentionPlan::ranges_of(
    std::span<const TimelineRows> timelines) {
  using Bytes = std::tuple<const std::byte*, std::uint32_t, std::uint32_t>;
  struct Seen {
    std::size_t first, end;  // timelines
    std::vector<const View*> views;
  };
  std::map<Bytes, std::vector<Seen>> seen;
  for (std::size_t t = 0; t < timelines.size(); ++t) {
    for (const View& view : timelines[t].views) {
      if (view.hidden || !view.positions.empty() || view.begin == view.end) continue;
      std::vector<Seen>& stretches = seen[{view.planes.data, view.begin, view.end}];
      if (!stretches.empty() && stretches.back().end == t) {
        ++stretches.back().end;
        stretches.back().views.push_back(&view);
      } else if (stretches.empty() || stretches.back().end < t) {
        stretches.push_back({t, t + 1, {&view}});
      }  // else the timeline has it twice: the second one is its own
    }
  }
  std::map<std::pair<std::size_t, std::size_t>, std::vector<const Seen*>> shared;
  std::vector<const View*> taken;
  for (const auto& [bytes, stretches] : seen) {
    for (const Seen& s : stretches) {
      if (s.end - s.first < 2) continue;
      shared[{s.first, s.end}].push_back(&s);
      taken.insert(taken.end(), s.views.begin(), s.views.end());
    }
  }
  std::ranges::sort(taken);
  std::vector<Range> ranges;
  for (const auto& [stretch, all] : shared) {
    const std::uint32_t first = timelines[stretch.first].first;
    const TimelineRows& last = timelines[stretch.second - 1];
    Range& range = ranges.emplace_back(Range{first, last.first + last.n - first, {}});
    for (const Seen* s : all) {
      const auto first_use = static_cast<std::uint32_t>(uses.size());
      for (std::size_t i = 0; i < s->views.size(); ++i)
        add_use(timelines[s->first + i], *s->views[i]);
      const View& view = *s->views.front();
      range.visits.push_back(
          {view.planes, view.begin, view.end, first_use, static_cast<std::uint32_t>(uses.size())});
    }
  }
  for (const TimelineRows& rows : timelines) {
    Range own{rows.first, rows.n, {}};
    for (const View& view : rows.views) {
      if (view.begin == view.end || std::ranges::binary_search(taken, &view)) continue;
      const std::uint32_t use = add_use(rows, view);
      own.visits.push_back({view.planes, view.begin, view.end, use, use + 1});
    }
    ranges.push_back(std::move(own));
  }
  return ranges;
}

std::uint32_t AttentionPlan::add_use(const TimelineRows& rows, const View& view) {
  const auto begin = static_cast<std::int32_t>(view.begin);
  uses.push_back({rows.first, rows.first + rows.n, view.position - begin,
                  move_of(view.position - view.key_position), nullptr, nullptr});
  views_.push_back(&view);
  hidden_at.push_back(kNone);
  positions_at.push_back(kNone);
  if (view.hidden) {
    hidden_at.back() = static_cast<std::ptrdiff_t>(words.size());
    words.insert(words.end(), view.hidden->begin(), view.hidden->end());
  }
  if (!view.positions.empty()) {
    positions_at.back() = static_cast<std::ptrdiff_t>(words.size()) - begin;
    for (const std::int32_t p : view.positions) words.push_back(static_cast<std::uint32_t>(p));
  }
  return static_cast<std::uint32_t>(uses.size() - 1);
}

std::size_t AttentionPlan::use_of(const View& view) const {
  return static_cast<std::size_t>(std::ranges::find(views_, &view) - views_.begin());
}

std::uint32_t AttentionPlan::move_of(std::int32_t distance) {
  const auto known = std::ranges::find(moves, distance);
  const auto index = static_cast<std::uint32_t>(known - moves.begin());
  if (known == moves.end()) moves.push_back(distance);
  return index;
}

void AttentionPlan::add_tasks(const Range& range, bool whole) {
  const bool is_few = tensor_ && range.n * group_ <= kFewQueries;
  Tasks& to = is_few ? few : tensor_ ? tiles : plain;
  const std::uint32_t queries = is_few ? kFewQueries : tensor_ ? kTileQueries : kPlainQueries;
  const std::uint32_t rows_each = std::max(1u, queries / group_);
  const std::uint64_t n_row_tiles = (range.n + rows_each - 1) / rows_each;
  const std::uint64_t in_each = (rows_each * group_ + queries - 1) / queries;
  std::uint64_t keys = 0;
  for (const Visit& visit : range.visits) keys += n_tiles(visit);
  if (keys == 0) return;
  const std::uint64_t blocks = n_row_tiles * in_each * shape_.n_kv_heads;
  const std::uint64_t wanted = kBlocksEach * multiprocessors_;
  const std::uint64_t shares =
      std::clamp<std::uint64_t>(wanted / blocks, 1, std::max<std::uint64_t>(1, keys / kLeastTiles));
  to.most_rows = std::max(to.most_rows, std::min(rows_each, range.n));
  for (std::uint64_t s = 0; s < shares; ++s) {
    const auto first_visit = static_cast<std::uint32_t>(visits.size());
    add_share(range, keys * s / shares, keys * (s + 1) / shares);
    for (std::uint32_t row = 0; row < range.n; row += rows_each) {
      const std::uint32_t n = std::min(rows_each, range.n - row);
      const bool alone = whole && shares == 1;
      to.tasks.push_back({range.first + row, n, first_visit,
                          static_cast<std::uint32_t>(visits.size()), alone ? kWhole : n_partials});
      if (!alone) n_partials += n;
    }
  }
}

// Tiles [first_tile, end_tile) of the range's visits, counted over all of them.
void AttentionPlan::add_share(const Range& range, std::uint64_t first_tile,
                              std::uint64_t end_tile) {
  std::uint64_t at = 0;
  for (const Visit& visit : range.visits) {
    const std::uint64_t n = n_tiles(visit);
    const std::uint64_t from = std::max(first_tile, at), to = std::min(end_tile, at + n);
    if (from < to) {
      Visit part = visit;
      part.begin = visit.begin + static_cast<std::uint32_t>(from - at) * kTileKeys;
      if (to != at + n) part.end = visit.begin + static_cast<std::uint32_t>(to - at) * kTileKeys;
      visits.push_back(part);
    }
    at += n;
  }
}

void AttentionPlan::list_partials(std::uint32_t n_rows) {
  first_of_row.assign(n_rows + 1, 0);
  const auto for_each = [&](auto body) {
    for (const Tasks* all : {&plain, &tiles, &few})
      for (const Task& task : all->tasks)
        for (std::uint32_t i = 0; task.first_partial != kWhole && i < task.n_rows; ++i)
          body(task.first_row + i, task.first_partial + i);
  };
  for_each([&](std::uint32_t row, std::uint32_t) { ++first_of_row[row + 1]; });
  for (std::uint32_t row = 0; row < n_rows; ++row) first_of_row[row + 1] += first_of_row[row];
  partials.resize(n_partials);
  std::vector<std::uint32_t> next(first_of_row.begin(), first_of_row.end() - 1);
  for_each([&](std::uint32_t row, std::uint32_t partial) { partials[next[row]++] = partial; });
}

}  // namespace pc::cuda
