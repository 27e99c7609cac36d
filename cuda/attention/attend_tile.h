// Products of a warp's queries with tiles of keys and values on tensor cores, and the running
// softmax between them, as FlashAttention-2 has them (Dao 2023, arXiv 2307.08691).
//
// Device code, by whole warps. Queries are taken 16 at a time (kGroups of them); a lane holds, of
// each 16 x 8 tile of scores or of results, columns 2 * (lane % 4) and the next of rows lane / 4
// and lane / 4 + 8: [kGroups][tile][4], the second row's in the last two.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/attention/attend_rows.h"

namespace pc::cuda {

inline constexpr float kLog2E = 1.4426950408889634f, kLn2 = 0.6931471805599453f;

// Of the 16 queries, keys or dimensions of a product.
inline constexpr int kSide = 16;

// All numbers that a lane holds.
template <std::size_t kGroups, std::size_t kTiles, class Function>
__device__ void for_each(float (&numbers)[kGroups][kTiles][4], Function function) {
  PC_UNROLL
  for (std::size_t i = 0; i < kGroups * kTiles * 4; ++i)
    function(numbers[i / (kTiles * 4)][i / 4 % kTiles][i % 4]);
}

template <int kGroups, int kKeys>
using Scores = float[kGroups][kKeys / 8][4];

// Pairs of bf16, of columns as above.
template <int kGroups, int kKeys>
using Weights = std::uint32_t[kGroups][kKeys / 8][2];

// Scores are in units of log 2.
template <int kGroups, int kDims>
struct Running {
  float top[kGroups][2], sum[kGroups][2];  // the sum: of this lane's keys alone
  float acc[kGroups][kDims / 8][4];

  __device__ void clear() {
    PC_UNROLL
    for (int i = 0; i < kGroups * 2; ++i) {
      top[i / 2][i % 2] = kNoScore;
      sum[i / 2][i % 2] = 0.0f;
    }
    for_each(acc, [](float& x) { x = 0.0f; });
  }
};

// scores = queries [16 * kGroups, kDims] x keys [kKeys, kDims], both bf16 with tile_stride.
template <int kGroups, int kKeys, int kDims>
__device__ void multiply_keys(const std::uint16_t* queries, const std::uint16_t* keys,
                              Scores<kGroups, kKeys>& scores) {
  constexpr int kStride = tile_stride(kDims);
  const int lane = threadIdx.x % kWarp;
  queries += lane % 16 * kStride + lane / 16 * 8;
  keys += (lane % 8 + lane / 16 * 8) * kStride + lane / 8 % 2 * 8;
  for_each(scores, [](float& x) { x = 0.0f; });
  PC_UNROLL
  for (int d = 0; d < kDims; d += kSide) {
    std::uint32_t a[kGroups][4];
    PC_UNROLL
    for (int g = 0; g < kGroups; ++g) load_tiles(a[g], queries + g * kSide * kStride + d);
    PC_UNROLL
    for (int k = 0; k < kKeys; k += kSide) {
      std::uint32_t b[4];
      load_tiles(b, keys + k * kStride + d);
      PC_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        multiply_tiles(scores[g][k / 8], a[g], {b[0], b[1]});
        multiply_tiles(scores[g][k / 8 + 1], a[g], {b[2], b[3]});
      }
    }
  }
}

// acc += weights x values [kKeys, kDims].
template <int kGroups, int kKeys, int kDims>
__device__ void add_values(const Weights<kGroups, kKeys>& weights, const std::uint16_t* values,
                           Running<kGroups, kDims>& running) {
  constexpr int kStride = tile_stride(kDims);
  const int lane = threadIdx.x % kWarp;
  values += lane % 16 * kStride + lane / 16 * 8;
  PC_UNROLL
  for (int k = 0; k < kKeys; k += kSide) {
    std::uint32_t a[kGroups][4];
    PC_UNROLL
    for (int i = 0; i < kGroups * 4; ++i)
      a[i / 4][i % 4] = weights[i / 4][k / 8 + i % 4 / 2][i % 2];
    PC_UNROLL
    for (int d = 0; d < kDims; d += kSide) {
      std::uint32_t b[4];
      load_tiles_transposed(b, values + k * kStride + d);
      PC_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        multiply_tiles(running.acc[g][d / 8], a[g], {b[0], b[1]});
        multiply_tiles(running.acc[g][d / 8 + 1], a[g], {b[2], b[3]});
      }
    }
  }
}

// cap * tanh(x / cap). Exact enough for what is multiplied in bf16.
__device__ inline float capped(float x, float cap, float twice_inverse) {
  return cap - __fdividef(2.0f * cap, __expf(x * twice_inverse) + 1.0f);
}

// What models add to a score: its cap, and ALiBi's bias by distance. Makes natural units those
// of log 2. `first`: the tile's first row of the planes; those from `end` on are not there.
template <int kGroups, int kKeys, int kQueries>
__device__ void bias_scores(const AttentionArgs& args, const QueryRows<kQueries>& rows,
                            int first_query, std::int32_t first, std::int32_t end,
                            Scores<kGroups, kKeys>& scores) {
  if (args.softcap != 0.0f) {
    const float cap = args.softcap, twice_inverse = 2.0f / cap;
    for_each(scores, [&](float& x) { x = capped(x, cap, twice_inverse); });
  }
  if (args.slopes) {
    const int lane = threadIdx.x % kWarp;
    PC_UNROLL
    for (int i = 0; i < kGroups * 4; ++i) {
      const int query = first_query + i / 2 * 8 + lane / 4;
      const float slope = args.slopes[rows.slot[query] % args.n_heads];
      std::int32_t key = first + lane % 4 * 2 + i % 2, distance = rows.origin[query] - key;
      PC_UNROLL
      for (auto& tile : scores[i / 4]) {
        if (rows.positions && key < end) distance = rows.position[query] - rows.positions[key];
        tile[i % 4] -= slope * static_cast<float>(distance);
        key += 8;
        distance -= 8;
      }
    }
  }
  for_each(scores, [](float& x) { x *= kLog2E; });
}

// No score for what a query does not see. hidden: bits from row `first` of the planes on.
template <int kGroups, int kKeys, int kQueries>
__device__ void mask_scores(const QueryRows<kQueries>& rows, int first_query, std::int32_t first,
                            std::uint64_t hidden, Scores<kGroups, kKeys>& scores) {
  const int lane = threadIdx.x % kWarp;
  first += lane % 4 * 2;
  hidden >>= lane % 4 * 2;
  PC_UNROLL
  for (int g = 0; g < kGroups; ++g) {
    PC_UNROLL
    for (int h = 0; h < 2; ++h) {
      const int query = first_query + g * kSide + h * 8 + lane / 4;
      const std::int32_t begin = rows.begin[query], end = rows.end[query];
      PC_UNROLL
      for (int i = 0; i < kKeys / 4; ++i) {
        const int key = i / 2 * 8 + i % 2;
        if (first + key < begin || first + key >= end || (hidden >> key & 1) != 0)
          scores[g][i / 2][2 * h + i % 2] = kNoScore;
      }
    }
  }
}

// Weights of scores: 1 of the greatest so far; what was added before is made to fit. factor(w, n,
// i): what multiplies the values instead of w, in column i of the lane's two of tile n.
template <int kGroups, int kKeys, int kDims, class Factor>
__device__ void weigh(const Scores<kGroups, kKeys>& scores, Running<kGroups, kDims>& running,
                      Weights<kGroups, kKeys>& weights, Factor factor) {
  PC_UNROLL
  for (int g = 0; g < kGroups; ++g) {
    PC_UNROLL
    for (int h = 0; h < 2; ++h) {
      float top = running.top[g][h];
      PC_UNROLL
      for (const auto& tile : scores[g]) top = fmaxf(top, fmaxf(tile[2 * h], tile[2 * h + 1]));
      top = fmaxf(top, __shfl_xor_sync(kEveryLane, top, 1));
      top = fmaxf(top, __shfl_xor_sync(kEveryLane, top, 2));
      const float least = top == kNoScore ? 0.0f : top;  // not to subtract infinities
      const float fitting = exp2f(running.top[g][h] - least);
      running.top[g][h] = top;
      float sum = running.sum[g][h] * fitting;
      PC_UNROLL
      for (int n = 0; n < kKeys / 8; ++n) {
        const float low = exp2f(scores[g][n][2 * h] - least);
        const float high = exp2f(scores[g][n][2 * h + 1] - least);
        sum += low + high;
        weights[g][n][h] = to_bf16_pair(factor(low, n, 0), factor(high, n, 1));
      }
      running.sum[g][h] = sum;
      if (fitting == 1.0f) continue;
      PC_UNROLL
      for (auto& tile : running.acc[g]) {
        tile[2 * h] *= fitting;
        tile[2 * h + 1] *= fitting;
      }
    }
  }
}

// Of all keys, to the four lanes that share a row.
__device__ inline float sum_of_row(float sum) {
  sum += __shfl_xor_sync(kEveryLane, sum, 1);
  return sum + __shfl_xor_sync(kEveryLane, sum, 2);
}

// 16 bytes of zeros.
__device__ inline void clear_16(void* shared) {
  *static_cast<uint4*>(shared) = make_uint4(0, 0, 0, 0);
}

// Begins to copy rows [first, first + kKeys) of a plane of bf16 to a tile, by kThreads. Rows
// that are not in [begin, end), or are hidden, are zero: what they hold may be no number.
template <int kKeys, int kDims, int kThreads>
__device__ void copy_tile(const std::byte* plane, const KvShape& shape, std::int32_t first,
                          std::int32_t begin, std::int32_t end, std::uint64_t hidden, int thread,
                          std::uint16_t* tile) {
  // Threads of a row, a power of two: each copies 16 bytes of every kStep-th row.
  constexpr int kPieces = kDims <= 64 ? 8 : kDims <= 128 ? 16 : 32;
  constexpr int kStep = kThreads / kPieces;
  const int piece = thread % kPieces, top = thread / kPieces;
  if (piece * 8 >= static_cast<int>(shape.head_dim)) return;
  first += top;
  hidden >>= top;
  tile += top * tile_stride(kDims) + piece * 8;
  const std::byte* from = plane + std::int64_t{shape.row()} * first + piece * 16;
  PC_UNROLL
  for (int key = 0; key < kKeys; key += kStep) {
    const std::int32_t row = first + key;
    if (row >= begin && row < end && (hidden >> key & 1) == 0)
      copy_async_16(tile + key * tile_stride(kDims), from);
    else
      clear_16(tile + key * tile_stride(kDims));
    from += std::size_t{shape.row()} * kStep;
  }
}

// Begins to copy rows [begin, end) of a plane as they are, to where row `first` is byte 0.
template <int kThreads>
__device__ void copy_rows(const std::byte* plane, const KvShape& shape, std::int32_t first,
                          std::int32_t begin, std::int32_t end, int thread, std::byte* shared) {
  const std::size_t row = shape.row();
  for (std::size_t at = (begin - first) * row + thread * 16; at < (end - first) * row;
       at += kThreads * 16)
    copy_async_16(shared + at, plane + first * row + at);
}

}  // namespace pc::cuda
