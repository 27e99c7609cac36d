// Attention of many queries: a warp has 32 of them (16 of heads above 128), and all warps of a
// block multiply them with the same tile of 64 keys, then of their values, in shared memory. One
// is loaded while the other is multiplied.

#include "cuda/attention/attend_forms.h"
#include "cuda/attention/attend_tile.h"
#include "cuda/attention/attention.h"

namespace pc::cuda {
namespace {

constexpr int kKeys = 64;

// What a kernel is made for. Shared memory: rows of queries, the tile of queries, and of bf16 a
// tile of keys and one of values; of q8 one tile that holds keys and values in turn, and the rows
// it is made from.
template <KvType kType_, int kDims_, bool kBiased_>
struct Form {
  static constexpr KvType kType = kType_;
  static constexpr int kDims = kDims_;
  static constexpr bool kBiased = kBiased_;  // scores are capped, or biased by distance
  static constexpr bool kBf16 = kType == KvType::kBf16;

  // 128 results of f32 a lane leave registers for little else.
  static constexpr int kGroups = kDims <= 128 ? 2 : 1;
  static constexpr int kThreads = kTileQueries / (kGroups * kSide) * kWarp;
  static constexpr int kMinBlocks = kDims <= 128 ? 2 : 1;  // of an SM's registers

  using Rows = QueryRows<kTileQueries>;
  static constexpr std::size_t kRowsBytes = sizeof(Rows);
  static constexpr std::size_t kQueriesBytes = kTileQueries * tile_stride(kDims) * 2;
  static constexpr std::size_t kTileBytes = kKeys * tile_stride(kDims) * 2;
  static constexpr std::size_t kSecondBytes = kBf16 ? kTileBytes : kKeys * row_bytes(kType, kDims);
  static constexpr std::size_t kBytes = kRowsBytes + kQueriesBytes + kTileBytes + kSecondBytes;
};

template <class Form>
struct Shared {
  typename Form::Rows& rows;
  std::uint16_t *queries, *keys, *values;
  std::byte* raw;  // q8

  __device__ explicit Shared(std::byte* bytes)
      : rows(*reinterpret_cast<typename Form::Rows*>(bytes)),
        queries(reinterpret_cast<std::uint16_t*>(bytes + Form::kRowsBytes)),
        keys(queries + Form::kQueriesBytes / 2),
        values(Form::kBf16 ? keys + Form::kTileBytes / 2 : keys),
        raw(reinterpret_cast<std::byte*>(keys + Form::kTileBytes / 2)) {}

  // Zeros, which dimensions that the head does not have stay.
  __device__ void clear() const {
    std::byte* const bytes = reinterpret_cast<std::byte*>(queries);
    for (std::size_t at = threadIdx.x * 16; at < Form::kBytes - Form::kRowsBytes;
         at += Form::kThreads * 16)
      clear_16(bytes + at);
  }
};

// A tile of a visit that some query of the block sees.
struct Stretch {
  std::int32_t begin, end;  // what is seen of the visit
  std::int32_t first;       // the tile's
  std::uint64_t hidden;

  __device__ void move_to(std::int32_t row, const std::uint32_t* hidden_bits) {
    first = row;
    hidden = hidden_of<kKeys>(hidden_bits, first, end);
  }
};

template <class Form>
__device__ void begin_copy(const std::byte* plane, const KvShape& shape, const Stretch& tile,
                           std::uint16_t* to, std::byte* raw) {
  if constexpr (Form::kBf16) {
    copy_tile<kKeys, Form::kDims, Form::kThreads>(plane, shape, tile.first, tile.begin, tile.end,
                                                  tile.hidden, threadIdx.x, to);
  } else {
    const std::int32_t begin = tile.first > tile.begin ? tile.first : tile.begin;
    const std::int32_t end = tile.end - tile.first < kKeys ? tile.end : tile.first + kKeys;
    copy_rows<Form::kThreads>(plane, shape, tile.first, begin, end, threadIdx.x, raw);
  }
  commit_copies();
}

// Rows of q8 as bf16; those that begin_copy left out, and hidden ones, as zeros.
template <class Form, bool kOfKeys>
__device__ void widen(const std::byte* raw, const KvShape& shape, const Stretch& tile,
                      std::uint16_t* to) {
  constexpr int kPieces = Form::kDims / 8;
  for (int i = threadIdx.x; i < kKeys * kPieces; i += Form::kThreads) {
    const int key = i / kPieces, d = i % kPieces * 8;
    if (d >= static_cast<int>(shape.head_dim)) continue;
    const std::int32_t row = tile.first + key;
    std::uint16_t* const out = to + key * tile_stride(Form::kDims) + d;
    if (row < tile.begin || row >= tile.end || (tile.hidden >> key & 1) != 0) {
      clear_16(out);
      continue;
    }
    const std::byte* const from = raw + std::size_t{shape.row()} * key;
    const std::byte* const scales = from + scales_at(shape.head_dim);
    const float scale =
        kOfKeys ? from_bf16(reinterpret_cast<const std::uint16_t*>(scales)[d / kScaleDims])
                : *reinterpret_cast<const float*>(scales);
    const auto codes = *reinterpret_cast<const uint2*>(from + d);
    const auto pair = [&](std::uint32_t low_bytes) {
      return to_bf16_pair(scale * static_cast<float>(static_cast<std::int8_t>(low_bytes)),
                          scale * static_cast<float>(static_cast<std::int8_t>(low_bytes >> 8)));
    };
    *reinterpret_cast<uint4*>(out) =
        make_uint4(pair(codes.x), pair(codes.x >> 16), pair(codes.y), pair(codes.y >> 16));
  }
}

// What was begun is there for all threads, and what was there before has been read by all.
template <class Form, bool kOfKeys>
__device__ void finish_copy(const Shared<Form>& shared, const KvShape& shape, const Stretch& tile) {
  wait_for_copies<0>();
  __syncthreads();
  if constexpr (!Form::kBf16) {
    widen<Form, kOfKeys>(shared.raw, shape, tile, kOfKeys ? shared.keys : shared.values);
    __syncthreads();
  }
}

// The warp's queries: from `first` of the block's on.
template <class Form>
struct Warp {
  int first;
  bool idle;  // it has none
  Seen seen;
  Running<Form::kGroups, Form::kDims> running;

  // Weights of a tile's keys. False if no query sees any.
  __device__ bool attend(const AttentionArgs& args, const Shared<Form>& shared, const Stretch& tile,
                         Weights<Form::kGroups, kKeys>& weights) {
    const std::int32_t end = tile.first + kKeys;
    if (idle || seen.any_begin >= end || seen.any_end <= tile.first) return false;
    Scores<Form::kGroups, kKeys> scores;
    multiply_keys<Form::kGroups, kKeys, Form::kDims>(
        shared.queries + first * tile_stride(Form::kDims), shared.keys, scores);
    if constexpr (Form::kBiased)
      bias_scores<Form::kGroups, kKeys>(args, shared.rows, first, tile.first, tile.end, scores);
    if (tile.first < seen.all_begin || end > seen.all_end || tile.hidden != 0)
      mask_scores<Form::kGroups, kKeys>(shared.rows, first, tile.first, tile.hidden, scores);
    const auto same = [](float weight, int, int) { return weight; };
    weigh<Form::kGroups, kKeys>(scores, running, weights, same);
    return true;
  }
};

template <class Form>
__device__ void attend_visit(const AttentionArgs& args, Visit visit, std::uint32_t kv_head,
                             const Shared<Form>& shared, Warp<Form>& warp) {
  const auto& rows = shared.rows;
  const bool turn = look_at(args, visit, kv_head, shared.rows);
  const Seen seen = seen_by(rows.begin, rows.end, kTileQueries);
  if (seen.any_begin >= seen.any_end) return;
  warp.seen = seen_by(rows.begin + warp.first, rows.end + warp.first, Form::kGroups * kSide);
  Stretch tile{seen.any_begin, seen.any_end, 0, 0};
  tile.move_to(rows.hidden ? seen.any_begin / 32 * 32 : seen.any_begin, rows.hidden);
  begin_copy<Form>(rows.keys, args.shape, tile, shared.keys, shared.raw);
  if (turn)
    turn_queries<Form::kDims, InOrder>(
        args, shared.rows, args.attn_scale * (Form::kBiased ? 1.0f : kLog2E), shared.queries);
  for (;;) {
    finish_copy<Form, true>(shared, args.shape, tile);
    begin_copy<Form>(rows.values, args.shape, tile, shared.values, shared.raw);
    Weights<Form::kGroups, kKeys> weights;
    const bool any = warp.attend(args, shared, tile, weights);
    finish_copy<Form, false>(shared, args.shape, tile);
    const bool last = tile.end - tile.first <= kKeys;
    if (!last) {
      tile.move_to(tile.first + kKeys, rows.hidden);
      begin_copy<Form>(rows.keys, args.shape, tile, shared.keys, shared.raw);
    }
    if (any) add_values<Form::kGroups, kKeys>(weights, shared.values, warp.running);
    if (last) return;
  }
}

// Two neighbouring dimensions.
__device__ inline void write_pair(void* out, bool bf16, std::size_t at, float low, float high) {
  if (bf16)
    *reinterpret_cast<std::uint32_t*>(static_cast<std::uint16_t*>(out) + at) =
        to_bf16_pair(low, high);
  else
    *reinterpret_cast<float2*>(static_cast<float*>(out) + at) = make_float2(low, high);
}

template <class Form>
__device__ void write(const AttentionArgs& args, const QueryBlock& block,
                      const typename Form::Rows& rows, const Warp<Form>& warp) {
  const bool whole = block.task.first_partial == kWhole;
  const int lane = threadIdx.x % kWarp, dims = static_cast<int>(args.shape.head_dim);
  PC_UNROLL
  for (int g = 0; g < Form::kGroups; ++g) {
    PC_UNROLL
    for (int h = 0; h < 2; ++h) {
      const int query = warp.first + g * kSide + h * 8 + lane / 4;
      const float sum = sum_of_row(warp.running.sum[g][h]);
      if (query >= static_cast<int>(block.n)) continue;
      std::size_t slot = rows.slot[query];
      float factor = 1.0f;
      if (whole) {
        factor = sum == 0.0f ? 0.0f : 1.0f / sum;
      } else {
        slot += (std::size_t{block.task.first_partial} - block.task.first_row) * args.n_heads;
        if (lane % 4 == 0) args.sums[slot] = make_float2(warp.running.top[g][h] * kLn2, sum);
      }
      PC_UNROLL
      for (int n = 0; n < Form::kDims / 8; ++n) {
        const int d = n * 8 + lane % 4 * 2;
        if (d >= dims) break;
        const auto& acc = warp.running.acc[g][n];
        write_pair(whole ? args.out : args.partial_out, whole && args.out_bf16, slot * dims + d,
                   acc[2 * h] * factor, acc[2 * h + 1] * factor);
      }
    }
  }
}

template <class Form>
__global__ __launch_bounds__(Form::kThreads,
                             Form::kMinBlocks) void tiles_kernel(AttentionArgs args) {
  const QueryBlock block = query_block<kTileQueries>(args);
  if (block.n == 0) return;
  const Shared<Form> shared(dynamic_shared<std::byte>());
  fill_rows(args, block, shared.rows);
  if (args.shape.head_dim != Form::kDims) shared.clear();
  __syncthreads();
  Warp<Form> warp;
  warp.first = threadIdx.x / kWarp * Form::kGroups * kSide;
  warp.idle = warp.first >= static_cast<int>(block.n);
  warp.running.clear();
  for (std::uint32_t v = block.task.first_visit; v < block.task.end_visit; ++v)
    attend_visit(args, args.visits[v], block.kv_head, shared, warp);
  write(args, block, shared.rows, warp);
}

template <class Form>
void start(const AttentionArgs& args, dim3 grid, cudaStream_t stream) {
  cudaFuncSetAttribute(tiles_kernel<Form>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(Form::kBytes));
  launch(tiles_kernel<Form>, grid, dim3(Form::kThreads), Form::kBytes, stream, args);
}

}  // namespace

bool attend_tiles_fits(const KvShape& shape) {
  return shape.type != KvType::kF32 && shape.head_dim % kSide == 0 && shape.head_dim <= 256;
}

void attend_tiles(const AttentionArgs& args, std::uint32_t n_tasks, std::uint32_t most_rows,
                  cudaStream_t stream) {
  if (n_tasks == 0 || most_rows == 0) return;
  const std::uint32_t queries = most_rows * (args.n_heads / args.shape.n_kv_heads);
  const dim3 grid(n_tasks, args.shape.n_kv_heads, (queries + kTileQueries - 1) / kTileQueries);
  choose_form(args, [&](auto type, auto dims, auto biased) {
    start<Form<type(), dims(), biased()>>(args, grid, stream);
  });
}

}  // namespace pc::cuda
