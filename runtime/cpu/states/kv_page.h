// 256 tokens of K/V of all layers and heads: what a timeline's own states grow by.
//
// Fresh memory that the system backs as it is touched, so that a page of ten tokens costs
// ten tokens' blocks, rounded up to the system's pages. Owner; neither copied nor moved.
// Threads: that of whoever writes it; a page that several timelines hold is only read.
#pragma once

#include <cstdint>

#include "modules/kv.h"

namespace pc {

class KvPage {
 public:
  // One chunk of the attention kernel (simd/attend-inl.h), so that a border between pages
  // costs what a border between chunks costs anyway.
  static constexpr std::uint32_t kBlocks = 16;

  // `geometry` is borrowed. Throws std::bad_alloc.
  explicit KvPage(const KvGeometry& geometry);
  ~KvPage();
  KvPage(const KvPage&) = delete;
  KvPage& operator=(const KvPage&) = delete;

  // Of kBlocks blocks.
  const KvPlanes& planes() const { return planes_; }

  // Makes a block all zeros, whatever it held.
  void begin_block(std::uint32_t block);

  // Takes over the first n_blocks blocks of another page.
  void copy_from(const KvPage& page, std::uint32_t n_blocks);

 private:
  KvPlanes planes_;
  std::uint32_t n_touched_ = 0;  // blocks from here on are zeros, as the system gave them
};

}  // namespace pc
