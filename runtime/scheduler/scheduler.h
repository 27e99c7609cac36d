// Who is computed when: work of many callers becomes steps of the one executor.
//
// Continuous batching. Each step takes the single tokens of all who decode, then pieces of longer
// work, as many tokens as the target time between tokens leaves room for: the shortest first, but
// nobody is passed over for more than prefill_order.h says, and clients with names have the same
// share of what is computed while they wait. Encoding comes last, piece by piece, but gets a step
// of every few.
//
// As long as one thread calls, it computes its steps itself. Once a second one comes, a thread of
// the scheduler's own computes all of them, so that all callers share one team of threads; to wake
// the caller then costs it some microseconds, or a time slice where threads that spin have all
// CPUs. Encoding alone does not count as a caller.
//
// Threads: compute() and advance() from any; the work belongs to the call until it returns. A
// process that was forked from one that computes gets an error, since threads are not forked.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/function_ref.h"
#include "base/mapped_file.h"
#include "base/mutex.h"
#include "base/status.h"
#include "modules/kv.h"
#include "runtime/backend/backend_handle.h"
#include "runtime/scheduler/prefill_order.h"
#include "runtime/scheduler/step_time.h"
#include "runtime/scheduler/task.h"

namespace pc {

class Scheduler {
 public:
  // The time between two tokens at which text still reads as fluent: while somebody decodes, a step
  // takes only as much prefill as fits into it.
  static constexpr std::chrono::milliseconds kTokenTime{100};

  // How often, at least, a caller that waits for long work is told its progress.
  static constexpr std::chrono::milliseconds kTick{50};

  // Borrows the model, and the files that hold its weights.
  explicit Scheduler(const BackendModel& model, std::span<const MappedFile> weights = {})
      : model_(model), weights_(weights) {}
  // Precondition: no work is under way.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  const BackendModel& model() const { return model_; }

  // The most tokens of a step: pc_backend_v1::step_tokens.
  std::uint32_t step_tokens() const { return model_.step_tokens(); }

  // Blocks until the work is done. Errors: those of the backend for this work; kInternal where
  // the thread cannot be started, or was left behind by a fork.
  // `progress` is told, on the calling thread, how many tokens of how many are computed: before
  // the first step and now and then. kIo where a file that was read was cut short meanwhile
  // (guard_mappings).
  using Progress = FunctionRef<void(std::uint64_t n_done, std::uint64_t n_tokens)>;
  Status compute(Task& task, Progress progress = {});
  Status compute(const Work& work, Progress progress = {});

  // Takes part in one step with these tasks together. Afterwards some are finished or have more
  // tokens computed, and the others are as they were. A task that is not finished may be given to
  // another call, or given up: its timeline then has what was computed so far. The Status is about
  // the call, not about the work: errors as above. Preconditions: there is a task, and none is
  // finished.
  Status advance(std::span<Task* const> tasks);

  // Tasks that wait for their work, the step at hand included.
  std::size_t n_waiting() const {
    const MutexLock lock(mutex_);
    return waiting_.size();
  }

 private:
  using Clock = std::chrono::steady_clock;
  // What a client was given of prefill, counted from the share of whoever was first when it came.
  struct ClientShare {
    std::uint64_t client = 0, n_tokens = 0;
  };

  Status check_process();
  void tell(const SchedulerCall& call) PC_REQUIRES(mutex_);
  Status take_part(SchedulerCall& call);
  void enter(SchedulerCall& call) PC_REQUIRES(mutex_);
  bool computes_itself(bool encodes) PC_REQUIRES(mutex_);
  Status start() PC_REQUIRES(mutex_);
  void serve();
  void wait_for_work(MutexLock& lock) PC_REQUIRES(mutex_);
  void take_step() PC_REQUIRES(mutex_);
  void choose_step() PC_REQUIRES(mutex_);
  void choose(Task& task, std::uint32_t n_tokens) PC_REQUIRES(mutex_);
  void choose_prefill(std::uint32_t budget) PC_REQUIRES(mutex_);
  void list_prefill() PC_REQUIRES(mutex_);
  void take_prefill(std::size_t index, std::uint32_t room) PC_REQUIRES(mutex_);
  void choose_encoding(std::uint32_t budget, std::uint32_t n_passed) PC_REQUIRES(mutex_);
  bool chosen(const Task& task) const;
  void forget_shares() PC_REQUIRES(mutex_);
  std::uint64_t& share_of(std::uint64_t client) PC_REQUIRES(mutex_);
  void compute_step();
  Status outcome(std::size_t index) const;
  void finish_step() PC_REQUIRES(mutex_);
  void tell_remark();
  void out_of_memory() PC_REQUIRES(mutex_);
  void end_call(SchedulerCall& call) PC_REQUIRES(mutex_);

  const BackendModel& model_;
  const std::span<const MappedFile> weights_;

  mutable Mutex mutex_;
  std::unique_ptr<Condition> changed_ = std::make_unique<Condition>();  // waiting_ or stopping_
  std::vector<Task*> waiting_ PC_GUARDED_BY(mutex_);  // in the order in which they came
  std::uint64_t n_tasks_ PC_GUARDED_BY(mutex_) = 0;   // that came so far
  std::vector<ClientShare> shares_ PC_GUARDED_BY(mutex_);
  std::uint64_t now_ PC_GUARDED_BY(mutex_) = 0;  // the share of the client that had the latest turn
  bool stopping_ PC_GUARDED_BY(mutex_) = false;
  bool computing_ PC_GUARDED_BY(mutex_) = false;  // a thread computes a step
  std::thread::id caller_ PC_GUARDED_BY(mutex_);  // the only one so far
  std::thread thread_ PC_GUARDED_BY(mutex_);      // once there are more
  std::atomic<std::uint32_t> process_{0};         // fork_generation() where it computes, plus 1

  // For the thread that computes alone.
  std::vector<Task*> chosen_;            // for the step at hand
  std::vector<Task*> prefilling_;        // who waited for prefill when it was chosen
  std::vector<WaitingPrefill> prefill_;  // [prefilling_]
  std::vector<pc_step_item> items_;      // [chosen_]
  std::uint32_t n_chosen_tokens_ = 0;
  std::size_t n_served_ = 0;   // who decoded in the latest step
  std::size_t n_company_ = 0;  // and who came to decode while it was computed
  Clock::time_point ended_{};  // of the latest step
  Clock::duration took_{};
  StepTime time_;
  std::string remark_;  // of the backend's, told last
  Clock::time_point told_{};
};

}  // namespace pc
