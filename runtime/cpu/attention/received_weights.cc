// The weights that rows give to what they attend, which a step adds up where it is asked to
// (pc_step_item::weights).
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/cpu/attention/attention.h"
#include "runtime/cpu/attention/attention_task.h"
#include "runtime/cpu/states/kv_row.h"

namespace pc {
namespace {

// Sums of its own for each lane, so that the compiler may use vectors. [n], even.
float dot(const float* a, const float* b, std::size_t n) {
  constexpr std::size_t kLanes = 16;
  float sums[kLanes] = {};
  std::size_t d = 0;
  for (; d + kLanes <= n; d += kLanes)
    for (std::size_t i = 0; i < kLanes; ++i) sums[i] += a[d + i] * b[d + i];
  for (; d < n; ++d) sums[0] += a[d] * b[d];
  float sum = 0.0f;
  for (const float s : sums) sum += s;
  return sum;
}

// A weight's square, in units; one that is no number goes with logits that are none.
std::uint64_t units_of_square(float weight) {
  const float at_most_one = weight < 1.0f ? weight : 1.0f;
  return static_cast<std::uint64_t>(
      static_cast<std::int64_t>(at_most_one * at_most_one * PC_WEIGHT_UNIT));
}

}  // namespace

// Tokens of a segment, a task's.
struct Attention::Stretch {
  const KvSegment* segment;
  std::uint32_t begin, end;
  std::uint64_t* weights;  // of the segment's first token
};

// log of the sum of exponentials of all scores of a query that run() has seen last.
float Attention::log_sum(std::uint32_t layer, std::uint32_t kv_head, std::uint32_t token,
                         std::uint32_t head) const {
  const float sink = sink_of(layer, kv_head * group_ + head);
  float top = sink;
  for (std::uint32_t s = 0; s < n_shares_; ++s)
    top = std::max(top, max_[state_row(s, kv_head, token) + head]);
  float total = std::exp(sink - top);
  for (std::uint32_t s = 0; s < n_shares_; ++s) {
    const std::size_t row = state_row(s, kv_head, token) + head;
    if (sum_[row] != 0.0f) total += sum_[row] * std::exp(max_[row] - top);
  }
  return top + std::log(total);
}

// The squares of exp(score - log_sum) of each key, over all rows and heads: few rows, so keys are
// read plainly.
void Attention::add_weights(std::uint32_t layer, const float* q, const TimelineRows& rows) const {
  constexpr std::uint32_t kStretch = 256;
  std::vector<Stretch> stretches;
  std::uint64_t* weights = rows.weights;
  for (const KvSegment& segment : rows.weighted) {
    for (std::uint32_t t = 0; t < segment.n_tokens; t += kStretch)
      stretches.push_back({&segment, t, std::min(t + kStretch, segment.n_tokens), weights});
    weights += segment.n_tokens;
  }
  const std::size_t n_queries = std::size_t{rows.n} * group_;
  const std::size_t room = n_queries * (2 * head_dim_ + 1) + head_dim_;
  std::vector<float> scratch(room * parallel_.n_threads());
  const auto n = static_cast<std::uint32_t>(stretches.size());
  parallel_.for_each(n, [&](std::uint32_t i, std::uint32_t thread) {
    for (std::uint32_t kv_head = 0; kv_head < n_kv_heads_; ++kv_head)
      add_weights(layer, kv_head, q, rows, stretches[i],
                  std::span(scratch).subspan(thread * room, room));
  });
}

// What the centre of a token's block adds to a score.
float Attention::sway_at(const KvSegment& segment, std::uint32_t layer, std::uint32_t token,
                         const float* sway) const {
  const float* wave =
      centres_.waves(layer, column_of(segment) + (segment.begin + token) / kKvBlockTokens);
  float sum = 0.0f;
  for (std::size_t d = 0; d < head_dim_; ++d, wave += centres_.stride()) sum += sway[d] * *wave;
  return sum;
}

// scratch: [queries, head_dim] twice, [queries], [head_dim].
void Attention::add_weights(std::uint32_t layer, std::uint32_t kv_head, const float* q,
                            const TimelineRows& rows, const Stretch& stretch,
                            std::span<float> scratch) const {
  const KvSegment& segment = *stretch.segment;
  const std::size_t hd = head_dim_, n_queries = std::size_t{rows.n} * group_;
  const auto queries = scratch.first(n_queries * hd),
             sways = scratch.subspan(queries.size(), queries.size()),
             log_sums = scratch.subspan(2 * queries.size(), n_queries), key = scratch.last(hd);
  AttentionTask task{};
  task.layer = layer;
  task.kv_head = kv_head;
  task.q = q;
  task.first_row = rows.first;
  task.queries = queries.data();
  if (evened_out_ && centres_.has(layer)) task.sways = sways.data();
  const auto move = std::ranges::find(moves_, segment.position - segment.key_position);
  rotate_queries(task, {rows.first, rows.first + rows.n, &segment},
                 static_cast<std::uint32_t>(move - moves_.begin()));
  for (std::uint32_t i = 0; i < n_queries; ++i)
    log_sums[i] = log_sum(layer, kv_head, rows.first + i / group_, i % group_);
  const std::int64_t window = desc_.layers[layer].window;
  for (std::uint32_t t = stretch.begin; t < stretch.end; ++t) {
    if (segment.hidden && segment.hidden[segment.begin + t]) continue;
    read_kv_key(segment, t, desc_.layers[layer].states, kv_head, key.data());
    const std::int64_t at = std::int64_t{segment.position} + t;
    for (std::uint32_t i = 0; i < n_queries; ++i) {
      const std::int64_t distance = positions_[rows.first + i / group_] - at;
      if (distance < 0 || (window != 0 && distance >= window)) continue;
      float score = dot(key.data(), queries.data() + i * hd, hd);
      if (task.sways) score += sway_at(segment, layer, t, task.sways + i * hd);
      if (desc_.attn_softcap != 0.0f)
        score = desc_.attn_softcap * std::tanh(score / desc_.attn_softcap);
      if (desc_.alibi_slopes)
        score -= desc_.alibi_slopes[kv_head * group_ + i % group_] * static_cast<float>(distance);
      stretch.weights[t] += units_of_square(std::exp(score - log_sums[i]));
    }
  }
}

}  // namespace pc
