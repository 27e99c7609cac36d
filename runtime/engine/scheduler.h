// Who is computed when: work of many callers becomes steps of the one executor.
//
// Continuous batching. Each step takes the single tokens of all who decode, then pieces of longer
// work in the order in which it came, as many tokens as the target time between tokens leaves
// room for; those who share modules with the step's others go before the rest, but nobody is
// passed over forever. Encoding comes last, piece by piece. Work is one caller's, however many
// steps it takes: it succeeds as a whole, or fails and leaves its timeline as it was.
//
// As long as one thread calls, it computes its steps itself. Once a second one comes, a thread of
// the scheduler's own computes all of them, so that all callers share one team of threads; to wake
// the caller then costs it some microseconds, or a time slice where threads that spin have all
// CPUs. Encoding alone does not count as a caller.
//
// Threads: compute() from any; the timeline, the runs and what they
// point to belong to the call until it returns. A process that was forked from one that computes
// gets an error, since threads are not forked.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "modules/kv.h"
#include "runtime/backend/backend_handle.h"
#include "runtime/engine/step_time.h"

namespace pc {

// What a caller wants computed: see pc_step_item.
struct Work {
  BackendTimeline* timeline;
  std::span<const pc_run> runs;
  float* logits = nullptr;
  const volatile std::int32_t* cancel = nullptr;
  pc_layer_range* ranges = nullptr;
  bool encodes = false;  // nobody waits for its tokens one by one
};

class Scheduler {
 public:
  // What reads as fluent: while somebody decodes, a step takes no more prefill than this leaves
  // room for.
  static constexpr std::chrono::milliseconds kTokenTime{100};
  // Tokens of a step in which nobody decodes: a sweep of the CPU (runtime/cpu/chunk_size.h).
  static constexpr std::uint32_t kStepTokens = 256;

  // Borrows the model.
  Scheduler(const BackendModel& model, const KvGeometry& geometry)
      : model_(model), geometry_(geometry) {}
  // Precondition: no work is under way.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  const BackendModel& model() const { return model_; }

  // Blocks until the work is done. Errors: those of the backend for this work; kInternal where
  // the thread cannot be started, or was left behind by a fork.
  Status compute(const Work& work);

  // Calls that wait for their work, the step at hand included.
  std::size_t n_waiting() const {
    const MutexLock lock(mutex_);
    return waiting_.size();
  }

 private:
  struct Task;
  using Clock = std::chrono::steady_clock;

  bool computes_itself(const Work& work) PC_REQUIRES(mutex_);
  Status start() PC_REQUIRES(mutex_);
  void serve();
  void wait_for_work(MutexLock& lock) PC_REQUIRES(mutex_);
  void choose_step() PC_REQUIRES(mutex_);
  void choose(Task& task, std::uint32_t n_tokens) PC_REQUIRES(mutex_);
  void choose_prefill(std::uint32_t budget) PC_REQUIRES(mutex_);
  void compute_step();
  void finish_step() PC_REQUIRES(mutex_);

  const BackendModel& model_;
  const KvGeometry geometry_;

  mutable Mutex mutex_;
  std::unique_ptr<Condition> changed_ = std::make_unique<Condition>();  // waiting_ or stopping_
  std::vector<Task*> waiting_ PC_GUARDED_BY(mutex_);  // in the order in which they came
  std::uint64_t n_tasks_ PC_GUARDED_BY(mutex_) = 0;   // that came so far
  bool stopping_ PC_GUARDED_BY(mutex_) = false;
  bool computing_ PC_GUARDED_BY(mutex_) = false;  // somebody is at a step
  std::thread::id caller_ PC_GUARDED_BY(mutex_);  // the only one so far
  std::thread thread_ PC_GUARDED_BY(mutex_);      // once there are more
  std::atomic<std::uint32_t> process_{0};         // fork_generation() where it computes, plus 1

  // Of whoever computes.
  std::vector<Task*> chosen_;        // for the step at hand
  std::vector<pc_step_item> items_;  // [chosen_]
  std::uint32_t n_chosen_tokens_ = 0;
  std::size_t n_served_ = 0;   // who decoded in the latest step
  Clock::time_point ended_{};  // of the latest step
  Clock::duration took_{};
  StepTime time_;
};

}  // namespace pc
