#include "runtime/engine/scheduler.h"

#include <pthread.h>

#include <algorithm>
#include <initializer_list>
#include <new>
#include <system_error>
#include <utility>

#include "base/function_ref.h"

namespace pc {
namespace {

// Tokens of prefill that a step has beside decoding, however slow the machine: those who wait
// for their first token wait on.
constexpr std::uint32_t kLeastPrefill = 16;

// Steps in which younger work that shares modules may go before older.
constexpr std::uint32_t kMostPassed = 4;

// Who decoded in a step is about to ask for the next token: the step after it waits this part
// of its time for them, so that they go on together.
constexpr int kCompanyShare = 16;

// How often this process is the child of a fork, counted from the first call.
std::uint32_t fork_generation() {
  static std::atomic<std::uint32_t> generation{0};
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++generation; });
  (void)registered;
  return generation;
}

std::uint64_t tokens_of(std::span<const pc_run> runs) {
  std::uint64_t n = 0;
  for (const pc_run& run : runs) n += run.n_tokens;
  return n;
}

// Do two timelines share a module?
bool shares(const BackendTimeline& a, const BackendTimeline& b) {
  return std::ranges::any_of(a.residents(), [&](const ResidentHandle& resident) {
    return std::ranges::any_of(b.residents(), [&](const ResidentHandle& other) {
      return &resident->module() == &other->module();
    });
  });
}

// An order in which timelines that share their first modules are neighbours.
bool before(const BackendTimeline& a, const BackendTimeline& b) {
  return std::ranges::lexicographical_compare(
      a.residents(), b.residents(), std::less<>(),
      [](const ResidentHandle& resident) { return &resident->module(); },
      [](const ResidentHandle& resident) { return &resident->module(); });
}

}  // namespace

// One caller's work, and how far it is.
struct Scheduler::Task {
  explicit Task(const Work& w)
      : work(w), n_tokens(tokens_of(w.runs)), n_before(w.timeline->n_tokens()) {}

  const Work& work;
  const std::uint64_t n_tokens;  // of all runs
  const std::uint32_t n_before;  // of the timeline
  std::uint64_t number = 0;      // in the order in which work came
  std::uint64_t n_done = 0;
  std::uint32_t n_piece = 0;   // tokens of the piece at hand
  std::uint32_t n_passed = 0;  // steps in which others went before
  Status result = ok();
  bool finished = false;
  Condition done;

  std::uint64_t left() const { return n_tokens - n_done; }
  bool decodes() const { return n_tokens == 1 && !work.encodes; }
  bool prefills() const { return n_tokens != 1 && !work.encodes; }

  pc_step_item piece(std::uint32_t n, const KvGeometry& geometry);

 private:
  std::uint32_t cut(const pc_run& run, std::uint64_t skip, std::uint32_t n,
                    const KvGeometry& geometry);
  std::vector<pc_run> runs_;          // of a piece that is not all of the work
  std::vector<pc_kv_planes> planes_;  // [runs_]
};

// The next tokens, about n of them: runs that bring their own planes are cut between blocks.
pc_step_item Scheduler::Task::piece(std::uint32_t n, const KvGeometry& geometry) {
  pc_step_item item{};
  item.timeline = work.timeline->get();
  item.cancel = work.cancel;
  item.ranges = work.ranges;
  if (n_done == 0 && (n >= n_tokens || work.ranges)) {
    item.runs = work.runs.data();
    item.n_runs = static_cast<std::uint32_t>(work.runs.size());
    n_piece = static_cast<std::uint32_t>(n_tokens);
  } else {
    runs_.clear();
    planes_.clear();
    planes_.reserve(work.runs.size());
    n_piece = 0;
    std::uint64_t skip = n_done;
    for (const pc_run& run : work.runs) {
      if (n_piece < n && skip < run.n_tokens) n_piece += cut(run, skip, n - n_piece, geometry);
      skip -= std::min<std::uint64_t>(skip, run.n_tokens);
    }
    item.runs = runs_.data();
    item.n_runs = static_cast<std::uint32_t>(runs_.size());
  }
  if (n_piece == left()) item.logits = work.logits;
  return item;
}

// Adds at most n of a run's tokens behind the first `skip` to the piece; how many.
std::uint32_t Scheduler::Task::cut(const pc_run& run, std::uint64_t skip, std::uint32_t n,
                                   const KvGeometry& geometry) {
  const auto first = static_cast<std::uint32_t>(skip);
  n = std::min(n, run.n_tokens - first);
  const bool ends = first + n == run.n_tokens;
  if (run.planes && !ends) n = std::max(n / kKvBlockTokens, 1u) * kKvBlockTokens;
  n = std::min(n, run.n_tokens - first);
  pc_run part = run;
  part.tokens += first;
  part.n_tokens = n;
  part.position += static_cast<std::int32_t>(first);
  part.key_position += static_cast<std::int32_t>(first);
  part.extend = first == 0 ? run.extend : 1;
  if (run.planes) {
    pc_kv_planes planes = *run.planes;
    planes.data =
        static_cast<std::byte*>(planes.data) + first / kKvBlockTokens * geometry.block_bytes();
    planes_.push_back(planes);
    part.planes = &planes_.back();
  }
  runs_.push_back(part);
  return n;
}

Scheduler::~Scheduler() {
  std::thread thread;
  {
    if (process_ != 0 && process_ != fork_generation() + 1) {
      // The thread is in the process that this one was forked from. What it waited for when that
      // was can never be destroyed: its waiter will not leave.
      if (thread_.joinable()) thread_.detach();
      (void)changed_.release();
      return;
    }
    const MutexLock lock(mutex_);
    stopping_ = true;
    thread = std::move(thread_);
    changed_->notify_all();
  }
  if (thread.joinable()) thread.join();
}

// May the calling thread compute its work on the spot?
bool Scheduler::computes_itself(const Work& work) {
  if (thread_.joinable()) return false;
  if (computing_) return false;
  if (work.encodes) return true;
  if (caller_ == std::thread::id()) caller_ = std::this_thread::get_id();
  return caller_ == std::this_thread::get_id();
}

Status Scheduler::start() {
  if (thread_.joinable()) return ok();
  try {
    thread_ = std::thread([this] { serve(); });
  } catch (const std::system_error& e) {
    return error(Code::kInternal,
                 std::string("the thread that computes cannot be started: ") + e.what());
  }
  return ok();
}

Status Scheduler::compute(const Work& work) {
  const std::uint32_t process = fork_generation() + 1;
  std::uint32_t before = 0;
  if (!process_.compare_exchange_strong(before, process) && before != process) {
    return error(Code::kInternal,
                 "this process was forked from one that computes with this model; open the model "
                 "in the process that uses it");
  }
  Task task(work);
  MutexLock lock(mutex_);
  const bool itself = computes_itself(work);
  if (!itself) PC_CHECK_OK(start());
  task.number = n_tasks_++;
  waiting_.push_back(&task);
  changed_->notify_all();
  if (itself) {
    computing_ = true;
    while (!task.finished && !thread_.joinable()) {
      choose_step();
      lock.unlock();
      compute_step();
      lock.lock();
      finish_step();
    }
    computing_ = false;
    changed_->notify_all();
  }
  while (!task.finished) task.done.wait(lock);
  return std::move(task.result);
}

void Scheduler::serve() {
  MutexLock lock(mutex_);
  for (;;) {
    wait_for_work(lock);
    if (stopping_) return;
    computing_ = true;
    choose_step();
    lock.unlock();
    compute_step();
    lock.lock();
    finish_step();
    computing_ = false;
  }
}

// Until there is some, and a moment more for those who decoded together.
void Scheduler::wait_for_work(MutexLock& lock) {
  while ((waiting_.empty() || computing_) && !stopping_) changed_->wait(lock);
  const Clock::time_point latest = ended_ + took_ / kCompanyShare;
  while (waiting_.size() < n_served_ && !stopping_)
    if (!changed_->wait_until(lock, latest)) break;
}

// Single tokens, then prefill in the order in which it came, then a piece of an encoding.
void Scheduler::choose_step() {
  chosen_.clear();
  items_.clear();
  n_chosen_tokens_ = 0;
  for (Task* task : waiting_)
    if (task->decodes() && n_chosen_tokens_ < kStepTokens) choose(*task, 1);
  n_served_ = chosen_.size();

  std::uint32_t budget = kStepTokens;
  if (n_served_ != 0) {
    const double seconds = std::chrono::duration<double>(kTokenTime).count();
    const auto least = static_cast<std::uint32_t>(n_served_) + kLeastPrefill;
    budget = std::clamp(time_.tokens_within(seconds), least, std::max(least, kStepTokens));
  }
  choose_prefill(budget);
  for (Task* task : waiting_)
    if (task->work.encodes && n_chosen_tokens_ < budget) choose(*task, budget - n_chosen_tokens_);

  std::ranges::sort(chosen_, [](const Task* a, const Task* b) {
    const BackendTimeline &x = *a->work.timeline, &y = *b->work.timeline;
    return before(x, y) || (!before(y, x) && a->number < b->number);
  });
}

// The oldest, then those who were passed over too often, then those who share modules with the
// step, then the others as they came.
void Scheduler::choose_prefill(std::uint32_t budget) {
  const auto chosen = [this](const Task* task) {
    return std::ranges::find(chosen_, task) != chosen_.end();
  };
  const auto shared = [this](const Task* task) {
    return std::ranges::any_of(chosen_, [&](const Task* other) {
      return shares(*other->work.timeline, *task->work.timeline);
    });
  };
  bool any = false;
  const auto is_oldest = [&](const Task*) { return !std::exchange(any, true); };
  const auto was_passed = [](const Task* task) { return task->n_passed >= kMostPassed; };
  const auto is_there = [](const Task*) { return true; };
  for (const FunctionRef<bool(const Task*)> comes :
       std::initializer_list<FunctionRef<bool(const Task*)>>{is_oldest, was_passed, shared,
                                                             is_there}) {
    for (Task* task : waiting_) {
      if (n_chosen_tokens_ >= budget) break;
      if (task->prefills() && !chosen(task) && comes(task))
        choose(*task, budget - n_chosen_tokens_);
    }
  }
  for (Task* task : waiting_)
    if (task->prefills() && !chosen(task)) ++task->n_passed;
}

void Scheduler::choose(Task& task, std::uint32_t n_tokens) {
  chosen_.push_back(&task);
  task.n_piece = static_cast<std::uint32_t>(std::min<std::uint64_t>(n_tokens, task.left()));
  n_chosen_tokens_ += task.n_piece;
}

void Scheduler::compute_step() {
  n_chosen_tokens_ = 0;
  for (Task* task : chosen_) {
    items_.push_back(task->piece(task->n_piece, geometry_));
    n_chosen_tokens_ += task->n_piece;
  }
  const Clock::time_point begin = Clock::now();
  model_.step(items_);
  ended_ = Clock::now();
  took_ = ended_ - begin;
  time_.add(n_chosen_tokens_, std::chrono::duration<double>(took_).count());
}

// Who is done goes on; who has more to compute stays where it was in the queue.
void Scheduler::finish_step() {
  for (std::size_t i = 0; i < chosen_.size(); ++i) {
    Task& task = *chosen_[i];
    task.result = model_.status_of(items_[i]);
    task.n_passed = 0;
    if (task.result.ok()) {
      task.n_done += task.n_piece;
      task.work.timeline->count(task.n_piece);
      if (task.left() != 0) continue;
    } else if (task.n_done != 0) {
      // What earlier pieces left. That a rewinding fails as well is not the news.
      (void)task.work.timeline->rewind(task.n_before, task.work.timeline->n_attached());
    }
    std::erase(waiting_, &task);
    task.finished = true;
    task.done.notify_one();
  }
}

}  // namespace pc
