#include "runtime/cpu/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/backend/layer_parts.h"
#include "runtime/cpu/attention/attention_task.h"
#include "runtime/cpu/states/kv_row.h"
#include "runtime/cpu/states/spread.h"

namespace pc {
namespace {

// Rows a task: with a group of 8 heads of 64, its rotated queries (64 KiB)
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
static_assert(static_cast<int>(simd::KvFormat::kQ4) == static_cast<int>(KvType::kQ4));
static_assert(simd::kKeyScaleDims == kKvScaleDims);
static_assert(simd::kQ4ValueDims == kQ4ValueDims);

// Distances by which modules are moved that are remembered; prompts that share modules share most.
constexpr std::uint32_t kMostMoves = 1024;

// Largest rope_dims / 2 of a head we accept (checked when a model opens).
constexpr std::size_t kMaxHalf = simd::kMaxAttendHeadDim / 2;

std::uint32_t group_of(const pc_layer& layer) {
  return attends(layer) ? layer.n_heads / layer.n_kv_heads : 0;
}

// A norm behind rotation is one without weights before it, since rotation keeps lengths, and then
// its weights, of which the keys' may be the queries': what is stored can then be moved.
void weigh_rotated(const pc_layer& layer, float* query) {
  const float* const q = vector_of(layer.q_norm);
  const float* const k = vector_of(layer.k_norm);
  for (std::uint32_t d = 0; d < layer.head_dim; ++d) query[d] *= q[d] * k[d];
}

// The first row whose position is not smaller, counted from block 0, or one past them; one that is
// not in the segment, where that follows from its ends alone.
std::int64_t first_row_from(const KvSegment& segment, std::int64_t position) {
  if (!segment.positions) return position - segment.position + segment.begin;
  const std::int32_t* const end = segment.positions + segment.n_tokens;
  return std::lower_bound(segment.positions, end, position) - segment.positions + segment.begin;
}

}  // namespace

Attention::Attention(const pc_model_desc& desc, const simd::Kernels& kernels, Parallel parallel,
                     std::uint32_t max_tokens, bool alike)
    : desc_(desc),
      kernels_(kernels),
      parallel_(parallel),
      alike_(alike),
      centres_(desc),
      state_rows_(std::size_t{std::max(max_tokens, kMaxShares * kTileTokens)} *
                  largest_of_layers(desc, [](const pc_layer& l) { return l.n_heads; })),
      max_(state_rows_),
      sum_(state_rows_),
      acc_(std::size_t{std::max(max_tokens, kMaxShares * kTileTokens)} *
           largest_of_layers(desc, q_width)),
      queries_(std::size_t{parallel.n_threads()} * kTileTokens *
               largest_of_layers(desc, [](const pc_layer& l) { return group_of(l) * l.head_dim; })),
      sways_(centres_.any() ? queries_.size() : 0),
      rows_(std::size_t{parallel.n_threads()} * 2 * kTileTokens *
            largest_of_layers(desc, group_of)),
      biases_(desc.alibi_slopes ? rows_.size() : 0) {
  for (const pc_rope& rope : std::span(desc.ropes, desc.n_ropes)) {
    const std::span inv_freq(rope.inv_freq, rope.dims / 2);
    rotations_.push_back({{inv_freq, max_tokens}, {inv_freq, 0}});
  }
}

void Attention::plan(std::span<const std::int32_t> positions,
                     std::span<const TimelineRows> timelines) {
  positions_ = positions;
  timelines_ = timelines;
  uses_.plan(timelines, kTileTokens, !alike_);
  for (Rotations& r : rotations_) r.tokens.fill(positions);
  find_rotations();
  find_centres();

  most_blocks_ = 0;
  for (std::uint32_t tile = 0; tile < uses_.n_tiles(); ++tile)
    most_blocks_ = std::max(most_blocks_, uses_.n_blocks(tile));
}

// Running states are those of as many rows as fit the widest layer.
void Attention::choose_shares(const pc_layer& layer) {
  const std::uint32_t tasks = uses_.n_tiles() * layer.n_kv_heads;
  const std::uint32_t wanted = kTasksPerThread * parallel_.n_threads();
  const std::size_t n_rows = positions_.size() * layer.n_heads;
  std::uint64_t shares = alike_ || parallel_.n_threads() == 1 ? 1 : (wanted + tasks - 1) / tasks;
  shares = std::min<std::uint64_t>({shares, kMaxShares, most_blocks_ / kMinShareBlocks,
                                    state_rows_ / n_rows, acc_.size() / (n_rows * head_dim_)});
  n_shares_ = static_cast<std::uint32_t>(std::max<std::uint64_t>(shares, 1));
}

// A rotation for each distance by which a use is moved.
void Attention::find_rotations() {
  if (moves_.size() > kMostMoves) moves_.clear();
  use_moves_.resize(uses_.n_uses());
  for (std::uint32_t u = 0; u < uses_.n_uses(); ++u) {
    const KvSegment& segment = *uses_.use(u).segment;
    const std::int32_t move = segment.position - segment.key_position;
    const bool as_before =
        u < use_moves_.size() && use_moves_[u] < moves_.size() && moves_[use_moves_[u]] == move;
    if (as_before) continue;
    const auto known = std::find(moves_.begin(), moves_.end(), move);
    use_moves_[u] = static_cast<std::uint32_t>(known - moves_.begin());
    if (known == moves_.end()) moves_.push_back(move);
  }
  for (Rotations& r : rotations_) {
    if (r.moves.capacity() < moves_.size())
      r.moves.resize(static_cast<std::uint32_t>(2 * moves_.size()));
    r.moves.fill(moves_);
  }
}

void Attention::find_centres() {
  std::uint32_t n_q8 = 0, n_columns = 0;
  for (std::uint32_t u = 0; u < uses_.n_uses(); ++u) {
    const KvSegment& segment = *uses_.use(u).segment;
    if (segment.type() != KvType::kQ8) continue;
    ++n_q8;
    n_columns =
        std::max(n_columns, column_of(segment) + kv_blocks(segment.begin + segment.n_tokens));
  }
  evened_out_ = n_q8 != 0;
  PC_EXPECT(!evened_out_ || n_q8 == uses_.n_uses());
  if (evened_out_) centres_.reach(n_columns);
}

std::size_t Attention::state_row(std::uint32_t share, std::uint32_t kv_head,
                                 std::uint32_t token) const {
  return ((std::size_t{share} * n_kv_heads_ + kv_head) * positions_.size() + token) * group_;
}

void Attention::run(std::uint32_t layer, const float* q, float* out) {
  const pc_layer& shape = desc_.layers[layer];
  group_ = group_of(shape);
  n_kv_heads_ = shape.n_kv_heads;
  head_dim_ = shape.head_dim;
  choose_shares(shape);
  const std::uint32_t tiles = uses_.n_tiles() * n_kv_heads_;
  parallel_.for_each(tiles * n_shares_, [&](std::uint32_t task, std::uint32_t thread) {
    attend_task(layer, q, task, thread);
  });
  parallel_.for_each(tiles,
                     [&](std::uint32_t task, std::uint32_t) { merge_task(layer, task, out); });
  for (const TimelineRows& rows : timelines_)
    if (rows.weights) add_weights(layer, q, rows);
}

// Folds this share of a tile's blocks into the running states of its rows.
void Attention::attend_task(std::uint32_t layer, const float* q, std::uint32_t index,
                            std::uint32_t thread) {
  AttentionTask task{};
  task.layer = layer;
  task.q = q;
  task.share = index % n_shares_;
  task.kv_head = index / n_shares_ % n_kv_heads_;
  const std::size_t scratch_rows = std::size_t{kTileTokens} * group_;
  task.queries = queries_.data() + thread * scratch_rows * head_dim_;
  if (evened_out_ && centres_.has(layer))
    task.sways = sways_.data() + thread * scratch_rows * head_dim_;
  task.begin = rows_.data() + thread * 2 * scratch_rows;
  task.end = task.begin + scratch_rows;
  if (desc_.alibi_slopes) {
    task.slope = biases_.data() + thread * 2 * scratch_rows;
    task.origin = task.slope + scratch_rows;
  }

  const std::uint32_t tile = index / n_shares_ / n_kv_heads_;
  const std::uint32_t first_token = tile * kTileTokens;
  const std::size_t n_tokens = std::min<std::size_t>(kTileTokens, positions_.size() - first_token);
  const std::size_t row = state_row(task.share, task.kv_head, first_token);
  const std::size_t n_rows = n_tokens * group_;
  std::fill_n(max_.data() + row, n_rows, -std::numeric_limits<float>::infinity());
  std::fill_n(sum_.data() + row, n_rows, 0.0f);
  std::fill_n(acc_.data() + row * head_dim_, n_rows * head_dim_, 0.0f);

  const std::uint64_t blocks = uses_.n_blocks(tile);
  const std::uint64_t first = blocks * task.share / n_shares_;
  const std::uint64_t end = blocks * (task.share + 1) / n_shares_;
  const auto visits = uses_.visits(tile);
  for (std::size_t v = 0; v < visits.size() && visits[v].first_block < end; ++v) {
    const std::uint64_t begins = visits[v].first_block;
    const std::uint64_t ends = v + 1 < visits.size() ? visits[v + 1].first_block : blocks;
    if (ends <= first) continue;
    const std::uint64_t from = std::max(first, begins) - begins, to = std::min(end, ends) - begins;
    attend_visit(task, visits[v], static_cast<std::uint32_t>(from * kKvBlockTokens),
                 static_cast<std::uint32_t>(to * kKvBlockTokens));
  }
}

// Rows [first_kv_row, end_kv_row) of the bytes that the visit's rows see, counted from block 0.
void Attention::attend_visit(AttentionTask& task, const SegmentUses::Visit& visit,
                             std::uint32_t first_kv_row, std::uint32_t end_kv_row) {
  task.first_row = visit.first_row;
  bool any = false;
  for (std::uint32_t u = visit.first_use; u < visit.end_use; ++u) {
    const SegmentUses::Use use = uses_.use_in(visit, u);
    any |= visible_rows(task, use, first_kv_row, end_kv_row);
  }
  if (!any) return;
  for (std::uint32_t u = visit.first_use; u < visit.end_use; ++u) {
    const SegmentUses::Use use = uses_.use_in(visit, u);
    if (task.slope) fill_biases(task, use);
    const std::int32_t move = moves_[use_moves_[u]];
    // A timeline's own pages follow each other: the first use's queries may be there already.
    if (u == visit.first_use && task.holds(use, move)) continue;
    rotate_queries(task, use, use_moves_[u]);
    task.held =
        u == visit.first_use ? HeldQueries{use.first_row, use.end_row, move} : HeldQueries{};
  }
  const KvSegment& segment = *uses_.use(visit.first_use).segment;
  const std::uint32_t states = desc_.layers[task.layer].states;
  const std::size_t row = state_row(task.share, task.kv_head, visit.first_row);
  const std::size_t n_rows = std::size_t{visit.end_row - visit.first_row} * group_;
  simd::AttendArgs args{task.queries,
                        segment.keys(states, task.kv_head),
                        segment.values(states, task.kv_head),
                        task.begin,
                        task.end,
                        max_.data() + row,
                        sum_.data() + row,
                        acc_.data() + row * head_dim_,
                        n_rows,
                        head_dim_,
                        static_cast<simd::KvFormat>(segment.type()),
                        desc_.attn_softcap,
                        task.slope,
                        task.origin,
                        segment.hidden,
                        0,
                        alike_};
  if (task.sways) {
    args.sway = task.sways;
    args.waves = centres_.waves(task.layer, column_of(segment));
    args.wave_stride = centres_.stride();
  }
  kernels_.attend(args);
}

// score += slope * (key position - query position), as the kernel wants it.
void Attention::fill_biases(const AttentionTask& task, const SegmentUses::Use& use) const {
  const KvSegment& segment = *use.segment;
  const std::int32_t base = segment.position - static_cast<std::int32_t>(segment.begin);
  for (std::uint32_t token = use.first_row; token < use.end_row; ++token) {
    const std::size_t at = std::size_t{token - task.first_row} * group_;
    for (std::uint32_t g = 0; g < group_; ++g) {
      task.slope[at + g] = desc_.alibi_slopes[task.kv_head * group_ + g];
      task.origin[at + g] = static_cast<float>(base - positions_[token]);
    }
  }
}

// The keys that each query of a use may see; false if none sees any. The only place where
// causality and windows are decided, by logical position alone.
bool Attention::visible_rows(const AttentionTask& task, const SegmentUses::Use& use,
                             std::uint32_t first_kv_row, std::uint32_t end_kv_row) const {
  const KvSegment& segment = *use.segment;
  const std::int64_t window = desc_.layers[task.layer].window;
  const std::int64_t low = std::max(first_kv_row, segment.begin);
  const std::int64_t high = std::min(end_kv_row, segment.begin + segment.n_tokens);
  bool any = false;
  for (std::uint32_t token = use.first_row; token < use.end_row; ++token) {
    const std::int64_t p = positions_[token];
    const std::int64_t to = std::min(high, first_row_from(segment, p + 1));
    const std::int64_t from =
        window == 0 ? low : std::max(low, first_row_from(segment, p - window + 1));
    const bool visible = from < to;
    any |= visible;
    const std::size_t at = std::size_t{token - task.first_row} * group_;
    for (std::uint32_t g = 0; g < group_; ++g) {
      task.begin[at + g] = visible ? static_cast<std::uint32_t>(from) : end_kv_row;
      task.end[at + g] = visible ? static_cast<std::uint32_t>(to) : first_kv_row;
    }
  }
  return any;
}

// How much a query counts at a position (pc_model_desc::query_growth).
float Attention::growth_of(std::int32_t position) const {
  if (desc_.query_growth == 0.0f || position < 0) return 1.0f;
  const auto passed = static_cast<std::uint32_t>(position) / desc_.growth_positions;
  return 1.0f + desc_.query_growth * std::log1p(static_cast<float>(passed));
}

// A query that is weighed where it stands. It is [head_dim].
void Attention::turn_back(std::uint32_t rope, std::uint32_t move, float* query) const {
  const RotationTable& moves = rotations_[rope].moves;
  const std::size_t half = moves.half();
  float sin[kMaxHalf];
  for (std::size_t i = 0; i < half; ++i) sin[i] = -moves.sin(move)[i];
  kernels_.rotate(query, moves.cos(move), sin, half, 1.0f, query);
}

// The use's queries, scaled for the softmax and turned back by as much as the keys were moved.
void Attention::rotate_queries(const AttentionTask& task, const SegmentUses::Use& use,
                               std::uint32_t move) const {
  const pc_layer& layer = desc_.layers[task.layer];
  const std::uint32_t rope = layer.rope;
  const std::size_t hd = head_dim_, n_heads = layer.n_heads;
  const std::size_t half = rope == PC_NO_ROPE ? 0 : desc_.ropes[rope].dims / 2;
  float cos[kMaxHalf], sin[kMaxHalf];
  for (std::uint32_t token = use.first_row; token < use.end_row; ++token) {
    const float *c = nullptr, *s = nullptr;
    if (half != 0) {
      const Rotations& r = rotations_[rope];
      c = r.tokens.cos(token);
      s = r.tokens.sin(token);
      if (moves_[move] != 0 && !layer.norm_rotated) {
        subtract_rotation(c, s, r.moves.cos(move), r.moves.sin(move), half, cos, sin);
        c = cos;
        s = sin;
      }
    }
    const std::size_t at = std::size_t{token - task.first_row} * group_;
    const float scale = layer.attn_scale * growth_of(positions_[token]);
    for (std::uint32_t g = 0; g < group_; ++g) {
      const float* q = task.q + (std::size_t{token} * n_heads + task.kv_head * group_ + g) * hd;
      float* rotated = task.queries + (at + g) * hd;
      if (half != 0) kernels_.rotate(q, c, s, half, desc_.ropes[rope].scale * scale, rotated);
      for (std::size_t d = 2 * half; d < hd; ++d) rotated[d] = q[d] * scale;
      if (layer.norm_rotated) {
        weigh_rotated(layer, rotated);
        if (half != 0 && moves_[move] != 0) turn_back(rope, move, rotated);
      }
      if (task.sways) centres_.sway(task.layer, task.kv_head, rotated, task.sways + (at + g) * hd);
      if (evened_out_) spread_key(rotated, hd);
    }
  }
}

// A score that every query of the head has besides; its key has no value. None: minus infinity.
float Attention::sink_of(std::uint32_t layer, std::uint32_t head) const {
  const pc_tensor& sinks = desc_.layers[layer].sinks;
  return sinks.data ? vector_of(sinks)[head] : -std::numeric_limits<float>::infinity();
}

// Merges the shares of one tile by log-sum-exp and normalises.
void Attention::merge_task(std::uint32_t layer, std::uint32_t index, float* out) {
  const std::uint32_t kv_head = index % n_kv_heads_;
  const std::uint32_t first = index / n_kv_heads_ * kTileTokens;
  const std::uint32_t last =
      std::min<std::uint32_t>(first + kTileTokens, static_cast<std::uint32_t>(positions_.size()));
  const std::size_t hd = head_dim_;
  for (std::uint32_t token = first; token < last; ++token) {
    for (std::uint32_t g = 0; g < group_; ++g) {
      const float sink = sink_of(layer, kv_head * group_ + g);
      float top = sink;
      for (std::uint32_t s = 0; s < n_shares_; ++s)
        top = std::max(top, max_[state_row(s, kv_head, token) + g]);
      float* o = out + (std::size_t{token} * group_ * n_kv_heads_ + kv_head * group_ + g) * hd;
      std::fill_n(o, hd, 0.0f);
      float total = std::exp(sink - top);
      for (std::uint32_t s = 0; s < n_shares_; ++s) {
        const std::size_t row = state_row(s, kv_head, token) + g;
        if (sum_[row] == 0.0f) continue;  // nothing visible in this share
        const float factor = std::exp(max_[row] - top);
        total += sum_[row] * factor;
        const float* acc = acc_.data() + row * hd;
        for (std::size_t d = 0; d < hd; ++d) o[d] += acc[d] * factor;
      }
      for (std::size_t d = 0; d < hd; ++d) o[d] /= total;  // a query sees itself: total > 0
      if (evened_out_) spread_value(o, hd);
    }
  }
}

}  // namespace pc
