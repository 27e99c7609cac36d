// Which keys a row sees, by logical position alone: causality, windows and hidden tokens, as the
// kernels in f32 decide them; those for tensor cores have the same rule, as ranges of rows
// (cuda/attention/attend_rows.h). Device code.
#pragma once

#include "cuda/attention/attention.h"

namespace pc::cuda {

// How a row of the sweep sees a visit's bytes.
__device__ inline const Use& use_of(const AttentionArgs& args, const Visit& visit,
                                    std::uint32_t row) {
  std::uint32_t u = visit.first_use;
  while (u + 1 < visit.end_use && args.uses[u].end_row <= row) ++u;
  return args.uses[u];
}

__device__ inline bool is_hidden(const Use& use, std::uint32_t kv_row) {
  return use.hidden && (use.hidden[kv_row / 32] >> kv_row % 32 & 1u) != 0;
}

struct RowRangeSeen {
  std::uint32_t begin, end;  // rows of the planes; empty where begin >= end
};

// Rows of the planes that any row of the sweep in [first_row, end_row) may see, hidden ones
// included: a timeline's rows come in order of position. Where positions have gaps all that are
// there.
__device__ inline RowRangeSeen rows_seen(const AttentionArgs& args, const Visit& visit,
                                         std::uint32_t first_row, std::uint32_t end_row) {
  std::int64_t begin = visit.end, end = visit.begin;
  for (std::uint32_t u = visit.first_use; u < visit.end_use; ++u) {
    const Use& use = args.uses[u];
    const std::uint32_t first = first_row > use.first_row ? first_row : use.first_row;
    const std::uint32_t last = end_row < use.end_row ? end_row : use.end_row;
    if (first >= last) continue;
    if (use.positions) return {visit.begin, visit.end};
    const std::int64_t to = std::int64_t{args.positions[last - 1]} + 1 - use.position;
    const std::int64_t least = std::int64_t{args.positions[first]} + 1 - use.position;
    const std::int64_t from = args.window == 0 ? 0 : least - args.window;
    if (to <= visit.begin || from >= visit.end) continue;
    begin = from < begin ? from : begin;
    end = to > end ? to : end;
  }
  begin = begin < visit.begin ? visit.begin : begin;
  end = end > visit.end ? visit.end : end;
  if (begin >= end) return {0, 0};
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
}

}  // namespace pc::cuda
