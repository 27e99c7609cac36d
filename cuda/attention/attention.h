// Attention of a sweep's rows over segments of K/V, as kernels take it.
//
// A *task* is neighbouring rows of the sweep, for every kv head: n_rows * group queries, group
// being n_heads / n_kv_heads, query q being head q % group of row q / group. It *visits* bytes of
// K/V one after the other; a *use* says for some of its rows where those bytes stand. A row sees
// the keys at positions not larger than its own and, with a window w, larger than its own - w
// (DESIGN D1): queries are turned back by as much as a module's keys were moved.
//
// The parts of a row's attention that several tasks computed are merged by their log-sum-exp
// (merge_attention), or written at once where a task sees all that its rows see.
// Plain data, made on the host (cuda/attention/attention_plan.h), read on the device.
#pragma once

#include <cstdint>

#include "cuda/device/device.h"
#include "cuda/states/kv_rows.h"

namespace pc::cuda {

// Rows [first_row, end_row) of the sweep see a visit's bytes so.
struct Use {
  std::uint32_t first_row, end_row;
  std::int32_t position;          // logical, of the visit's row 0 (KvPlanesView's, not `begin`)
  std::uint32_t move;             // row of AttentionArgs::moves: position - key position
  const std::uint32_t* hidden;    // device; null, or a bit for each row of the planes
  const std::int32_t* positions;  // device; null, or of each row where they have gaps; increasing
};

struct Visit {
  KvPlanesView planes;
  std::uint32_t begin, end;          // rows of the planes
  std::uint32_t first_use, end_use;  // in order of rows; they cover all of the task's rows
};

struct Task {
  std::uint32_t first_row, n_rows;  // of the sweep
  std::uint32_t first_visit, end_visit;
  // Rows of the partial results, or kWhole: the task sees all that its rows see, and writes `out`.
  std::uint32_t first_partial;
};
inline constexpr std::uint32_t kWhole = UINT32_MAX;

// A number as (cos, sin) of each rotated pair.
struct Rotations {
  const float2* rows;   // [rows of the sweep, half] by logical position
  const float2* moves;  // [moves, half] by position - key position
};

struct AttentionArgs {
  KvShape shape;
  std::uint32_t layer, n_heads;
  std::uint32_t window;  // 0: none
  std::uint32_t half;    // rotated pairs (i, i + half) of a head; 0: none
  float rope_scale;      // of rotated dimensions
  float attn_scale;      // of all
  float softcap;         // 0: none
  Rotations rotations;
  const float* slopes;            // null, or ALiBi's [n_heads]
  const std::int32_t* positions;  // [rows] logical
  const float* q;                 // [rows, n_heads, head_dim] not rotated
  const Task* tasks;
  const Visit* visits;
  const Use* uses;
  void* out;  // [rows, n_heads, head_dim] f32 or bf16
  bool out_bf16;
  float2* sums;        // [partials, n_heads] largest score, and sum of exponentials below it
  float* partial_out;  // [partials, n_heads, head_dim] sums of exponentials times values
};

// Queries that a block of each kernel takes at once: further ones of a task in further blocks (z).
inline constexpr std::uint32_t kPlainQueries = 16;

// In f32 throughout, for any type and head_dim. Queues on the stream.
void attend_plain(const AttentionArgs& args, std::uint32_t n_tasks, std::uint32_t most_rows,
                  cudaStream_t stream);

// bf16 and q8 states, head_dim a multiple of 16 up to 256: products of bf16 on tensor cores, sums
// and softmax in f32. Of many queries, and of few.
bool attend_tiles_fits(const KvShape& shape);
inline constexpr std::uint32_t kTileQueries = 128;
inline constexpr std::uint32_t kFewQueries = 16;
void attend_tiles(const AttentionArgs& args, std::uint32_t n_tasks, std::uint32_t most_rows,
                  cudaStream_t stream);
void attend_few(const AttentionArgs& args, std::uint32_t n_tasks, std::uint32_t most_rows,
                cudaStream_t stream);

struct MergeArgs {
  std::uint32_t n_rows, n_heads, head_dim;
  const std::uint32_t* first_of_row;  // [n_rows + 1] in `partials`; none: written by its task
  const std::uint32_t* partials;      // rows of sums and partial_out
  const float2* sums;
  const float* partial_out;
  void* out;
  bool out_bf16;
  float* log_sums;  // null, or [n_rows, n_heads]: log of the sum of all exponentials
};
void merge_attention(const MergeArgs& args, cudaStream_t stream);

}  // namespace pc::cuda
