// The CUDA device as one of steps (runtime/step/step_device.h): compute without state
// (docs/adr/0020-timeline-and-executor.md).
//
// Modules that a step reads are brought to the device, layer by layer beside the computing. What
// the device has no room for, once everything has gone that nobody reads, is in the host's memory
// (cuda/states/state_memory.h). Threads: one step at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "cuda/backend/transformer.h"
#include "cuda/states/module_cache.h"
#include "cuda/states/timeline.h"
#include "runtime/step/step_device.h"
#include "runtime/step/stepper.h"

// What the seam calls a timeline.
struct pc_backend_timeline {
  pc_backend_model* model;
  pc::cuda::Timeline timeline;
};

namespace pc::cuda {

class Executor final : public StepDevice {
 public:
  // All borrowed but the transformer.
  Executor(const Model& model, Transformer transformer, ModuleCache& modules, PagePool& pages,
           std::uint32_t max_rows, cudaStream_t stream);

  void step(std::span<pc_step_item> items) { stepper_.step(items); }

  // Copies tokens of a timeline, contiguous from `first` on, as a module's file packs them.
  Status read(const Timeline& timeline, std::uint32_t first, std::uint32_t n_tokens,
              const pc_kv_planes& planes);

  // pc_backend_v1::timeline_compare; the rows of the copy that are compared.
  Status compare(const Timeline& timeline, std::uint32_t first, std::uint32_t n_tokens,
                 const std::shared_ptr<ModuleCopy>& copy, std::uint32_t first_row,
                 std::uint32_t layer, float* distances);

 private:
  TimelineLength length(const pc_step_item& item) const override;
  void rewind(const pc_step_item& item, std::uint32_t n_tokens) noexcept override;
  Result<bool> join(pc_step_item& item, bool alone) override;
  Status append(pc_step_item& item, const pc_run& run, std::uint32_t first,
                std::uint32_t n) override;
  Status begin_sweep(const Sweep& sweep, const ReadSizes& sizes) override;
  Status compute(Proceed proceed) override;
  Status look() override;
  bool is_finite(std::uint32_t first_row, std::uint32_t n) const override;
  void join_range(std::uint32_t first_row, std::uint32_t n, pc_layer_range* range) const override;
  Status finish_pass() override;
  Result<const float*> read_hidden(std::span<const std::uint32_t> rows) override;
  Result<const float*> read_logits(std::span<const std::uint32_t> rows,
                                   std::span<bool> finite) override;
  Status copy_logits(std::span<const std::uint32_t> rows, std::span<float* const> to,
                     std::span<bool> finite) override;
  bool make_room() noexcept override;
  void end_sweep(bool failed) noexcept override;
  Status finish(const pc_step_item& item, std::uint32_t first_token) override;

  Status pin(const std::shared_ptr<ModuleCopy>& copy);
  Status take_pages(pc_step_item& item, const pc_run& run, std::uint32_t first, std::uint32_t n);
  void gather_views();
  void add_parts(const Timeline& timeline, std::vector<View>* views);
  Status pace(std::uint32_t layer);
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
  cudaStream_t stream_;

  // Of the sweep.
  const Sweep* sweep_ = nullptr;
  SweepRows rows_;
  std::vector<std::shared_ptr<ModuleCopy>> pinned_;
  std::deque<std::vector<std::int32_t>> gaps_;  // positions that views of the sweep point to
  std::span<const RowRange> ranges_;            // [rows] of the stream, as it was looked at last

  std::vector<float> handed_rows_;   // [some rows, the widest that is handed out]
  std::vector<float*> handed_to_;    // [some rows] in handed_rows_
  std::vector<RowRange> of_logits_;  // [rows] that were read last
  std::vector<Event> layer_events_;

  Stepper stepper_;
};

}  // namespace pc::cuda
