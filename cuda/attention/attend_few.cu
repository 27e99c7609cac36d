// Attention of few queries, which is to read K and V as fast as memory gives them. All warps of a
// block have the same 16 queries; each takes every fourth 16 keys and their values, loads the
// next ones while it multiplies, and has a softmax of its own until they merge at the end.
//
// Codes of q8 are multiplied as they are, exact in bf16. A query's dimensions are in such an order
// that a lane finds 8 neighbouring codes of a key as parts of its two products of 16 dimensions
// each, and those of the values likewise; scales multiply the sums, and the weights of values.

#include <type_traits>

#include "cuda/attention/attend_forms.h"
#include "cuda/attention/attend_tile.h"
#include "cuda/attention/attention.h"

namespace pc::cuda {
namespace {

constexpr int kQueries = static_cast<int>(kFewQueries);
constexpr int kKeys = 16, kWarps = 4, kStages = 2;

// Dimensions of a query for codes: kScaleDims of them are two products, in which lanes with
// j = lane % 4 hold elements 2j, 2j + 1, 2j + 8 and 2j + 9; they are to be dimensions 8j to 8j + 7.
struct InCodes {
  __device__ static int place(int d) {
    const int j = d % kScaleDims / 8, e = d % 8;
    return d / kScaleDims * kScaleDims + e / 4 * kSide + e % 4 / 2 * 8 + 2 * j + e % 2;
  }
};

// What a kernel is made for. Shared memory: rows of queries, the tile of queries, what warps
// merge by, and stages of the keys and values of each warp, in whose place they merge.
template <KvType kType, int kDims_, bool kBiased_>
struct Form {
  static constexpr int kDims = kDims_;
  static constexpr bool kBiased = kBiased_;  // scores are capped, or biased by distance
  static constexpr bool kBf16 = kType == KvType::kBf16;
  using Order = std::conditional_t<kBf16, InOrder, InCodes>;
  using Rows = QueryRows<kQueries>;

  static constexpr int kMergeStride = kDims + 8;  // floats; rows begin in different banks
  static constexpr std::size_t kQueriesBytes = kQueries * tile_stride(kDims) * 2;
  static constexpr std::size_t kEndsBytes = kWarps * kQueries * sizeof(float2);
  static constexpr std::size_t kHalfBytes =  // keys or values of a stage
      kKeys * (kBf16 ? 2 * tile_stride(kDims) : row_bytes(kType, kDims));
  static constexpr std::size_t kWarpBytes = 2 * kStages * kHalfBytes;
  static constexpr std::size_t kBytes =
      sizeof(Rows) + kQueriesBytes + kEndsBytes + kWarps * kWarpBytes;
  static_assert(kQueries * kMergeStride * sizeof(float) <= kWarpBytes);
  static constexpr int kMinBlocks = kDims <= 64 ? 4 : kDims <= 128 ? 3 : 1;
};

template <class Form>
struct Shared {
  typename Form::Rows& rows;
  std::uint16_t* queries;
  float2* ends;       // [warps, queries] top and sum
  std::byte* staged;  // [warps]

  __device__ explicit Shared(std::byte* bytes)
      : rows(*reinterpret_cast<typename Form::Rows*>(bytes)),
        queries(reinterpret_cast<std::uint16_t*>(bytes + sizeof(rows))),
        ends(reinterpret_cast<float2*>(bytes + sizeof(rows) + Form::kQueriesBytes)),
        staged(reinterpret_cast<std::byte*>(ends) + Form::kEndsBytes) {}

  // Zeros, which dimensions that the head does not have stay.
  __device__ void clear() const {
    std::byte* const bytes = reinterpret_cast<std::byte*>(queries);
    for (std::size_t at = threadIdx.x * 16; at < Form::kBytes - sizeof(rows);
         at += kWarps * kWarp * 16)
      clear_16(bytes + at);
  }
};

// Two codes, the lowest bytes of words, as a pair of bf16.
__device__ inline std::uint32_t code_pair(std::uint32_t low, std::uint32_t high) {
  const auto bits = [](std::uint32_t word) {
    return bits_of(static_cast<float>(static_cast<std::int8_t>(word)));
  };
  return bits(low) >> 16 | (bits(high) & 0xffff0000u);
}

// Scores of q8 keys as they lie in their plane.
template <int kDims>
__device__ void multiply_codes(const std::uint16_t* queries, const std::byte* keys,
                               const KvShape& shape, Scores<1, kKeys>& scores) {
  const int lane = threadIdx.x % kWarp, row = static_cast<int>(shape.row());
  const int dims = static_cast<int>(shape.head_dim);
  queries += lane % 16 * tile_stride(kDims) + lane / 16 * 8;
  const std::byte* const codes = keys + lane / 4 * row + lane % 4 * 8;
  const std::byte* const scales = keys + lane % 4 * 2 * row + scales_at(shape.head_dim);
  for_each(scores, [](float& x) { x = 0.0f; });
  PC_UNROLL
  for (int d = 0; d < kDims; d += kScaleDims) {
    if (d >= dims) break;
    std::uint32_t low[4], high[4];
    load_tiles(low, queries + d);
    load_tiles(high, queries + d + kSide);
    PC_UNROLL
    for (int n = 0; n < kKeys / 8; ++n) {
      const auto code = *reinterpret_cast<const uint2*>(codes + n * 8 * row + d);
      float sums[4] = {};
      multiply_tiles(sums, low,
                     {code_pair(code.x, code.x >> 8), code_pair(code.x >> 16, code.x >> 24)});
      multiply_tiles(sums, high,
                     {code_pair(code.y, code.y >> 8), code_pair(code.y >> 16, code.y >> 24)});
      PC_UNROLL
      for (int i = 0; i < 2; ++i) {
        const float scale = from_bf16(
            reinterpret_cast<const std::uint16_t*>(scales + (n * 8 + i) * row)[d / kScaleDims]);
        scores[0][n][i] += sums[i] * scale;
        scores[0][n][i + 2] += sums[i + 2] * scale;
      }
    }
  }
}

// acc += weights x codes of q8 values. Columns n of the four tiles from d / 8 on are dimensions
// d + 4 * n to d + 4 * n + 3.
template <int kDims>
__device__ void add_codes(const Weights<1, kKeys>& weights, const std::byte* values,
                          const KvShape& shape, Running<1, kDims>& running) {
  const int lane = threadIdx.x % kWarp, row = static_cast<int>(shape.row());
  const int dims = static_cast<int>(shape.head_dim);
  values += lane % 4 * 2 * row + lane / 4 * 4;
  const std::uint32_t a[4] = {weights[0][0][0], weights[0][0][1], weights[0][1][0],
                              weights[0][1][1]};
  PC_UNROLL
  for (int d = 0; d < kDims; d += 32) {
    if (d >= dims) break;
    std::uint32_t codes[4];
    PC_UNROLL
    for (int i = 0; i < 4; ++i)
      codes[i] = *reinterpret_cast<const std::uint32_t*>(values + (i / 2 * 8 + i % 2) * row + d);
    PC_UNROLL
    for (int e = 0; e < 4; ++e)
      multiply_tiles(running.acc[0][d / 8 + e], a,
                     {code_pair(codes[0] >> 8 * e, codes[1] >> 8 * e),
                      code_pair(codes[2] >> 8 * e, codes[3] >> 8 * e)});
  }
}

template <class Form>
struct Warp {
  int index;
  std::byte* staged;
  Running<1, Form::kDims> running;

  __device__ std::byte* keys(int stage) const { return staged + stage * 2 * Form::kHalfBytes; }
  __device__ std::byte* values(int stage) const { return keys(stage) + Form::kHalfBytes; }

  // Begins to copy keys and values of rows from `first` on.
  __device__ void begin_copy(const AttentionArgs& args, const typename Form::Rows& rows,
                             const Seen& seen, std::int32_t first, int stage) const {
    const int lane = threadIdx.x % kWarp;
    if constexpr (Form::kBf16) {
      const std::uint64_t hidden = hidden_of<kKeys>(rows.hidden, first, seen.any_end);
      const auto copy = [&](const std::byte* plane, std::byte* to) {
        copy_tile<kKeys, Form::kDims, kWarp>(plane, args.shape, first, seen.any_begin, seen.any_end,
                                             hidden, lane, reinterpret_cast<std::uint16_t*>(to));
      };
      copy(rows.keys, keys(stage));
      copy(rows.values, values(stage));
    } else {
      const std::int32_t begin = max(first, seen.any_begin), end = min(first + kKeys, seen.any_end);
      copy_rows<kWarp>(rows.keys, args.shape, first, begin, end, lane, keys(stage));
      copy_rows<kWarp>(rows.values, args.shape, first, begin, end, lane, values(stage));
    }
  }

  __device__ void scores_of(const AttentionArgs& args, const Shared<Form>& shared, const Seen& seen,
                            std::int32_t first, int stage, Scores<1, kKeys>& scores) const {
    if constexpr (Form::kBf16)
      multiply_keys<1, kKeys, Form::kDims>(
          shared.queries, reinterpret_cast<const std::uint16_t*>(keys(stage)), scores);
    else
      multiply_codes<Form::kDims>(shared.queries, keys(stage), args.shape, scores);
    if constexpr (Form::kBiased)
      bias_scores<1, kKeys>(args, shared.rows, 0, first, seen.any_end, scores);
    const std::uint64_t hidden = hidden_of<kKeys>(shared.rows.hidden, first, seen.any_end);
    if (first < seen.all_begin || first + kKeys > seen.all_end || hidden != 0)
      mask_scores<1, kKeys>(shared.rows, 0, first, hidden, scores);
  }

  // Folds keys and values of rows from `first` on, which are there, into what is running.
  __device__ void fold(const AttentionArgs& args, const Shared<Form>& shared, const Seen& seen,
                       std::int32_t first, int stage) {
    Scores<1, kKeys> scores;
    Weights<1, kKeys> weights;
    scores_of(args, shared, seen, first, stage, scores);
    if constexpr (Form::kBf16) {
      const auto same = [](float weight, int, int) { return weight; };
      weigh<1, kKeys>(scores, running, weights, same);
      add_values<1, kKeys>(weights, reinterpret_cast<const std::uint16_t*>(values(stage)), running);
    } else {
      const std::byte* const scales = values(stage) + scales_at(args.shape.head_dim);
      const auto scaled = [&](float weight, int n, int i) {
        const std::size_t key = n * 8 + threadIdx.x % 4 * 2 + i;
        const float scale = *reinterpret_cast<const float*>(scales + key * args.shape.row());
        return weight == 0.0f ? 0.0f : weight * scale;  // of what is not seen: no number, maybe
      };
      weigh<1, kKeys>(scores, running, weights, scaled);
      add_codes<Form::kDims>(weights, values(stage), args.shape, running);
    }
  }
};

// done: tiles of the visits before, so that warps have as many of all of them.
template <class Form>
__device__ void attend_visit(const AttentionArgs& args, Visit visit, std::uint32_t kv_head,
                             const Shared<Form>& shared, Warp<Form>& warp, int& done) {
  const auto& rows = shared.rows;
  const bool turn = look_at(args, visit, kv_head, shared.rows);
  const Seen seen = seen_by(rows.begin, rows.end, kQueries);
  if (seen.any_begin >= seen.any_end) return;
  const std::int32_t begin = rows.hidden ? seen.any_begin / kKeys * kKeys : seen.any_begin;
  std::int32_t first = begin + (warp.index + kWarps - done % kWarps) % kWarps * kKeys;
  done += (seen.any_end - begin + kKeys - 1) / kKeys;
  const auto begin_copy = [&](std::int32_t row, int stage) {
    if (row < seen.any_end) warp.begin_copy(args, rows, seen, row, stage);
    commit_copies();
  };
  begin_copy(first, 0);
  if (turn)
    turn_queries<Form::kDims, typename Form::Order>(
        args, shared.rows, args.attn_scale * (Form::kBiased ? 1.0f : kLog2E), shared.queries);
  for (int stage = 0; first < seen.any_end; stage ^= 1) {
    const std::int32_t next = first + kWarps * kKeys;
    begin_copy(next, stage ^ 1);
    wait_for_copies<kStages - 1>();
    __syncwarp();
    warp.fold(args, shared, seen, first, stage);
    __syncwarp();
    first = next;
  }
}

// Leaves what a warp has in shared memory, in place of what it staged.
template <class Form>
__device__ void leave(const Shared<Form>& shared, const Warp<Form>& warp) {
  const int lane = threadIdx.x % kWarp;
  wait_for_copies<0>();
  __syncwarp();
  float* const acc = reinterpret_cast<float*>(warp.staged);
  PC_UNROLL
  for (int i = 0; i < 4; ++i) {
    const int query = i / 2 * 8 + lane / 4, column = lane % 4 * 2 + i % 2;
    PC_UNROLL
    for (int n = 0; n < Form::kDims / 8; ++n) {
      const int d = Form::kBf16 ? n * 8 + column : n / 4 * 32 + column * 4 + n % 4;
      acc[query * Form::kMergeStride + d] = warp.running.acc[0][n][i];
    }
    const float sum = sum_of_row(warp.running.sum[0][i / 2]);
    if (lane % 4 == 0 && i % 2 == 0)
      shared.ends[warp.index * kQueries + query] = make_float2(warp.running.top[0][i / 2], sum);
  }
  __syncthreads();
}

// Merges what the warps left, and writes it: a warp every fourth query.
template <class Form>
__device__ void write(const AttentionArgs& args, const QueryBlock& block,
                      const Shared<Form>& shared, int warp) {
  const bool whole = block.task.first_partial == kWhole;
  const int lane = threadIdx.x % kWarp, dims = static_cast<int>(args.shape.head_dim);
  for (int query = warp; query < static_cast<int>(block.n); query += kWarps) {
    float top = kNoScore, sum = 0.0f, factors[kWarps];
    for (int w = 0; w < kWarps; ++w) top = fmaxf(top, shared.ends[w * kQueries + query].x);
    PC_UNROLL
    for (int w = 0; w < kWarps; ++w) {
      const float2 end = shared.ends[w * kQueries + query];
      factors[w] = end.y == 0.0f ? 0.0f : exp2f(end.x - top);
      sum += end.y * factors[w];
    }
    std::size_t slot = shared.rows.slot[query];
    if (!whole) {
      slot += (std::size_t{block.task.first_partial} - block.task.first_row) * args.n_heads;
      if (lane == 0) args.sums[slot] = make_float2(top * kLn2, sum);
    }
    const float factor = !whole ? 1.0f : sum == 0.0f ? 0.0f : 1.0f / sum;
    for (int d = lane; d < dims; d += kWarp) {
      float x = 0.0f;
      PC_UNROLL
      for (int w = 0; w < kWarps; ++w)
        x += factors[w] * reinterpret_cast<const float*>(
                              shared.staged + w * Form::kWarpBytes)[query * Form::kMergeStride + d];
      x *= factor;
      if (!whole)
        args.partial_out[slot * dims + d] = x;
      else if (args.out_bf16)
        static_cast<std::uint16_t*>(args.out)[slot * dims + d] = to_bf16(x);
      else
        static_cast<float*>(args.out)[slot * dims + d] = x;
    }
  }
}

template <class Form>
__global__ __launch_bounds__(kWarps* kWarp, Form::kMinBlocks) void few_kernel(AttentionArgs args) {
  const QueryBlock block = query_block<kQueries>(args);
  if (block.n == 0) return;
  const Shared<Form> shared(dynamic_shared<std::byte>());
  fill_rows(args, block, shared.rows);
  if (args.shape.head_dim != Form::kDims) shared.clear();
  __syncthreads();
  Warp<Form> warp;
  warp.index = static_cast<int>(threadIdx.x / kWarp);
  warp.staged = shared.staged + warp.index * Form::kWarpBytes;
  warp.running.clear();
  int done = 0;
  for (std::uint32_t v = block.task.first_visit; v < block.task.end_visit; ++v)
    attend_visit(args, args.visits[v], block.kv_head, shared, warp, done);
  leave(shared, warp);
  write(args, block, shared, warp.index);
}

template <class Form>
void start(const AttentionArgs& args, dim3 grid, cudaStream_t stream) {
  cudaFuncSetAttribute(few_kernel<Form>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(Form::kBytes));
  launch(few_kernel<Form>, grid, dim3(kWarps * kWarp), Form::kBytes, stream, args);
}

}  // namespace

void attend_few(const AttentionArgs& args, std::uint32_t n_tasks, std::uint32_t most_rows,
                cudaStream_t stream) {
  if (n_tasks == 0 || most_rows == 0) return;
  const std::uint32_t queries = most_rows * (args.n_heads / args.shape.n_kv_heads);
  const dim3 grid(n_tasks, args.shape.n_kv_heads, (queries + kFewQueries - 1) / kFewQueries);
  choose_form(args, [&](auto type, auto dims, auto biased) {
    start<Form<type(), dims(), biased()>>(args, grid, stream);
  });
}

}  // namespace pc::cuda
