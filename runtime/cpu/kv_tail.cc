#include "runtime/cpu/kv_tail.h"

#include <cstring>

#include "base/status.h"  // PC_EXPECT
#include "runtime/cpu/kv_row.h"

namespace pc {

KvTail::KvTail(const KvGeometry& geometry, std::uint32_t n_tokens, std::uint32_t n_segments)
    : geometry_(geometry),
      // Every segment may leave its last block partly empty.
      n_blocks_(kv_blocks(n_tokens) + n_segments),
      max_segments_(n_segments),
      data_(geometry.state_bytes(n_blocks_)) {
  segments_.reserve(n_segments);
  first_block_.reserve(n_segments);
}

bool KvTail::fits(std::uint32_t n_tokens, bool new_segment) const {
  if (new_segment) {
    return free_segments() != 0 && kv_blocks(n_tokens) <= free_blocks();
  }
  if (segments_.empty()) return false;
  const std::uint32_t blocks = kv_blocks(segments_.back().n_tokens + n_tokens);
  return blocks <= n_blocks_ - first_block_.back();
}

void KvTail::start_segment(std::int32_t position, std::int32_t key_position) {
  PC_EXPECT(fits(1, true));
  KvSegment segment;
  segment.data = data_.data() + used_blocks_ * geometry_.block_bytes();
  segment.value_offset_bytes = n_blocks_ * geometry_.block_bytes();
  segment.head_stride_bytes = 2 * segment.value_offset_bytes;
  segment.layer_stride_bytes = geometry_.n_kv_heads * segment.head_stride_bytes;
  segment.position = position;
  segment.key_position = key_position;
  segments_.push_back(segment);
  first_block_.push_back(used_blocks_);
}

std::uint32_t KvTail::append(std::uint32_t n_tokens) {
  PC_EXPECT(fits(n_tokens, false));
  KvSegment& segment = segments_.back();
  const std::uint32_t first_row = first_block_.back() * kKvBlockTokens + segment.n_tokens;
  segment.n_tokens += n_tokens;
  n_tokens_ += n_tokens;
  const std::uint32_t end = first_block_.back() + kv_blocks(segment.n_tokens);
  for (; used_blocks_ < end; ++used_blocks_) zero_block(used_blocks_);
  return first_row;
}

std::byte* KvTail::plane(std::uint32_t layer, std::uint32_t head, bool values) {
  const std::size_t index = (std::size_t{layer} * geometry_.n_kv_heads + head) * 2 + values;
  return data_.data() + index * n_blocks_ * geometry_.block_bytes();
}

void KvTail::zero_block(std::uint32_t block) {
  const std::size_t bytes = geometry_.block_bytes();
  for (std::uint32_t layer = 0; layer < geometry_.n_layers; ++layer) {
    for (std::uint32_t head = 0; head < geometry_.n_kv_heads; ++head) {
      std::memset(plane(layer, head, false) + block * bytes, 0, bytes);
      std::memset(plane(layer, head, true) + block * bytes, 0, bytes);
    }
  }
}

void KvTail::write(std::uint32_t layer, std::uint32_t head, std::uint32_t row, const float* key,
                   const float* value) {
  const std::size_t block = row / kKvBlockTokens * geometry_.block_bytes();
  write_kv_row(geometry_, row % kKvBlockTokens, key, value, plane(layer, head, false) + block,
               plane(layer, head, true) + block);
}

void KvTail::copy_segment(std::uint32_t index, std::byte* dst, std::size_t layer_stride_bytes,
                          std::size_t head_stride_bytes, std::size_t value_offset_bytes) const {
  const KvSegment& segment = segments_[index];
  const std::size_t bytes = kv_blocks(segment.n_tokens) * geometry_.block_bytes();
  for (std::uint32_t layer = 0; layer < geometry_.n_layers; ++layer) {
    for (std::uint32_t head = 0; head < geometry_.n_kv_heads; ++head) {
      const std::byte* from =
          segment.data + layer * segment.layer_stride_bytes + head * segment.head_stride_bytes;
      std::byte* to = dst + layer * layer_stride_bytes + head * head_stride_bytes;
      std::memcpy(to, from, bytes);
      std::memcpy(to + value_offset_bytes, from + segment.value_offset_bytes, bytes);
    }
  }
}

void KvTail::rewind(std::uint32_t n_segments) {
  while (segments_.size() > n_segments) {
    n_tokens_ -= segments_.back().n_tokens;
    used_blocks_ = first_block_.back();
    segments_.pop_back();
    first_block_.pop_back();
  }
}

}  // namespace pc
