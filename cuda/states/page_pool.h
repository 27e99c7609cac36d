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

#include "cuda/states/kv_rows.h"
#include "cuda/states/state_memory.h"

namespace pc::cuda {

// One tile of keys of the attention kernels, so that a border between pages costs what a border
// between tiles costs anyway.
inline constexpr std::uint32_t kPageTokens = 64;

class PagePool {
 public:
  PagePool(const KvShape& shape, std::shared_ptr<HostRoom> host);

  struct Rows {
    KvPlanesView planes;
    std::uint32_t first;  // of kPageTokens
    bool is_on_host;
  };
  using Page = std::shared_ptr<const Rows>;
  // kOutOfMemory where none is left there.
  Result<Page> take(Room room);

  // Gives back the memory that no page of is held. Was there any?
  bool let_go();

 private:
  struct Taken;
  struct Pieces {
    std::vector<StateMemory> buffers;
    std::size_t n_pages = 0;  // of all buffers
    std::vector<Rows> free;   // with room for all of them
  };
  struct All {
    std::mutex mutex;
    Pieces device, host;
    Pieces& of(const Rows& page) { return page.is_on_host ? host : device; }
  };

  Status add_piece(bool on_host);
  bool let_go(Pieces& pieces) const;

  KvShape shape_;
  std::shared_ptr<HostRoom> host_;
  std::shared_ptr<All> all_;  // that pages hold, too
};

}  // namespace pc::cuda
