// Memory of timelines: pages of kPageTokens tokens of K and V of all layers and heads.
//
// Pages are rows of larger planes, which the pool keeps until let_go(), so that pages that were
// taken one after the other mostly lie so, and attention reads them as one; a page that nobody
// holds goes back. Nothing waits for the device here: pages are let go of when
// no step that reads them is under way. Owner; outlives its pages. Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/device_buffer.h"
#include "cuda/kv_rows.h"

namespace pc::cuda {

// One tile of keys of the attention kernels, so that a border between pages costs what a border
// between tiles costs anyway.
inline constexpr std::uint32_t kPageTokens = 64;

class PagePool {
 public:
  explicit PagePool(const KvShape& shape);

  struct Rows {
    KvPlanesView planes;
    std::uint32_t first;  // of kPageTokens
  };
  using Page = std::shared_ptr<const Rows>;
  // kOutOfMemory where the device has none left.
  Result<Page> take();

  // Gives the device back what no page of is held; how many bytes that was.
  std::size_t let_go();

 private:
  struct Taken;
  struct Pieces {
    std::mutex mutex;
    std::vector<DeviceBuffer<std::byte>> buffers;
    std::size_t n_pages = 0;  // of all buffers
    std::vector<Rows> free;   // with room for all of them
  };

  Status add_piece();

  KvShape shape_;
  std::shared_ptr<Pieces> pieces_;  // that pages hold, too
};

}  // namespace pc::cuda
