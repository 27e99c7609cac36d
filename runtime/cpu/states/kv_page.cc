#include "runtime/cpu/states/kv_page.h"

#include <algorithm>
#include <new>

#include "base/aligned_buffer.h"
#include "base/status.h"  // PC_EXPECT

namespace pc {

KvPage::KvPage(const KvGeometry& geometry) {
  void* const memory = map_pages(geometry.state_bytes(kBlocks));
  if (!memory) throw std::bad_alloc();
  planes_ = dense_planes(static_cast<std::byte*>(memory), geometry, kBlocks);
}

KvPage::~KvPage() {
  unmap_pages(planes_.data, planes_.geometry->state_bytes(kBlocks));
}

void KvPage::begin_block(std::uint32_t block) {
  PC_EXPECT(block < kBlocks);
  if (block < n_touched_) clear_rows(planes_.from_block(block), 0);
  n_touched_ = std::max(n_touched_, block + 1);
}

void KvPage::copy_from(const KvPage& page, std::uint32_t n_blocks) {
  copy_blocks(page.planes_, planes_, n_blocks);
  n_touched_ = std::max(n_touched_, n_blocks);
}

}  // namespace pc
