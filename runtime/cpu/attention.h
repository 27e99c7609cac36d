// Attention of fresh tokens over segments: the paper's reuse as one primitive.
//
// A query at logical position p sees the rows at positions <= p (and, with a
// sliding window w, > p - w) of every segment, wherever its bytes lie: mapped
// module files and the session's tail alike. Keys are stored rotated at
// module-local positions, so for a segment placed at offset D the *query* is
// rotated by p - D; ALiBi's bias is formed from logical positions and touches no
// key (Press et al. 2022, arXiv 2108.12409). A segment that no query sees is
// not read. Each (tile of tokens, kv head, share of the segments) is
// a task of its own with a running softmax; shares are merged by their
// log-sum-exp, so segments may come in any order and be split anywhere.
//
// Owns its scratch, sized at construction: run() allocates nothing.
// Threads: one session's, one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/parallel.h"
#include "modules/kv.h"
#include "runtime/backend/backend.h"  // pc_model_desc
#include "runtime/cpu/rotation.h"
#include "simd/kernels.h"

namespace pc {

class Attention {
 public:
  // `desc` is borrowed. max_tokens: of one chunk of fresh tokens.
  Attention(const pc_model_desc& desc, KvType type, const simd::Kernels& kernels, Parallel parallel,
            std::uint32_t max_tokens, std::uint32_t max_segments);

  // Once a chunk, before its layers: the tokens' logical positions, and all
  // segments that any of them may see, their own rows in the tail included.
  // Borrowed until the next plan().
  void plan(std::span<const std::int32_t> positions, std::span<const KvSegment> segments);

  // q: [n_tokens, n_heads, head_dim], not rotated. out: the same shape.
  void run(std::uint32_t layer, const float* q, float* out);

 private:
  struct Task;
  void attend_task(std::uint32_t layer, const float* q, std::uint32_t task, std::uint32_t thread);
  void attend_segment(const Task& task, std::uint32_t segment, std::uint32_t first_row,
                      std::uint32_t end_row);
  bool visible_rows(const Task& task, const KvSegment& segment, std::uint32_t first_row,
                    std::uint32_t end_row, std::uint32_t* begin, std::uint32_t* end) const;
  void rotate_queries(const Task& task, std::uint32_t segment, float* rotated) const;
  void fill_biases(const Task& task, const KvSegment& segment, float* slope, float* origin) const;
  void merge_task(std::uint32_t task, float* out);
  std::size_t state_row(std::uint32_t share, std::uint32_t kv_head, std::uint32_t token) const;

  const pc_model_desc& desc_;
  KvType type_;
  const simd::Kernels& kernels_;
  Parallel parallel_;
  std::uint32_t group_;  // query heads that share one kv head
  KvGeometry geometry_;

  // This chunk's plan.
  std::span<const std::int32_t> positions_;
  std::span<const KvSegment> segments_;
  std::vector<std::uint64_t> first_block_;  // [n_segments + 1] running count of blocks
  std::uint32_t n_tiles_ = 0, n_shares_ = 1;
  struct Rotations {
    RotationTable tokens;    // by position, a row a token
    RotationTable segments;  // by position - key_position, a row a segment
  };
  std::vector<Rotations> rotations_;  // [n_ropes]

  // Scratch.
  std::size_t state_rows_;             // capacity of the running states
  AlignedBuffer<float> max_, sum_;     // [shares, n_kv_heads, n_tokens, group]
  AlignedBuffer<float> acc_;           // [shares, n_kv_heads, n_tokens, group, head_dim]
  AlignedBuffer<float> queries_;       // [threads, tile, group, head_dim]
  AlignedBuffer<std::uint32_t> rows_;  // [threads, 2, tile, group]
  AlignedBuffer<float> biases_;        // [threads, 2, tile, group]: ALiBi's slopes and origins
};

}  // namespace pc
