#include "runtime/session/run.h"

#include <exception>
#include <utility>

namespace pc {

Result<Run> Run::copy_for(const Caller& caller, std::uint32_t n_ahead) const {
  Run copy(*engine_, caller);
  copy.modules_ = modules_;
  if (!timeline_) return copy;
  PC_TRY(copy.timeline_, timeline_->fork());
  PC_CHECK_OK(copy.drop_last(n_ahead));
  return copy;
}

Status Run::drop_last(std::uint32_t n_ahead) {
  return timeline_->rewind(timeline_->n_tokens() - n_ahead, timeline_->n_attached());
}

Work Run::work(BackendTimeline* timeline, std::span<const pc_run> runs, float* logits) const {
  return {.timeline = timeline,
          .runs = runs,
          .logits = logits,
          .cancel = caller_.cancel,
          .client = caller_.client};
}

Status Run::compute(BackendTimeline* timeline, std::span<const pc_run> runs, float* logits) {
  Task task(work(timeline ? timeline : &*timeline_, runs, logits));
  return compute(task);
}

// A single token takes no time that is worth telling.
Status Run::compute(Task& task) {
  std::exception_ptr thrown;  // the scheduler's lock must not see it
  bool told_to_stop = false;
  const auto cancel = [&] {
    told_to_stop = true;
    __atomic_store_n(caller_.cancel, 1, __ATOMIC_RELAXED);
  };
  const auto tell = [&](std::uint64_t n_done, std::uint64_t n_tokens) {
    try {
      if (!thrown && !(*caller_.progress)(n_done, n_tokens)) cancel();
    } catch (...) {
      thrown = std::current_exception();
      cancel();
    }
  };
  Scheduler::Progress progress;
  if (*caller_.progress && task.n_tokens() > 1 && !task.is_step()) progress = tell;
  Status computed = engine_->scheduler().compute(task, progress);
  // Who was told to stop this call had nothing left to do: the next call is not meant.
  if (told_to_stop && computed.ok()) __atomic_store_n(caller_.cancel, 0, __ATOMIC_RELAXED);
  if (thrown) std::rethrow_exception(thrown);
  return computed;
}

void Run::begin(Reading reading, float* logits) {
  auto held = std::make_unique<Reading>(std::move(reading));
  held->compute_watch = {};
  Work all = work(&held->timeline, held->runs, logits);
  if (PromptScores* const scores = held->scores.get(); scores && scores->first() != scores->end()) {
    all.rows = scores;
    all.first_row = scores->first_row();
  }
  task_.emplace(all);
  reading_ = std::move(held);
}

void Run::begin_step(const pc_run& run, float* logits, RowSink* rows) {
  step_run_ = run;
  Work step = work(&*timeline_, {&step_run_, 1}, logits);
  step.is_step = true;
  step.rows = rows;
  task_.emplace(step);
}

Status Run::go_on() {
  return compute(*task_);
}

Run::Outcome Run::end() {
  Outcome outcome{task_->result(), task_->lost_place(), std::move(reading_)};
  task_.reset();
  return outcome;
}

}  // namespace pc
