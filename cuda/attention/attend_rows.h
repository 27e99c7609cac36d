// What the tensor-core kernels of attention know of a block's queries: which rows of a visit's
// bytes each one sees, and the queries themselves, turned for the visit, as a tile of bf16.
//
// Device code. QueryRows and tiles are in shared memory. Functions are called by all threads of
// a block together, but for those that say a warp. Queries past the block's last are copies of
// it: nothing is written for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "cuda/attention/attention.h"
#include "cuda/device/device.h"
#include "cuda/device/numbers.h"

// Before a loop whose counter chooses registers: it must be unrolled, or they are memory.
#ifdef PC_CUDA_STANDIN
#define PC_UNROLL
#else
#define PC_UNROLL _Pragma("unroll")
#endif

namespace pc::cuda {

inline constexpr float kNoScore = -std::numeric_limits<float>::infinity();
inline constexpr std::uint32_t kNeverTurned = UINT32_MAX;

// Elements from a row of a tile to the next: 16 bytes more than its dimensions, so that the 8
// rows that a matrix is loaded from lie in different banks.
__host__ __device__ constexpr int tile_stride(int dims) {
  return dims + 8;
}

// A block's share of a task.
struct QueryBlock {
  Task task;
  std::uint32_t kv_head, group;
  std::uint32_t first, n;  // queries of the task's
};

// Of block (task, kv head, z): n is 0 where the task has no such queries.
template <int kQueries>
__device__ QueryBlock query_block(const AttentionArgs& args) {
  QueryBlock block{args.tasks[blockIdx.x], blockIdx.y, args.n_heads / args.shape.n_kv_heads,
                   blockIdx.z * kQueries, 0};
  const std::uint32_t all = block.task.n_rows * block.group;
  if (block.first < all) block.n = all - block.first < kQueries ? all - block.first : kQueries;
  return block;
}

template <int kQueries>
struct alignas(16) QueryRows {
  std::uint32_t token[kQueries];  // row of the sweep
  std::uint32_t slot[kQueries];   // token * n_heads + head
  std::int32_t position[kQueries];
  std::uint32_t turned[kQueries];  // the move that the tile of queries is turned by
  // Of the visit at hand, in shared memory too: registers are scarce. Who hides rows or has gaps
  // between them is the visit's only use.
  const std::byte *keys, *values;  // row 0 of the planes
  const std::uint32_t* hidden;
  const std::int32_t* positions;
  std::int32_t begin[kQueries], end[kQueries];  // rows of the planes, or kNoneBegin and kNoneEnd
  std::int32_t origin[kQueries];                // position - position of the planes' row 0
  std::uint32_t move[kQueries];
};

// Ends of rows that see nothing: begin > end, and neither widens what others see.
inline constexpr std::int32_t kNoneBegin = INT32_MAX, kNoneEnd = INT32_MIN;

template <int kQueries>
__device__ void fill_rows(const AttentionArgs& args, const QueryBlock& block,
                          QueryRows<kQueries>& rows) {
  for (std::uint32_t i = threadIdx.x; i < kQueries; i += blockDim.x) {
    const std::uint32_t query = block.first + (i < block.n ? i : block.n - 1);
    const std::uint32_t token = block.task.first_row + query / block.group;
    rows.token[i] = token;
    rows.slot[i] = token * args.n_heads + block.kv_head * block.group + query % block.group;
    rows.position[i] = args.positions[token];
    rows.turned[i] = kNeverTurned;
  }
}

// By halves: a visit may have a use for each of many timelines.
__device__ inline Use use_of_token(const AttentionArgs& args, const Visit& visit,
                                   std::uint32_t token) {
  std::uint32_t low = visit.first_use, high = visit.end_use;
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (args.uses[middle].first_row <= token ? low : high) = middle;
  }
  return args.uses[low];
}

// The first row of [begin, end) whose position is not smaller, or `end`.
__device__ inline std::int32_t first_row_from(const Use& use, const Visit& visit,
                                              std::int64_t position) {
  if (!use.positions) {
    const std::int64_t row = position - use.position;
    return static_cast<std::int32_t>(row < visit.begin ? visit.begin
                                     : row > visit.end ? visit.end
                                                       : row);
  }
  std::uint32_t low = visit.begin, high = visit.end;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (use.positions[middle] < position)
      low = middle + 1;
    else
      high = middle;
  }
  return static_cast<std::int32_t>(low);
}

// What each query sees of the visit. True to all threads if some must be turned otherwise than
// the tile has them. Rows and tiles of the visit before are free from here on.
template <int kQueries>
__device__ bool look_at(const AttentionArgs& args, const Visit& visit, std::uint32_t kv_head,
                        QueryRows<kQueries>& rows) {
  __syncthreads();
  if (threadIdx.x == 0) {
    rows.keys = visit.planes.keys(args.shape, args.layer, kv_head);
    rows.values = visit.planes.values(args.shape, args.layer, kv_head);
    rows.hidden = args.uses[visit.first_use].hidden;
    rows.positions = args.uses[visit.first_use].positions;
  }
  bool turn = false;
  for (std::uint32_t i = threadIdx.x; i < kQueries; i += blockDim.x) {
    const Use use = use_of_token(args, visit, rows.token[i]);
    const std::int64_t position = rows.position[i];
    const std::int32_t end = first_row_from(use, visit, position + 1);
    const std::int32_t begin = args.window == 0
                                   ? static_cast<std::int32_t>(visit.begin)
                                   : first_row_from(use, visit, position + 1 - args.window);
    rows.begin[i] = begin < end ? begin : kNoneBegin;
    rows.end[i] = begin < end ? end : kNoneEnd;
    rows.origin[i] = rows.position[i] - use.position;
    rows.move[i] = args.half == 0 ? 0 : use.move;
    turn |= rows.move[i] != rows.turned[i];
  }
  return __syncthreads_or(turn) != 0;
}

// Rows of the planes that some, and that all, of a number of queries see, but for hidden ones.
struct Seen {
  std::int32_t any_begin, any_end, all_begin, all_end;
};

// Of n queries, to all lanes of a warp.
__device__ inline Seen seen_by(const std::int32_t* begin, const std::int32_t* end, int n) {
  Seen seen{INT32_MAX, INT32_MIN, INT32_MIN, INT32_MAX};
  const auto add = [&](const Seen& other) {
    if (other.any_begin < seen.any_begin) seen.any_begin = other.any_begin;
    if (other.any_end > seen.any_end) seen.any_end = other.any_end;
    if (other.all_begin > seen.all_begin) seen.all_begin = other.all_begin;
    if (other.all_end < seen.all_end) seen.all_end = other.all_end;
  };
  const int lane = threadIdx.x % kWarp;
  for (int i = lane; i < n; i += kWarp) add({begin[i], end[i], begin[i], end[i]});
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    add({__shfl_xor_sync(kEveryLane, seen.any_begin, offset),
         __shfl_xor_sync(kEveryLane, seen.any_end, offset),
         __shfl_xor_sync(kEveryLane, seen.all_begin, offset),
         __shfl_xor_sync(kEveryLane, seen.all_end, offset)});
  return seen;
}

// Bits of the hidden ones of rows [first, first + kKeys) of the planes: first % min(kKeys, 32) is
// 0. Words of rows from `end` on alone are not read.
template <int kKeys>
__device__ std::uint64_t hidden_of(const std::uint32_t* hidden, std::int32_t first,
                                   std::int32_t end) {
  if (!hidden) return 0;
  if constexpr (kKeys < 32) {
    return hidden[first / 32] >> first % 32 & ((1u << kKeys) - 1);
  } else {
    std::uint64_t bits = hidden[first / 32];
    if (kKeys > 32 && first + 32 < end) bits |= std::uint64_t{hidden[first / 32 + 1]} << 32;
    return bits;
  }
}

// Dimensions of a query's row in their own order (Order: where a row has dimension d).
struct InOrder {
  __device__ static int place(int d) { return d; }
};

// kBatch queries, by a warp: what they are made of is all loaded before the first is made.
template <int kBatch, int kQueries, class Order, int kDims>
__device__ void turn_batch(const AttentionArgs& args, const QueryRows<kQueries>& rows, int first,
                           float scale, std::uint16_t* tile) {
  const int half = static_cast<int>(args.half), dims = static_cast<int>(args.shape.head_dim);
  const float turned_scale = args.rope_scale * scale;
  for (int i = threadIdx.x % kWarp; i < half; i += kWarp) {
    float low[kBatch], high[kBatch];
    float2 row[kBatch], move[kBatch];
    PC_UNROLL
    for (int b = 0; b < kBatch; ++b) {
      const float* q = args.q + std::size_t{rows.slot[first + b]} * dims;
      low[b] = q[i];
      high[b] = q[i + half];
      row[b] = args.rotations.rows[std::size_t{rows.token[first + b]} * half + i];
      move[b] = args.rotations.moves[std::size_t{rows.move[first + b]} * half + i];
    }
    PC_UNROLL
    for (int b = 0; b < kBatch; ++b) {
      const float c = (row[b].x * move[b].x + row[b].y * move[b].y) * turned_scale;
      const float s = (row[b].y * move[b].x - row[b].x * move[b].y) * turned_scale;
      std::uint16_t* to = tile + (first + b) * tile_stride(kDims);
      to[Order::place(i)] = to_bf16(low[b] * c - high[b] * s);
      to[Order::place(i + half)] = to_bf16(high[b] * c + low[b] * s);
    }
  }
  for (int d = 2 * half + threadIdx.x % kWarp; d < dims; d += kWarp) PC_UNROLL
  for (int b = 0; b < kBatch; ++b)
    tile[(first + b) * tile_stride(kDims) + Order::place(d)] =
        to_bf16(args.q[std::size_t{rows.slot[first + b]} * dims + d] * scale);
}

// The queries as the visit's keys want them, times `scale`.
template <int kDims, class Order, int kQueries>
__device__ void turn_queries(const AttentionArgs& args, QueryRows<kQueries>& rows, float scale,
                             std::uint16_t* tile) {
  constexpr int kBatch = kQueries < 64 ? 4 : 8;
  const int warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  for (int first = warp * kBatch; first < kQueries; first += warps * kBatch)
    turn_batch<kBatch, kQueries, Order, kDims>(args, rows, first, scale, tile);
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < kQueries; i += blockDim.x) rows.turned[i] = rows.move[i];
}

}  // namespace pc::cuda
