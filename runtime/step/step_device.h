// What only a device knows of a step: memory for states, the layers, and what is read back. A
// Stepper calls it, in the order in which it stands here (docs/adr/0044-one-step-driver.md).
//
// A call fails by its Status or by std::bad_alloc. What it is given is borrowed for the call, a
// Sweep until end_sweep(). Threads: one step at a time.
#pragma once

#include <cstdint>
#include <span>

#include "base/function_ref.h"
#include "base/status.h"
#include "runtime/backend/backend.h"
#include "runtime/step/sweep.h"

namespace pc {

// Of a timeline.
struct TimelineLength {
  std::uint32_t n_tokens;  // that it computed itself
  std::uint32_t n_attached;
};

// Rows that are read at once, at most, once a sweep is computed.
struct ReadSizes {
  std::uint32_t copied_logits = 0;  // copy_logits
  std::uint32_t logits = 0;         // read_logits
  std::uint32_t hidden = 0;         // read_hidden
};

class StepDevice {
 public:
  StepDevice() = default;
  StepDevice(const StepDevice&) = delete;
  StepDevice& operator=(const StepDevice&) = delete;
  virtual ~StepDevice() = default;

  // Of the item's timeline.
  virtual TimelineLength length(const pc_step_item& item) const = 0;
  // The item's timeline forgets the tokens that it computed itself, from n_tokens on.
  virtual void rewind(const pc_step_item& item, std::uint32_t n_tokens) noexcept = 0;

  // Rows. The item, which has none in the sweep at hand, is to have some: what it reads is brought
  // near. False: there is no room for that beside the items that the sweep has. Never false where
  // the item is `alone`.
  virtual Result<bool> join(pc_step_item& item, bool alone) = 0;
  // Memory for the states of tokens [first, first + n) of a run of the item: the next rows of the
  // sweep at hand. Where it fails they are no rows.
  virtual Status append(pc_step_item& item, const pc_run& run, std::uint32_t first,
                        std::uint32_t n) = 0;

  // Computing. Of the rows that were appended since the last end_sweep(); may begin again where it
  // or compute() failed.
  virtual Status begin_sweep(const Sweep& sweep, const ReadSizes& sizes) = 0;
  // A pass over the sweep's layers; keys and values are written to where append() took memory.
  // `proceed` is called behind the embedding (0) and behind each layer (from 1 on), and ends the
  // pass by an error, or by false without one. A sweep of n_layers ends where the last of them has
  // its keys and values, and the last call is for the layer before.
  using Proceed = FunctionRef<Result<bool>(std::uint32_t n_layers_done)>;
  virtual Status compute(Proceed proceed) = 0;
  // The residual stream as it is now, for the two below. Not of a sweep of n_layers.
  virtual Status look() = 0;
  virtual bool is_finite(std::uint32_t first_row, std::uint32_t n) const = 0;
  virtual void join_range(std::uint32_t first_row, std::uint32_t n,
                          pc_layer_range* range) const = 0;
  // All of the pass has been computed, and pc_step_item::weights have what it made; a second pass
  // adds nothing to them.
  virtual Status finish_pass() = 0;

  // Reading back. rows: of the sweep; the result is valid until the next call. finite: empty, or
  // [rows.size()], out: were a row's logits finite before they were scaled and capped?
  virtual Result<const float*> read_hidden(
      std::span<const std::uint32_t> rows) = 0;  // [rows, d_model]
  virtual Result<const float*> read_logits(std::span<const std::uint32_t> rows,
                                           std::span<bool> finite) = 0;  // [rows, vocab_size]
  virtual Status copy_logits(std::span<const std::uint32_t> rows, std::span<float* const> to,
                             std::span<bool> finite) = 0;  // to: [rows.size()] each [vocab_size]

  // The sweep failed for want of memory. True: there is more now.
  virtual bool make_room() noexcept = 0;
  // Nothing of the sweep is read any more, and the next one has no rows yet. Where it failed, what
  // was queued may still be under way. Is called without a sweep as well.
  virtual void end_sweep(bool failed) noexcept = 0;
  // All tokens of the item are computed, from first_token on of its timeline's own.
  virtual Status finish(const pc_step_item& item, std::uint32_t first_token) = 0;
};

}  // namespace pc
