// What a conversation has seen: attached segments and the tokens it computed itself, as state
// alone. It computes nothing and has no thread (docs/adr/0020-timeline-and-executor.md).
//
// Its own tokens lie in parts: contiguous in memory and in position, beginning on a block, so
// that attention reads a part like any mapped run. Parts lie in pages
// (runtime/cpu/states/kv_page.h), or where the run says (pc_run::planes).
//
// A copy is a fork: it shares all pages, and whichever of the two appends first copies the page
// that it writes into. A page that two timelines hold is never written. A rewound timeline keeps
// its rows until it appends. Attached segments and a
// run's own planes are borrowed. Threads: one at a time for one timeline; timelines that share
// pages append one at a time (Executor::step), the rest may run beside each other.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "modules/kv.h"
#include "runtime/backend/backend.h"  // pc_run
#include "runtime/cpu/states/kv_page.h"

namespace pc {

// Where one token's K and V are written.
struct KvSlot {
  KvPlanes planes;           // from the token's block on
  std::uint32_t token;       // index in the block
  std::uint32_t centre = 0;  // column of the block's (runtime/cpu/states/key_centres.h)
};

class Timeline {
 public:
  // geometry: of the states of its own tokens, borrowed; attached segments may have another type.
  explicit Timeline(const KvGeometry& geometry) : geometry_(&geometry) {}
  explicit Timeline(KvGeometry&&) = delete;

  std::uint32_t n_attached() const { return static_cast<std::uint32_t>(attached_.size()); }
  std::uint32_t n_tokens() const { return n_tokens_; }  // its own

  // KvSegment::hidden of an attached segment; forks share it.
  using Hidden = std::shared_ptr<const std::vector<std::uint32_t>>;
  // A segment that later tokens may see, but for the rows that are hidden.
  void attach(const KvSegment& segment, Hidden hidden = nullptr);

  // Makes room behind all others for the tokens [first, first + n) of a run, and adds a slot for
  // each to *slots. The pieces of one run are appended one after the other, with nothing between
  // them. Rows are zero until they are written. Throws std::bad_alloc, and the timeline is then as
  // it was, up to rewind().
  void append(const pc_run& run, std::uint32_t first, std::uint32_t n, std::vector<KvSlot>* slots);

  // Keeps the first n_tokens own tokens and the first n_attached segments, or all where there are
  // fewer.
  void rewind(std::uint32_t n_tokens, std::uint32_t n_attached);

  // Copies the states of n own tokens, from `first` on, into `planes`; if their type is not the
  // timeline's own, they must be zeros. Token `first` must have begun
  // a part. False where there are no such tokens, or they are not contiguous in blocks and
  // positions.
  bool read(std::uint32_t first, std::uint32_t n, const KvPlanes& planes) const;

  // The values of its own token `index` in a layer of the states, one head after the other.
  // values: [n_kv_heads, head_dim]. Precondition: index < n_tokens().
  void read_values(std::uint32_t index, std::uint32_t layer, float* values) const;

  // Views of all it has: attached ones, then its own parts, in the order in which they came.
  // Valid until the next append() or rewind().
  void add_segments(std::vector<KvSegment>* segments) const;

 private:
  static constexpr std::uint32_t kForeign = UINT32_MAX;
  struct Part {
    std::uint32_t page;  // index, or kForeign
    KvPlanes planes;     // from its first block on; n_tokens: for which there is room
    std::uint32_t first_block = 0;
    std::uint32_t n_tokens = 0;
    std::int32_t position = 0, key_position = 0;
    std::vector<std::int32_t> positions = {};  // [n_tokens] where they have gaps, else empty
  };
  KvSegment segment_of(const Part& part) const;
  bool continues(const pc_run& run) const;
  void open_part(const pc_run& run, std::uint32_t first);
  void own_last_page();
  void drop_unused_pages();
  void clear_cut_rows();
  std::uint32_t used_blocks_of_last_page() const;
  void take(Part& part, std::vector<KvSlot>* slots);

  struct Attached {
    KvSegment segment;
    Hidden hidden;  // that the segment points to
  };

  const KvGeometry* geometry_;
  std::vector<Attached> attached_;
  std::vector<Part> parts_;
  std::vector<std::shared_ptr<KvPage>> pages_;  // of parts_, in order
  std::uint32_t n_tokens_ = 0;
  bool is_cut_ = false;  // rewound since the last append(): the last block may hold more
};

}  // namespace pc
