// Who computes a conversation: its states on one engine, and the work that they are at.
//
// A run has no states until a reading gave it some. Work is begun, gone on with (by go_on(), or
// with others' by the scheduler), and over once its result was taken. A move to another engine is
// another run.
//
// Borrows the engine, and of its caller the flag that cancels and who is told how far it is.
// Threads: one at a time. Not moved while it is at work, which borrows its timeline.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "runtime/backend/backend_handle.h"
#include "runtime/engine/engine.h"
#include "runtime/scheduler/task.h"
#include "runtime/session/reading.h"

namespace pc {

class Run {
 public:
  struct Caller {
    std::uint64_t client;  // Work::client
    std::int32_t* cancel;
    // As SessionOptions::progress; may be empty.
    const std::function<bool(std::uint64_t n_done, std::uint64_t n_tokens)>* progress;
  };
  Run(const Engine& engine, const Caller& caller) : engine_(&engine), caller_(caller) {}

  const Engine& engine() const { return *engine_; }
  const Caller& caller() const { return caller_; }

  bool has_states() const { return timeline_.has_value(); }
  // Precondition: has_states().
  const BackendTimeline& timeline() const { return *timeline_; }
  void take(BackendTimeline timeline) { timeline_ = std::move(timeline); }
  // Another timeline with the same states.
  Result<BackendTimeline> fork() const { return timeline_->fork(); }
  // Another run with the same modules and states, but for the last n_ahead tokens, and no work.
  Result<Run> copy_for(const Caller& caller, std::uint32_t n_ahead) const;
  // Forgets the last n_ahead computed tokens.
  Status drop_last(std::uint32_t n_ahead);

  // Computes what is missing of this chain on a timeline, behind which nothing is under way; null:
  // the run's own. A failure leaves the timeline as it was.
  Status compute(BackendTimeline* timeline, std::span<const pc_run> runs, float* logits);

  // Modules that a prompt uses, and holds where it is begun anew.
  std::vector<ResidentHandle>& modules() { return modules_; }

  // ---- Work

  bool is_at_work() const { return task_.has_value(); }
  Task* task() { return task_ ? &*task_ : nullptr; }
  const Task* task() const { return task_ ? &*task_ : nullptr; }
  bool reads() const { return reading_ != nullptr; }

  // What gives it states.
  void begin(Reading reading, float* logits);
  // Tokens behind what it has; rows: null, or who takes the logits of each.
  void begin_step(const pc_run& run, float* logits, RowSink* rows);
  // To its end. An error of the call leaves the work as it was, to be gone on with. Precondition:
  // it is not finished.
  Status go_on();
  // The work is over, and this is what became of it. Precondition: it is finished.
  struct Outcome {
    Status computed;
    bool lost_place;
    std::unique_ptr<Reading> reading;  // null: it was a step
  };
  Outcome end();

 private:
  Work work(BackendTimeline* timeline, std::span<const pc_run> runs, float* logits) const;
  Status compute(Task& task);

  const Engine* engine_;
  Caller caller_;
  std::vector<ResidentHandle> modules_;  // [LoadedPrompt::modules]
  std::optional<BackendTimeline> timeline_;
  std::unique_ptr<Reading> reading_;  // that task_ computes; null: it is a step
  pc_run step_run_{};
  std::optional<Task> task_;
};

}  // namespace pc
