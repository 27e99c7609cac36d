// Compute without state: one step for many timelines (DESIGN D13, D14).
//
// A step's rows are its items' tokens, in the items' order. They go through the layers in
// sweeps of at most max_rows; matrix products see all rows of a sweep at once, and attention
// all that see the same bytes. An item fails by itself, and its timeline is then as it was
// before the step.
//
// Owns all scratch, through Transformer; borrows the model. Threads: one step at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "runtime/backend/backend.h"
#include "runtime/cpu/rows.h"
#include "runtime/cpu/states/timeline.h"
#include "runtime/cpu/transformer.h"

namespace pc {

class Executor {
 public:
  Executor(const pc_model_desc& desc, KvType type, const simd::Kernels& kernels, Parallel parallel,
           std::uint32_t max_rows, const PackedWeights& packed, Precision precision);

  // pc_step_item, with what an item's timeline is here.
  struct Item {
    Timeline* timeline;
    std::span<const pc_run> runs;
    float* logits = nullptr;
    const volatile std::int32_t* cancel = nullptr;
    pc_layer_range* ranges = nullptr;
    std::uint32_t n_layers = 0;
    float* weights = nullptr;
    std::uint32_t first_weighted = 0;
    pc_row_sink row = nullptr;
    void* row_user = nullptr;
    std::uint64_t first_row = 0;
    std::uint32_t row_kind = PC_ROW_LOGITS;
    Status status = ok();  // out
  };
  void step(std::span<Item> items);

 private:
  // An item in the sweep at hand: rows [first, first + n).
  struct Part {
    Item* item;
    std::uint32_t first, n;
    bool ends;            // its last token is the item's last
    std::uint64_t begin;  // the number of its first token among the item's
  };

  Status admit(const Item& item) const;
  Status check_positions(const pc_run& run) const;
  void compute(Item& item);
  void take(Item& item, const pc_run& run, std::uint32_t first, std::uint32_t n, bool ends,
            std::uint64_t begin);
  bool fits_sweep(const Item& item) const;
  void sweep();
  void gather_segments();
  Status compute_sweep();
  bool watch(std::uint32_t n_layers_done, bool look_for_cause);
  bool is_finite(const Part& part) const;
  Error not_finite(const Part& part, std::uint32_t n_layers_done) const;
  Status read_logits();
  Status read_rows(const Part& part);
  float* logits_room(std::size_t n_rows);
  bool finish_logits(Item& item, float* logits) const;

  const pc_model_desc& desc_;
  const simd::Kernels& kernels_;
  std::uint32_t max_rows_;
  Transformer transformer_;

  std::vector<std::uint32_t> tokens_before_;  // [items] of their timelines

  // Of the sweep.
  Rows rows_;
  std::vector<Part> parts_;
  std::vector<KvSegment> segments_;        // that rows_.timelines view
  std::vector<std::size_t> segment_ends_;  // [parts_] in segments_

  std::vector<std::uint32_t> last_rows_;  // whose logits are wanted
  AlignedBuffer<float> logits_;           // of several rows at once
};

}  // namespace pc
