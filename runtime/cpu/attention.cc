#include "runtime/cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pc {
namespace {

// Tokens a task: with a group of 8 heads of 64, its rotated queries (64 KiB)
// and running states (64 KiB) stay in a 512 KiB L2 beside the K/V stream.
constexpr std::uint32_t kTileTokens = 32;

// Tasks a thread should find, so that uneven ones balance.
constexpr std::uint32_t kTasksPerThread = 4;

// Shares the segments may be cut into, and the least blocks (256 tokens) that
// make a share worth its merge.
constexpr std::uint32_t kMaxShares = 16;
constexpr std::uint64_t kMinShareBlocks = 16;

static_assert(static_cast<int>(simd::KvFormat::kF32) == static_cast<int>(KvType::kF32));
static_assert(static_cast<int>(simd::KvFormat::kBf16) == static_cast<int>(KvType::kBf16));
static_assert(static_cast<int>(simd::KvFormat::kQ8) == static_cast<int>(KvType::kQ8));
static_assert(simd::kKeyScaleDims == kKvScaleDims);

// Largest rope_dims / 2 of a head we accept (checked when a model opens).
constexpr std::size_t kMaxHalf = 256;  // kMaxHeadDim / 2

}  // namespace

// A tile of tokens of one kv head, and one thread's scratch.
struct Attention::Task {
  std::uint32_t layer, kv_head, share, thread;
  std::uint32_t first_token, n_tokens;
  const float* q;  // the whole chunk's
};

Attention::Attention(const pc_model_desc& desc, KvType type, const simd::Kernels& kernels,
                     Parallel parallel, std::uint32_t max_tokens, std::uint32_t max_segments)
    : desc_(desc),
      type_(type),
      kernels_(kernels),
      parallel_(parallel),
      group_(desc.n_heads / desc.n_kv_heads),
      geometry_{desc.n_layers, desc.n_kv_heads, desc.head_dim, type},
      state_rows_(std::size_t{std::max(max_tokens, kMaxShares * kTileTokens)} * desc.n_heads),
      max_(state_rows_),
      sum_(state_rows_),
      acc_(state_rows_ * desc.head_dim),
      queries_(std::size_t{parallel.n_threads()} * kTileTokens * group_ * desc.head_dim),
      rows_(std::size_t{parallel.n_threads()} * 2 * kTileTokens * group_),
      biases_(desc.alibi_slopes ? rows_.size() : 0) {
  for (const pc_rope& rope : std::span(desc.ropes, desc.n_ropes)) {
    const std::span inv_freq(rope.inv_freq, rope.dims / 2);
    rotations_.push_back({{inv_freq, max_tokens}, {inv_freq, max_segments}});
  }
  first_block_.reserve(max_segments + 1);
}

void Attention::plan(std::span<const std::int32_t> positions, std::span<const KvSegment> segments) {
  positions_ = positions;
  segments_ = segments;
  for (Rotations& r : rotations_) r.tokens.fill(positions);
  first_block_.clear();
  std::uint64_t blocks = 0;
  for (std::uint32_t s = 0; s < segments.size(); ++s) {
    for (Rotations& r : rotations_)
      r.segments.set(s, segments[s].position - segments[s].key_position);
    first_block_.push_back(blocks);
    blocks += kv_blocks(segments[s].begin + segments[s].n_tokens);
  }
  first_block_.push_back(blocks);

  const auto n_tokens = static_cast<std::uint32_t>(positions.size());
  n_tiles_ = (n_tokens + kTileTokens - 1) / kTileTokens;
  const std::uint32_t tasks = n_tiles_ * desc_.n_kv_heads;
  const std::uint32_t wanted = kTasksPerThread * parallel_.n_threads();
  std::uint64_t shares = parallel_.n_threads() == 1 ? 1 : (wanted + tasks - 1) / tasks;
  shares = std::min<std::uint64_t>({shares, kMaxShares, blocks / kMinShareBlocks,
                                    state_rows_ / (std::size_t{n_tokens} * desc_.n_heads)});
  n_shares_ = static_cast<std::uint32_t>(std::max<std::uint64_t>(shares, 1));
}

std::size_t Attention::state_row(std::uint32_t share, std::uint32_t kv_head,
                                 std::uint32_t token) const {
  return ((std::size_t{share} * desc_.n_kv_heads + kv_head) * positions_.size() + token) * group_;
}

void Attention::run(std::uint32_t layer, const float* q, float* out) {
  const std::uint32_t tiles = n_tiles_ * desc_.n_kv_heads;
  parallel_.for_each(tiles * n_shares_, [&](std::uint32_t task, std::uint32_t thread) {
    attend_task(layer, q, task, thread);
  });
  parallel_.for_each(tiles, [&](std::uint32_t task, std::uint32_t) { merge_task(task, out); });
}

// Folds this share of all segments' blocks into the tile's running states.
void Attention::attend_task(std::uint32_t layer, const float* q, std::uint32_t index,
                            std::uint32_t thread) {
  Task task{};
  task.layer = layer;
  task.thread = thread;
  task.q = q;
  task.share = index % n_shares_;
  task.kv_head = index / n_shares_ % desc_.n_kv_heads;
  task.first_token = index / n_shares_ / desc_.n_kv_heads * kTileTokens;
  task.n_tokens = std::min<std::uint32_t>(
      kTileTokens, static_cast<std::uint32_t>(positions_.size()) - task.first_token);

  const std::size_t row = state_row(task.share, task.kv_head, task.first_token);
  const std::size_t n_rows = std::size_t{task.n_tokens} * group_;
  std::fill_n(max_.data() + row, n_rows, -std::numeric_limits<float>::infinity());
  std::fill_n(sum_.data() + row, n_rows, 0.0f);
  std::fill_n(acc_.data() + row * desc_.head_dim, n_rows * desc_.head_dim, 0.0f);

  const std::uint64_t blocks = first_block_.back();
  const std::uint64_t first = blocks * task.share / n_shares_;
  const std::uint64_t end = blocks * (task.share + 1) / n_shares_;
  auto s = static_cast<std::uint32_t>(
      std::upper_bound(first_block_.begin(), first_block_.end(), first) - first_block_.begin() - 1);
  for (; s < segments_.size() && first_block_[s] < end; ++s) {
    const std::uint64_t from = std::max(first, first_block_[s]) - first_block_[s];
    const std::uint64_t to = std::min(end, first_block_[s + 1]) - first_block_[s];
    attend_segment(task, s, static_cast<std::uint32_t>(from * kKvBlockTokens),
                   static_cast<std::uint32_t>(to * kKvBlockTokens));
  }
}

// Rows [first_row, end_row) of one segment, counted from its block 0.
void Attention::attend_segment(const Task& task, std::uint32_t index, std::uint32_t first_row,
                               std::uint32_t end_row) {
  const KvSegment& segment = segments_[index];
  std::uint32_t* begin = rows_.data() + std::size_t{task.thread} * 2 * kTileTokens * group_;
  std::uint32_t* end = begin + std::size_t{kTileTokens} * group_;
  if (!visible_rows(task, segment, first_row, end_row, begin, end)) return;

  float* rotated =
      queries_.data() + std::size_t{task.thread} * kTileTokens * group_ * desc_.head_dim;
  rotate_queries(task, index, rotated);
  float *slope = nullptr, *origin = nullptr;
  if (desc_.alibi_slopes) {
    slope = biases_.data() + std::size_t{task.thread} * 2 * kTileTokens * group_;
    origin = slope + std::size_t{kTileTokens} * group_;
    fill_biases(task, segment, slope, origin);
  }
  const std::byte* keys = segment.data + task.layer * segment.layer_stride_bytes +
                          task.kv_head * segment.head_stride_bytes;
  const std::size_t row = state_row(task.share, task.kv_head, task.first_token);
  kernels_.attend({rotated, keys, keys + segment.value_offset_bytes, begin, end, max_.data() + row,
                   sum_.data() + row, acc_.data() + row * desc_.head_dim,
                   std::size_t{task.n_tokens} * group_, desc_.head_dim,
                   static_cast<simd::KvFormat>(type_), desc_.attn_softcap, slope, origin});
}

// score += slope * (key position - query position), as the kernel wants it.
void Attention::fill_biases(const Task& task, const KvSegment& segment, float* slope,
                            float* origin) const {
  const std::int32_t base = segment.position - static_cast<std::int32_t>(segment.begin);
  for (std::uint32_t t = 0; t < task.n_tokens; ++t) {
    for (std::uint32_t g = 0; g < group_; ++g) {
      slope[t * group_ + g] = desc_.alibi_slopes[task.kv_head * group_ + g];
      origin[t * group_ + g] = static_cast<float>(base - positions_[task.first_token + t]);
    }
  }
}

// The rows each query may see; false if none sees any. The only place where
// causality and windows are decided, by logical position alone.
bool Attention::visible_rows(const Task& task, const KvSegment& segment, std::uint32_t first_row,
                             std::uint32_t end_row, std::uint32_t* begin,
                             std::uint32_t* end) const {
  const std::int64_t window = desc_.layers[task.layer].window;
  const std::int64_t low = std::max(first_row, segment.begin);
  const std::int64_t high = std::min(end_row, segment.begin + segment.n_tokens);
  const std::int64_t base = std::int64_t{segment.position} - segment.begin;  // position of row 0
  bool any = false;
  for (std::uint32_t t = 0; t < task.n_tokens; ++t) {
    const std::int64_t p = positions_[task.first_token + t];
    const std::int64_t to = std::min(high, p - base + 1);
    const std::int64_t from = window == 0 ? low : std::max(low, p - window + 1 - base);
    const bool visible = from < to;
    any |= visible;
    for (std::uint32_t g = 0; g < group_; ++g) {
      begin[t * group_ + g] = visible ? static_cast<std::uint32_t>(from) : end_row;
      end[t * group_ + g] = visible ? static_cast<std::uint32_t>(to) : first_row;
    }
  }
  return any;
}

// rotated: [n_tokens, group, head_dim], scaled for the softmax.
void Attention::rotate_queries(const Task& task, std::uint32_t index, float* rotated) const {
  const std::uint32_t rope = desc_.layers[task.layer].rope;
  const std::size_t hd = desc_.head_dim;
  const std::size_t half = rope == PC_NO_ROPE ? 0 : desc_.ropes[rope].dims / 2;
  const bool moved = segments_[index].position != segments_[index].key_position;
  float cos[kMaxHalf], sin[kMaxHalf];
  for (std::uint32_t t = 0; t < task.n_tokens; ++t) {
    const std::uint32_t token = task.first_token + t;
    const float *c = nullptr, *s = nullptr;
    if (half != 0) {
      c = rotations_[rope].tokens.cos(token);
      s = rotations_[rope].tokens.sin(token);
      if (moved) {
        subtract_rotation(c, s, rotations_[rope].segments.cos(index),
                          rotations_[rope].segments.sin(index), half, cos, sin);
        c = cos;
        s = sin;
      }
    }
    for (std::uint32_t g = 0; g < group_; ++g) {
      const float* q =
          task.q + (std::size_t{token} * desc_.n_heads + task.kv_head * group_ + g) * hd;
      float* r = rotated + (std::size_t{t} * group_ + g) * hd;
      if (half != 0) kernels_.rotate(q, c, s, half, desc_.ropes[rope].scale * desc_.attn_scale, r);
      for (std::size_t d = 2 * half; d < hd; ++d) r[d] = q[d] * desc_.attn_scale;
    }
  }
}

// Merges the shares of one tile by log-sum-exp and normalises.
void Attention::merge_task(std::uint32_t index, float* out) {
  const std::uint32_t kv_head = index % desc_.n_kv_heads;
  const std::uint32_t first = index / desc_.n_kv_heads * kTileTokens;
  const std::uint32_t last =
      std::min<std::uint32_t>(first + kTileTokens, static_cast<std::uint32_t>(positions_.size()));
  const std::size_t hd = desc_.head_dim;
  for (std::uint32_t token = first; token < last; ++token) {
    for (std::uint32_t g = 0; g < group_; ++g) {
      float top = -std::numeric_limits<float>::infinity();
      for (std::uint32_t s = 0; s < n_shares_; ++s)
        top = std::max(top, max_[state_row(s, kv_head, token) + g]);
      float* o = out + (std::size_t{token} * desc_.n_heads + kv_head * group_ + g) * hd;
      std::fill_n(o, hd, 0.0f);
      float total = 0.0f;
      for (std::uint32_t s = 0; s < n_shares_; ++s) {
        const std::size_t row = state_row(s, kv_head, token) + g;
        if (sum_[row] == 0.0f) continue;  // nothing visible in this share
        const float factor = std::exp(max_[row] - top);
        total += sum_[row] * factor;
        const float* acc = acc_.data() + row * hd;
        for (std::size_t d = 0; d < hd; ++d) o[d] += acc[d] * factor;
      }
      for (std::size_t d = 0; d < hd; ++d) o[d] /= total;  // a query sees itself: total > 0
    }
  }
}

}  // namespace pc
