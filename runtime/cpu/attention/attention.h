// Attention of fresh tokens over segments: the paper's reuse as one primitive.
//
// A query at logical position p sees the rows at positions <= p (and, with a
// sliding window w, > p - w) of every segment, wherever its bytes lie: mapped
// module files and timelines' own pages alike. Keys are stored rotated at
// module-local positions, so for a segment placed at offset D the *query* is
// rotated by p - D; ALiBi's bias is formed from logical positions and touches no
// key (Press et al. 2022, arXiv 2108.12409). A segment that no query sees is
// not read.
//
// Queries of many timelines are computed at once. Those that see the same bytes, each
// with the segment at a place of its own, are multiplied with them together
// (runtime/cpu/attention/segment_uses.h). Each (tile of rows, kv head, share of the tile's visits)
// is a task of its own with a running softmax; shares are merged by their
// log-sum-exp, so segments may come in any order and be split anywhere.
//
// Owns its scratch: run() allocates nothing, but where weights are wanted, and plan() nothing once
// it has seen as many segments. Threads: one at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/parallel.h"
#include "modules/kv.h"
#include "runtime/backend/backend.h"  // pc_model_desc
#include "runtime/cpu/attention/rotation.h"
#include "runtime/cpu/attention/segment_uses.h"
#include "runtime/cpu/states/key_centres.h"
#include "simd/kernels.h"

namespace pc {

struct AttentionTask;

class Attention {
 public:
  // `desc` is borrowed. max_tokens: of one sweep. Segments may be of any type, but those of q8 come
  // with no others: keys are then as Transformer evens them out, queries are made to fit, and what
  // is mixed of the values is spread back. alike: what a row
  // sees is summed in one order, whichever rows are computed beside it: a tile's visits have one
  // share, and those of several timelines are not joined.
  Attention(const pc_model_desc& desc, const simd::Kernels& kernels, Parallel parallel,
            std::uint32_t max_tokens, bool alike = false);

  // Once a sweep, before its layers: the rows' logical positions, and all segments that
  // each timeline's rows may see, their own included. Borrowed until the next plan().
  void plan(std::span<const std::int32_t> positions, std::span<const TimelineRows> timelines);

  // As far as the latest plan() goes.
  const KeyCentres& centres() const { return centres_; }

  // q: [n_tokens, n_heads, head_dim] of the layer, not rotated. out: the same shape. Weights are
  // added where a timeline wants them.
  void run(std::uint32_t layer, const float* q, float* out);

 private:
  void find_rotations();
  void find_centres();
  void choose_shares(const pc_layer& layer);
  void attend_task(std::uint32_t layer, const float* q, std::uint32_t task, std::uint32_t thread);
  void attend_visit(AttentionTask& task, const SegmentUses::Visit& visit,
                    std::uint32_t first_kv_row, std::uint32_t end_kv_row);
  bool visible_rows(const AttentionTask& task, const SegmentUses::Use& use,
                    std::uint32_t first_kv_row, std::uint32_t end_kv_row) const;
  void rotate_queries(const AttentionTask& task, const SegmentUses::Use& use,
                      std::uint32_t move) const;
  void turn_back(std::uint32_t rope, std::uint32_t move, float* query) const;
  void fill_biases(const AttentionTask& task, const SegmentUses::Use& use) const;
  void merge_task(std::uint32_t layer, std::uint32_t task, float* out);
  float growth_of(std::int32_t position) const;
  float sink_of(std::uint32_t layer, std::uint32_t head) const;
  struct Stretch;
  void add_weights(std::uint32_t layer, const float* q, const TimelineRows& rows) const;
  void add_weights(std::uint32_t layer, std::uint32_t kv_head, const float* q,
                   const TimelineRows& rows, const Stretch& stretch,
                   std::span<float> scratch) const;
  float sway_at(const KvSegment& segment, std::uint32_t layer, std::uint32_t token,
                const float* sway) const;
  float log_sum(std::uint32_t layer, std::uint32_t kv_head, std::uint32_t token,
                std::uint32_t head) const;
  std::size_t state_row(std::uint32_t share, std::uint32_t kv_head, std::uint32_t token) const;

  const pc_model_desc& desc_;
  const simd::Kernels& kernels_;
  Parallel parallel_;
  const bool alike_;
  KeyCentres centres_;

  // This sweep's plan.
  std::span<const std::int32_t> positions_;
  std::span<const TimelineRows> timelines_;
  SegmentUses uses_;
  std::uint64_t most_blocks_ = 0;  // of a tile's visits
  bool evened_out_ = false;        // segments are q8
  struct Rotations {
    RotationTable tokens;  // by position, a row a token
    RotationTable moves;   // by position - key_position: the distinct ones of all uses
  };
  std::vector<Rotations> rotations_;      // [n_ropes]
  std::vector<std::int32_t> moves_;       // of the rows of Rotations::moves, kept between plans
  std::vector<std::uint32_t> use_moves_;  // [n_uses] the row of each

  // Of the layer at hand.
  std::uint32_t n_shares_ = 1;
  std::uint32_t group_ = 1;  // query heads that share one kv head
  std::uint32_t n_kv_heads_ = 1, head_dim_ = 0;

  // Scratch.
  std::size_t state_rows_;             // capacity of the running states
  AlignedBuffer<float> max_, sum_;     // [shares, n_kv_heads, n_tokens, group]
  AlignedBuffer<float> acc_;           // [shares, n_kv_heads, n_tokens, group, head_dim]
  AlignedBuffer<float> queries_;       // [threads, tile, group, head_dim]
  AlignedBuffer<float> sways_;         // the same (runtime/cpu/states/key_centres.h)
  AlignedBuffer<std::uint32_t> rows_;  // [threads, 2, tile, group]
  AlignedBuffer<float> biases_;        // [threads, 2, tile, group]: ALiBi's slopes and origins
};

}  // namespace pc
