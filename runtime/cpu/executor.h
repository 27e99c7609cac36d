// The CPU as a device of steps (runtime/step/step_device.h): compute without state
// (docs/adr/0020-timeline-and-executor.md).
//
// Matrix products see all rows of a sweep at once, and attention all that see the same bytes.
//
// Owns all scratch, through Transformer; borrows the model and its packed weights. Threads: one
// step at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "runtime/backend/backend.h"
#include "runtime/cpu/recurrent_sweep.h"
#include "runtime/cpu/rows.h"
#include "runtime/cpu/transformer.h"
#include "runtime/step/step_device.h"
#include "runtime/step/stepper.h"

namespace pc {

class Executor final : public StepDevice {
 public:
  Executor(const pc_model_desc& desc, const simd::Kernels& kernels, Parallel parallel,
           std::uint32_t max_rows, const PackedWeights& packed, Precision precision);

  void step(std::span<pc_step_item> items) { stepper_.step(items); }

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

  void find_read_rows(const Sweep& sweep);
  float* logits_room(std::size_t n_rows);
  void cap(float* logits, std::span<bool> finite, std::size_t row) const;

  const pc_model_desc& desc_;
  const simd::Kernels& kernels_;
  const PackedWeights& packed_;
  const bool is_recurrent_;  // does any layer carry a state?
  Transformer transformer_;

  // Of the sweep.
  Rows rows_;
  std::uint32_t n_layers_ = 0;             // pc_step_item::n_layers
  RecurrentSweep recurrent_;               // its rows for layers that carry states
  ReadRows read_;                          // of which more than keys and values is asked for
  bool is_swept_ = false;                  // compute() was called for it before
  std::vector<KvSegment> segments_;        // that rows_.timelines view
  std::vector<std::size_t> segment_ends_;  // [rows_.timelines] in segments_

  AlignedBuffer<float> logits_;  // of several rows at once

  Stepper stepper_;
};

}  // namespace pc
