// Work is what a caller wants computed; a Task is one work with its progress. The scheduler
// computes a task in as many pieces as it takes. A task succeeds as a whole; if it fails, its
// timeline is as it was before, unless lost_place().
//
// Borrows the timeline, the runs and what they point to until it is finished or destroyed.
// Threads: the scheduler's lock guards it while a call of the scheduler has it; else its owner's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "modules/kv.h"
#include "runtime/backend/backend_handle.h"

namespace pc {

struct SchedulerCall;  // runtime/scheduler/scheduler.cc

// Receives what each token of a work made (logits, or hidden states), in order; see pc_step_item.
class RowSink {
 public:
  virtual ~RowSink() = default;
  // token: its index among the tokens of the work.
  virtual void take(std::uint64_t token, const float* values) noexcept = 0;
};

// See pc_step_item.
struct Work {
  BackendTimeline* timeline;
  std::span<const pc_run> runs;
  float* logits = nullptr;
  const volatile std::int32_t* cancel = nullptr;
  pc_layer_range* ranges = nullptr;
  bool encodes = false;      // a module is encoded: it may wait for decoding and prefill
  bool is_step = false;      // the token that was drawn last, and perhaps what may follow it
  std::uint64_t client = 0;  // clients that want more than a step has take turns
  std::uint32_t n_layers = 0;
  std::uint64_t* weights = nullptr;
  std::uint32_t first_weighted = 0;
  RowSink* rows = nullptr;
  std::uint64_t first_row = 0;
  pc_row_kind row_kind = PC_ROW_LOGITS;
};

class Task {
 public:
  explicit Task(const Work& work);

  bool finished() const { return finished_; }
  const Status& result() const { return result_; }  // once it is finished
  // The task failed, and its timeline could not be rewound to where it was before.
  bool lost_place() const { return lost_place_; }

  bool is_step() const { return work_.is_step; }
  std::uint64_t n_tokens() const { return n_tokens_; }  // of all runs
  std::uint64_t n_done() const { return n_done_; }

 private:
  friend class Scheduler;

  std::uint64_t left() const { return n_tokens_ - n_done_; }
  bool decodes() const { return (n_tokens_ == 1 || work_.is_step) && !work_.encodes; }
  bool prefills() const { return !decodes() && !work_.encodes; }

  // The next piece, of about n tokens, as an item of a step; sets n_piece_.
  pc_step_item piece(std::uint32_t n);
  std::uint32_t cut(const pc_run& run, std::uint64_t skip, std::uint32_t n);
  void piece_done(Status result);
  static void take_row(void* task, std::uint64_t token, const float* values);

  Work work_;
  std::uint64_t n_tokens_;
  std::uint32_t n_before_;  // tokens that the timeline computed before
  std::uint64_t n_done_ = 0;
  std::uint32_t n_piece_ = 0;         // tokens of the piece at hand
  std::vector<pc_run> runs_;          // of a piece that is not all of the work
  std::vector<pc_kv_planes> planes_;  // [runs_]
  Status result_ = ok();
  bool finished_ = false, lost_place_ = false;

  // While the task is in the scheduler's queue.
  SchedulerCall* call_ = nullptr;
  std::uint64_t number_ = 0;  // in the order in which work came; 0: it did not yet
  // Of prefill: WaitingPrefill::n_behind. Of encoding: steps in which others went before.
  std::uint32_t n_passed_ = 0;
};

}  // namespace pc
