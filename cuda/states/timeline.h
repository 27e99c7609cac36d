// What a conversation has seen: attached modules and the tokens it computed itself, as state
// alone (docs/adr/0020-timeline-and-executor.md).
//
// Its own tokens lie one behind the other in pages, whatever runs they came in; a *part* is
// what is contiguous in position. A copy is a fork: it shares all pages, and whichever of the
// two appends first copies the page that it writes into. Threads: one at a time for one
// timeline; timelines that share pages append one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/states/heads.h"
#include "cuda/states/module_copy.h"
#include "cuda/states/page_pool.h"
#include "runtime/backend/backend.h"

namespace pc::cuda {

class Timeline {
 public:
  struct Attached {
    std::shared_ptr<ModuleCopy> copy;
    std::uint32_t begin, n_tokens;  // rows of the copy
    std::int32_t position;          // logical, of row `begin`
    std::int32_t key_position;      // at which that row's key was rotated
    // Null, or a bit for each row of the copy that is not seen.
    std::shared_ptr<const std::vector<std::uint32_t>> hidden;
  };
  struct Part {
    std::uint32_t first, n_tokens;        // of its own tokens
    std::int32_t position, key_position;  // of the first
    std::vector<std::int32_t> positions;  // [n_tokens] where they have gaps, else empty
  };

  Timeline(KvShape shape, std::shared_ptr<PagePool> pool);

  std::uint32_t n_tokens() const { return n_tokens_; }  // its own
  std::uint32_t n_attached() const { return static_cast<std::uint32_t>(attached_.size()); }
  const std::vector<Attached>& attached() const { return attached_; }
  const std::vector<Part>& parts() const { return parts_; }
  Slot slot(std::uint32_t token) const {
    const PagePool::Rows& page = *pages_[token / kPageTokens];
    return {page.planes, page.first + token % kPageTokens};
  }

  void attach(Attached attached) { attached_.push_back(std::move(attached)); }

  // Memory for tokens [first, first + n) of a run, behind all others. A run that is taken in pieces
  // is taken without anything between them. Errors: kOutOfMemory, kIo; it keeps then what it has,
  // see rewind(). Copies of pages that a fork holds are queued on the stream.
  Status append(const pc_run& run, std::uint32_t first, std::uint32_t n, Room room,
                cudaStream_t stream);

  // Forgets own tokens from n_tokens on, and attached ones from n_attached on.
  void rewind(std::uint32_t n_tokens, std::uint32_t n_attached);

  // Did a part begin with token `first`, and do positions go on from there for n tokens?
  bool is_run(std::uint32_t first, std::uint32_t n) const;

 private:
  bool continues(const pc_run& run) const;
  Status own_last_page(Room room, cudaStream_t stream);

  KvShape shape_;
  std::shared_ptr<PagePool> pool_;
  std::vector<Attached> attached_;
  std::vector<Part> parts_;
  std::vector<PagePool::Page> pages_;
  std::uint32_t n_tokens_ = 0;
};

}  // namespace pc::cuda
