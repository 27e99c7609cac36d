// The session's own growing K/V: the states of fresh and generated tokens.
//
// One allocation, sized at the start. Rows are appended to segments; a segment
// is contiguous in memory and in position and starts on a block boundary, so
// that it reads, and is copied into module files, like any mapped run.
// Segments never move. Rows past a segment's end in its last block are zero.
// Threads: one thread at a time; write() of different rows or heads may run
// concurrently.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"
#include "modules/kv.h"

namespace pc {

class KvTail {
 public:
  // Room for n_tokens tokens in at most n_segments segments.
  KvTail(const KvGeometry& geometry, std::uint32_t n_tokens, std::uint32_t n_segments);

  // Is there room for n_tokens more rows in a new segment, or in the last one?
  bool fits(std::uint32_t n_tokens, bool new_segment) const;
  std::uint32_t free_blocks() const { return n_blocks_ - used_blocks_; }
  std::uint32_t free_segments() const { return max_segments_ - n_segments(); }

  // Opens a segment. Precondition: fits(1, true).
  void start_segment(std::int32_t position, std::int32_t key_position);

  // Appends n_tokens rows (zeroed, to be written) to the last segment and
  // returns the first one's row counted from block 0. Precondition: fits(n_tokens, false).
  std::uint32_t append(std::uint32_t n_tokens);

  // Stores one row of one layer and head. key and value: [head_dim] f32.
  void write(std::uint32_t layer, std::uint32_t head, std::uint32_t row, const float* key,
             const float* value);

  // Views in order of creation; valid until rewind() drops them.
  std::uint32_t n_segments() const { return static_cast<std::uint32_t>(segments_.size()); }
  const KvSegment& segment(std::uint32_t index) const { return segments_[index]; }
  std::uint32_t n_tokens() const { return n_tokens_; }

  // Copies a segment's blocks into planes laid out as dst's strides say.
  void copy_segment(std::uint32_t index, std::byte* dst, std::size_t layer_stride_bytes,
                    std::size_t head_stride_bytes, std::size_t value_offset_bytes) const;

  // Forgets the segments from n_segments on.
  void rewind(std::uint32_t n_segments);

 private:
  std::byte* plane(std::uint32_t layer, std::uint32_t head, bool values);
  void zero_block(std::uint32_t block);

  KvGeometry geometry_;
  std::uint32_t n_blocks_, max_segments_;  // capacity
  std::uint32_t used_blocks_ = 0;
  std::uint32_t n_tokens_ = 0;
  AlignedBuffer<std::byte> data_;    // [n_layers][n_kv_heads]{keys, values}[n_blocks]
  std::vector<KvSegment> segments_;  // capacity reserved at the start
  std::vector<std::uint32_t> first_block_;
};

}  // namespace pc
