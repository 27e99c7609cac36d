// Attention in f32 throughout, for any type of states and any head: what exact precision and the
// shapes that tensor cores do not take are computed by. A block takes a tile of keys at a time
// into shared memory; its threads share out the products.

#include "cuda/attention/attention.h"
#include "cuda/attention/visible.h"
#include "cuda/states/kv_numbers.h"

namespace pc::cuda {
namespace {

constexpr unsigned kThreads = 128;

// Queries and keys of a tile, so that a head of 512 fits 99 KiB of shared memory, the least of
// the GPUs since sm_80: 4 bytes x 512 x (2 x 8 queries + 2 x 16 keys) = 96 KiB.
__host__ __device__ std::uint32_t tile_queries(std::uint32_t head_dim) {
  return head_dim > 256 ? kPlainQueries / 2 : kPlainQueries;
}
__host__ __device__ std::uint32_t tile_keys(std::uint32_t head_dim) {
  return head_dim > 128 ? 16 : 32;
}

struct Tile {
  float *q, *acc;             // [queries, head_dim]
  float* k;                   // [keys, head_dim + 1]: rows begin on different banks
  float* v;                   // [keys, head_dim]
  float* weights;             // [queries, keys]
  float *max, *sum, *factor;  // [queries]
  std::int32_t* positions;    // [keys]
};

__host__ __device__ std::size_t tile_floats(std::uint32_t hd) {
  const std::size_t nq = tile_queries(hd), nk = tile_keys(hd);
  return 2 * nq * hd + nk * (2 * hd + 1) + nq * nk + 3 * nq + nk;
}

__device__ Tile carve(float* shared, std::uint32_t hd) {
  const std::size_t nq = tile_queries(hd), nk = tile_keys(hd);
  Tile t;
  t.q = shared;
  t.acc = t.q + nq * hd;
  t.k = t.acc + nq * hd;
  t.v = t.k + nk * (hd + 1);
  t.weights = t.v + nk * hd;
  t.max = t.weights + nq * nk;
  t.sum = t.max + nq;
  t.factor = t.sum + nq;
  t.positions = reinterpret_cast<std::int32_t*>(t.factor + nq);
  return t;
}

// The block's queries: [first, first + n) of the task's.
struct Queries {
  std::uint32_t first, n, group;
  Task task;
  std::uint32_t kv_head;
  __device__ std::uint32_t row(std::uint32_t q) const {
    return task.first_row + (first + q) / group;
  }
  __device__ std::uint32_t head(std::uint32_t q) const {
    return kv_head * group + (first + q) % group;
  }
};

__device__ void rotate_queries(const AttentionArgs& args, const Queries& queries,
                               const Visit& visit, const Tile& tile) {
  const std::uint32_t hd = args.shape.head_dim, half = args.half;
  for (std::uint32_t i = threadIdx.x; i < queries.n * hd; i += blockDim.x) {
    const std::uint32_t q = i / hd, d = i % hd, row = queries.row(q);
    const float* from = args.q + (std::size_t{row} * args.n_heads + queries.head(q)) * hd;
    float x = from[d] * args.attn_scale;
    if (d < 2 * half) {
      const std::uint32_t pair = d < half ? d : d - half;
      const float2 a = args.rotations.rows[std::size_t{row} * half + pair];
      const Use use = use_of(args, visit, row);
      const float2 b = args.rotations.moves[std::size_t{use.move} * half + pair];
      const float c = a.x * b.x + a.y * b.y, s = a.y * b.x - a.x * b.y;
      const float other = from[d < half ? d + half : d - half];
      x = (from[d] * c + (d < half ? -other : other) * s) * (args.rope_scale * args.attn_scale);
    }
    tile.q[i] = x;
  }
}

// Keys and values of rows [first, first + n) of the planes; what nobody sees is zero, so that it
// adds nothing whatever it holds.
__device__ void load_tile(const AttentionArgs& args, const Queries& queries, const Visit& visit,
                          std::uint32_t first, std::uint32_t n, const Tile& tile) {
  const std::uint32_t hd = args.shape.head_dim;
  const std::byte* keys = visit.planes.keys(args.shape, args.layer, queries.kv_head);
  const std::byte* values = visit.planes.values(args.shape, args.layer, queries.kv_head);
  const Use& use = args.uses[visit.first_use];
  for (std::uint32_t i = threadIdx.x; i < n * hd; i += blockDim.x) {
    const std::uint32_t t = i / hd, d = i % hd, row = first + t;
    const std::size_t at = std::size_t{row} * args.shape.row();
    const bool hidden = is_hidden(use, row);
    tile.k[t * (hd + 1) + d] = hidden ? 0.0f : key_number(args.shape, keys + at, d);
    tile.v[i] = hidden ? 0.0f : value_number(args.shape, values + at, d);
  }
  for (std::uint32_t t = threadIdx.x; t < n; t += blockDim.x)
    tile.positions[t] =
        use.positions ? use.positions[first + t] : static_cast<std::int32_t>(first + t);
}

__device__ float score_of(const AttentionArgs& args, const Queries& queries, const Visit& visit,
                          const Tile& tile, std::uint32_t q, std::uint32_t t, bool hidden) {
  const std::uint32_t hd = args.shape.head_dim, row = queries.row(q);
  const Use use = use_of(args, visit, row);
  const std::int32_t position = tile.positions[t] + (use.positions ? 0 : use.position);
  const std::int32_t distance = args.positions[row] - position;
  if (hidden || distance < 0 ||
      (args.window != 0 && distance >= static_cast<std::int32_t>(args.window)))
    return -INFINITY;
  float score = 0.0f;
  for (std::uint32_t d = 0; d < hd; ++d) score += tile.q[q * hd + d] * tile.k[t * (hd + 1) + d];
  if (args.softcap != 0.0f) score = args.softcap * tanhf(score / args.softcap);
  if (args.slopes) score -= args.slopes[queries.head(q)] * static_cast<float>(distance);
  return score;
}

// Folds n keys into the running states.
__device__ void fold(const AttentionArgs& args, const Queries& queries, const Visit& visit,
                     std::uint32_t first, std::uint32_t n, const Tile& tile) {
  const std::uint32_t hd = args.shape.head_dim, nk = tile_keys(hd);
  const Use& first_use = args.uses[visit.first_use];
  for (std::uint32_t i = threadIdx.x; i < queries.n * n; i += blockDim.x) {
    const std::uint32_t q = i / n, t = i % n;
    tile.weights[q * nk + t] =
        score_of(args, queries, visit, tile, q, t, is_hidden(first_use, first + t));
  }
  __syncthreads();
  for (std::uint32_t q = threadIdx.x; q < queries.n; q += blockDim.x) {
    float top = tile.max[q], sum = 0.0f;
    for (std::uint32_t t = 0; t < n; ++t) top = fmaxf(top, tile.weights[q * nk + t]);
    for (std::uint32_t t = 0; t < n; ++t) {
      float& w = tile.weights[q * nk + t];
      w = w == -INFINITY ? 0.0f : expf(w - top);
      sum += w;
    }
    tile.factor[q] = top == tile.max[q] ? 1.0f : expf(tile.max[q] - top);
    tile.sum[q] = tile.sum[q] * tile.factor[q] + sum;
    tile.max[q] = top;
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < queries.n * hd; i += blockDim.x) {
    const std::uint32_t q = i / hd, d = i % hd;
    float acc = tile.acc[i] * tile.factor[q];
    for (std::uint32_t t = 0; t < n; ++t) {
      const float w = tile.weights[q * nk + t];
      if (w != 0.0f) acc += w * tile.v[t * hd + d];  // what is not seen may be no number
    }
    tile.acc[i] = acc;
  }
  __syncthreads();
}

__device__ void write_results(const AttentionArgs& args, const Queries& queries, const Tile& tile) {
  const std::uint32_t hd = args.shape.head_dim;
  const bool whole = queries.task.first_partial == kWhole;
  for (std::uint32_t i = threadIdx.x; i < queries.n * hd; i += blockDim.x) {
    const std::uint32_t q = i / hd, row = queries.row(q);
    const std::size_t out_row =
        whole ? row : queries.task.first_partial + row - queries.task.first_row;
    const std::size_t head = out_row * args.n_heads + queries.head(q), at = head * hd + i % hd;
    if (!whole) {
      args.partial_out[at] = tile.acc[i];
      if (i % hd == 0) args.sums[head] = make_float2(tile.max[q], tile.sum[q]);
      continue;
    }
    const float x = tile.sum[q] == 0.0f ? 0.0f : tile.acc[i] / tile.sum[q];
    if (args.out_bf16)
      static_cast<std::uint16_t*>(args.out)[at] = to_bf16(x);
    else
      static_cast<float*>(args.out)[at] = x;
  }
}

__global__ void plain_kernel(AttentionArgs args) {
  const std::uint32_t hd = args.shape.head_dim;
  const Tile tile = carve(dynamic_shared<float>(), hd);
  Queries queries{blockIdx.z * tile_queries(hd), 0, args.n_heads / args.shape.n_kv_heads,
                  args.tasks[blockIdx.x], blockIdx.y};
  const std::uint32_t all = queries.task.n_rows * queries.group;
  if (queries.first >= all) return;
  queries.n = all - queries.first < tile_queries(hd) ? all - queries.first : tile_queries(hd);
  for (std::uint32_t i = threadIdx.x; i < queries.n * hd; i += blockDim.x) tile.acc[i] = 0.0f;
  for (std::uint32_t q = threadIdx.x; q < queries.n; q += blockDim.x) {
    tile.max[q] = -INFINITY;
    tile.sum[q] = 0.0f;
  }
  __syncthreads();
  const std::uint32_t first_row = queries.row(0), end_row = queries.row(queries.n - 1) + 1;
  for (std::uint32_t v = queries.task.first_visit; v < queries.task.end_visit; ++v) {
    const Visit visit = args.visits[v];
    const RowRangeSeen seen = rows_seen(args, visit, first_row, end_row);
    if (seen.begin >= seen.end) continue;
    rotate_queries(args, queries, visit, tile);
    for (std::uint32_t first = seen.begin; first < seen.end; first += tile_keys(hd)) {
      const std::uint32_t n = seen.end - first < tile_keys(hd) ? seen.end - first : tile_keys(hd);
      load_tile(args, queries, visit, first, n, tile);
      __syncthreads();
      fold(args, queries, visit, first, n, tile);
    }
  }
  write_results(args, queries, tile);
}

// A block for a row and a head.
__global__ void merge_kernel(MergeArgs args) {
  const std::uint32_t row = blockIdx.x, head = blockIdx.y;
  const std::uint32_t first = args.first_of_row[row], end = args.first_of_row[row + 1];
  if (first == end) return;
  float top = -INFINITY, total = 0.0f;
  for (std::uint32_t i = first; i < end; ++i)
    top = fmaxf(top, args.sums[std::size_t{args.partials[i]} * args.n_heads + head].x);
  for (std::uint32_t i = first; i < end; ++i) {
    const float2 s = args.sums[std::size_t{args.partials[i]} * args.n_heads + head];
    if (s.y != 0.0f) total += s.y * expf(s.x - top);
  }
  for (std::uint32_t d = threadIdx.x; d < args.head_dim; d += blockDim.x) {
    float x = 0.0f;
    for (std::uint32_t i = first; i < end; ++i) {
      const std::size_t at = std::size_t{args.partials[i]} * args.n_heads + head;
      if (args.sums[at].y != 0.0f)
        x += args.partial_out[at * args.head_dim + d] * expf(args.sums[at].x - top);
    }
    const std::size_t at = (std::size_t{row} * args.n_heads + head) * args.head_dim + d;
    if (args.out_bf16)
      static_cast<std::uint16_t*>(args.out)[at] = to_bf16(x / total);
    else
      static_cast<float*>(args.out)[at] = x / total;
  }
  if (args.log_sums && threadIdx.x == 0)
    args.log_sums[std::size_t{row} * args.n_heads + head] = top + logf(total);
}

}  // namespace

void attend_plain(const AttentionArgs& args, std::uint32_t n_tasks, std::uint32_t most_rows,
                  cudaStream_t stream) {
  const std::uint32_t hd = args.shape.head_dim, nq = tile_queries(hd);
  const std::size_t bytes = tile_floats(hd) * sizeof(float);
  constexpr std::size_t kAlwaysFits = 48 << 10;
  if (bytes > kAlwaysFits)
    cudaFuncSetAttribute(plain_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         static_cast<int>(bytes));
  const std::uint32_t queries = most_rows * (args.n_heads / args.shape.n_kv_heads);
  const dim3 grid(n_tasks, args.shape.n_kv_heads, (queries + nq - 1) / nq);
  launch(plain_kernel, grid, kThreads, bytes, stream, args);
}

void merge_attention(const MergeArgs& args, cudaStream_t stream) {
  constexpr unsigned kMergeThreads = 128;
  launch(merge_kernel, dim3(args.n_rows, args.n_heads), kMergeThreads, 0, stream, args);
}

}  // namespace pc::cuda
