// Compute without state: one step for many timelines (docs/adr/0020-timeline-and-executor.md).
//
// A step's rows are its items' tokens, in the items' order. They go through the layers in sweeps of
// at most max_rows. An item fails by itself, and its timeline is then as it was before the step;
// but a device that fails takes all items of its step with it. Modules that the step reads are
// brought to the device, layer by layer beside the computing. What the device has no room for,
// once everything has gone that nobody reads, is in the host's memory (cuda/state_memory.h).
// Threads: one step at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "cuda/module_cache.h"
#include "cuda/timeline.h"
#include "cuda/transformer.h"

namespace pc::cuda {

class Executor {
 public:
  // pc_step_item, with what an item's timeline is here.
  struct Item {
    Timeline* timeline;
    pc_step_item* asked;
    Status status = ok();     // out
    const char* remark = "";  // out: what it cost more than it should
  };

  // All borrowed but the transformer.
  Executor(const Model& model, Transformer transformer, ModuleCache& modules, PagePool& pages,
           std::uint32_t max_rows, cudaStream_t stream);

  void step(std::span<Item> items);

  // Copies tokens of a timeline, contiguous from `first` on, as a module's file packs them.
  Status read(const Timeline& timeline, std::uint32_t first, std::uint32_t n_tokens,
              const pc_kv_planes& planes);

  // pc_backend_v1::timeline_compare; the rows of the copy that are compared.
  Status compare(const Timeline& timeline, std::uint32_t first, std::uint32_t n_tokens,
                 const std::shared_ptr<ModuleCopy>& copy, std::uint32_t first_row,
                 std::uint32_t layer, float* distances);

 private:
  // An item in the sweep at hand: rows [first, first + n).
  struct Part {
    Item* item;
    std::uint32_t first, n;
    bool ends;            // its last token is the item's last
    std::uint64_t begin;  // of its first row, the token's number among the item's
  };
  // Tokens of an item that become rows: from number `begin` on.
  struct Taken {
    std::uint64_t begin;
    std::uint32_t n;
    bool ends;
  };
  Status admit(const Item& item) const;
  Status check_run(const pc_run& run) const;
  void compute(Item& item);
  void take(Item& item, const pc_run& run, std::uint32_t first, const Taken& taken);
  void sweep();
  Status try_sweep();
  Status compute_sweep();
  bool move_module_to_host();
  void gather_views();
  Status append(Item& item, const pc_run& run, std::uint32_t first, std::uint32_t n);
  Status add_rows(Item& item, const pc_run& run, std::uint32_t first, const Taken& taken);
  void reserve_rows(std::uint32_t n);
  Status pin_modules(Item& item);
  Status pin(const std::shared_ptr<ModuleCopy>& copy);
  void unpin_modules();
  Result<bool> proceed(std::uint32_t layer);
  Result<bool> look(std::uint32_t n_layers_done, bool for_cause);
  Status pace(std::uint32_t layer);
  Status find_cause();
  Status reserve_results();
  Status read_rows(const Part& part);
  bool are_finite(Item& item, const RowRange& logits) const;
  Status read_logits();
  Status write_planes(const Item& item, std::uint32_t first_token);
  // Elements for the call at hand.
  template <class Buffer>
  Result<Buffer> scratch(std::size_t size) {
    auto buffer = Buffer::make(size);
    if (is_full(buffer) && transformer_.make_room()) buffer = Buffer::make(size);
    return buffer;
  }
  Status read_slots(std::span<const Slot> slots, const pc_kv_planes& planes);

  const Model& model_;
  Transformer transformer_;
  ModuleCache& modules_;
  PagePool& pages_;
  std::uint32_t max_rows_;
  cudaStream_t stream_;

  std::vector<std::uint32_t> tokens_before_;  // [items] of their timelines
  SweepRows rows_;
  std::vector<Part> parts_;
  std::vector<std::shared_ptr<ModuleCopy>> pinned_;
  std::deque<std::vector<std::int32_t>> gaps_;  // positions that views of the sweep point to
  std::vector<float> handed_rows_;              // [some rows, the widest that is handed out]
  std::vector<Event> layer_events_;
  bool looks_ = false;       // behind each layer: somebody measures
  bool handed_out_ = false;  // something of the sweep, which must not be added again
};

}  // namespace pc::cuda
