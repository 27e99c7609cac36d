// Who sees what in a sweep, as tasks for the attention kernels (cuda/attention/attention.h).
//
// Neighbouring timelines that have the same module attached read it together: a task has the
// rows of all of them, so that many requests behind one document read it once. A range of rows
// with little to do by itself has its keys shared out among tasks, whose results are merged.
// Owns what it makes, reused from sweep to sweep. Threads: one at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/attention/attention.h"

namespace pc::cuda {

// Bytes that a timeline's rows may see.
struct View {
  KvPlanesView planes;
  std::uint32_t begin, end;                            // rows of the planes
  std::int32_t position;                               // logical, of row `begin`
  std::int32_t key_position;                           // at which its key was rotated
  const std::vector<std::uint32_t>* hidden = nullptr;  // a bit for each row of the planes
  std::span<const std::int32_t> positions = {};        // [end - begin] where they have gaps
};

// Rows [first, first + n) of a sweep, in order of position.
struct TimelineRows {
  std::uint32_t first, n;
  std::vector<View> views;
};

class AttentionPlan {
 public:
  // multiprocessors: of the device. tensor_cores: may their kernels be used?
  AttentionPlan(const KvShape& shape, std::uint32_t n_heads, std::uint32_t multiprocessors,
                bool tensor_cores);

  // merge_all: every row's results are merged, so that the sums of all its weights are known.
  void make(std::span<const TimelineRows> timelines, bool merge_all);

  // Which use a view became: one of the timelines that were given to make().
  std::size_t use_of(const View& view) const;

  struct Tasks {
    std::vector<Task> tasks;
    std::uint32_t most_rows = 0;
  };
  Tasks plain, tiles, few;  // by the kernel that takes them
  std::vector<Visit> visits;
  // Pointers of uses are null; where a view has hidden rows or positions, they are here instead,
  // [uses] as offsets of the planes' row 0 into `words`, or kNone.
  std::vector<Use> uses;
  std::vector<std::ptrdiff_t> hidden_at, positions_at;
  std::vector<std::uint32_t> words;
  static constexpr std::ptrdiff_t kNone = PTRDIFF_MAX;

  std::vector<std::int32_t> moves;          // distinct distances of uses
  std::vector<std::uint32_t> first_of_row;  // MergeArgs
  std::vector<std::uint32_t> partials;
  std::uint32_t n_partials = 0;

 private:
  struct Range;
  std::vector<Range> ranges_of(std::span<const TimelineRows> timelines);
  void add_tasks(const Range& range, bool whole);
  void add_share(const Range& range, std::uint64_t first_tile, std::uint64_t end_tile);
  void list_partials(std::uint32_t n_rows);
  std::uint32_t add_use(const TimelineRows& rows, const View& view);
  std::uint32_t move_of(std::int32_t distance);

  std::vector<const View*> views_;  // [uses]
  KvShape shape_;
  std::uint32_t group_, multiprocessors_;
  bool tensor_;
};

}  // namespace pc::cuda
