// One step for many timelines, on whatever device: who is admitted, sweeps, and what became of
// each item (docs/adr/0044-one-step-driver.md).
//
// A step's rows are its items' tokens, in the items' order. They go through the layers in sweeps
// of at most max_rows. An item fails by itself, and its timeline is then as it was before the
// step; but a device that fails takes all items of its sweep with it.
//
// Borrows the device. In steady state it allocates nothing. Threads: one step at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "runtime/backend/backend.h"
#include "runtime/step/admission.h"
#include "runtime/step/step_device.h"
#include "runtime/step/sweep.h"

namespace pc {

class Stepper {
 public:
  Stepper(const StepLimits& limits, std::uint32_t max_rows, StepDevice& device);

  // Every item's status is set. Throws std::bad_alloc before it has done anything.
  void step(std::span<pc_step_item> items);

 private:
  // Tokens of a run that become rows: [first, first + n), from number `begin` of the item's on.
  struct Piece {
    const pc_run& run;
    std::uint32_t first, n;
    std::uint64_t begin;
    bool ends;
  };
  void take(pc_step_item& item);
  Status add(pc_step_item& item, const Piece& piece);
  Status join(pc_step_item& item);
  void add_rows(pc_step_item& item, const Piece& piece);
  void sweep();
  Status compute();
  ReadSizes read_sizes() const;
  Result<bool> proceed(std::uint32_t n_layers_done);
  Result<bool> find_cause(std::uint32_t n_layers_done);
  Error not_finite(const SweepPart& part, std::uint32_t n_layers_done) const;
  Status hand_out_rows(const SweepPart& part);
  Status copy_logits();
  std::span<bool> flags(std::size_t n) const;
  bool fails_by(pc_step_item& item, std::span<const bool> finite, std::size_t i) const;

  StepLimits limits_;
  std::uint32_t max_rows_;
  StepDevice& device_;

  std::vector<std::uint32_t> tokens_before_;  // [items] of their timelines
  Sweep sweep_;                               // at hand
  bool handed_out_ = false;  // something of the sweep, which must not be added again

  std::vector<std::uint32_t> rows_;  // that are read
  std::vector<float*> to_;           // [rows_] their logits
  std::unique_ptr<bool[]> finite_;   // [max_rows] of rows_
};

}  // namespace pc
