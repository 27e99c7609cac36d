#include "runtime/scheduler/scheduler.h"

#include <pthread.h>

#include <algorithm>
#include <initializer_list>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "runtime/scheduler/log.h"

namespace pc {
namespace {

// Tokens of prefill that a step has beside decoding, however slow the machine: those who wait
// for their first token wait on.
constexpr std::uint32_t kLeastPrefill = 16;

// Steps in which prefill may go before encoding.
constexpr std::uint32_t kMostPassed = 4;

// Clients whose shares are remembered while they do not wait.
constexpr std::size_t kMostShares = 64;

// Who decoded in a step is about to ask for the next token: the step after it waits this part
// of its time for them, so that they go on together. Whose drafts were right has several tokens to
// draw and to send before that.
constexpr int kCompanyShare = 8;

// How often this process is the child of a fork, counted from the first call.
std::uint32_t fork_generation() {
  static std::atomic<std::uint32_t> generation{0};
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++generation; });
  (void)registered;
  return generation;
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

// A caller that waits, and what for.
struct SchedulerCall {
  std::span<Task* const> tasks;
  bool whole;                      // for all of it, not for a step
  Scheduler::Progress progress{};  // of the only task
  bool over = false;               // none of its tasks waits any longer
  Condition changed{};
};

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
bool Scheduler::computes_itself(bool encodes) {
  if (thread_.joinable()) return false;
  if (computing_) return false;
  if (encodes) return true;
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

Status Scheduler::check_process() {
  const std::uint32_t process = fork_generation() + 1;
  std::uint32_t before = 0;
  if (process_.compare_exchange_strong(before, process) || before == process) return ok();
  return error(Code::kInternal,
               "this process was forked from one that computes with this model; open the model "
               "in the process that uses it");
}

Status Scheduler::compute(Task& task, Progress progress) {
  Task* const tasks[] = {&task};
  SchedulerCall call{.tasks = tasks, .whole = true, .progress = progress};
  PC_CHECK_OK(take_part(call));
  return task.result();
}

Status Scheduler::compute(const Work& work, Progress progress) {
  Task task(work);
  return compute(task, progress);
}

Status Scheduler::advance(std::span<Task* const> tasks) {
  PC_EXPECT(!tasks.empty());
  SchedulerCall call{.tasks = tasks, .whole = false};
  return take_part(call);
}

Status Scheduler::take_part(SchedulerCall& call) {
  PC_CHECK_OK(check_process());
  MutexLock lock(mutex_);
  tell(call);  // of work that takes no time, too
  const bool encodes = std::ranges::all_of(call.tasks, [](Task* t) { return t->work_.encodes; });
  const bool itself = computes_itself(encodes);
  if (!itself) PC_CHECK_OK(start());
  enter(call);
  changed_->notify_all();
  while (itself && !call.over && !thread_.joinable()) {
    if (computing_) {  // somebody encodes, since this thread told how far it is
      changed_->wait(lock);
      continue;
    }
    computing_ = true;
    take_step();
    computing_ = false;
    changed_->notify_all();
    tell(call);
  }
  while (!call.over) {
    if (!call.progress)
      call.changed.wait(lock);
    else if (!call.changed.wait_until(lock, Clock::now() + kTick))
      tell(call);
  }
  return ok();
}

// How far the caller's work is.
void Scheduler::tell(const SchedulerCall& call) {
  if (!call.progress || call.over) return;
  const std::uint64_t done = call.tasks[0]->n_done(), all = call.tasks[0]->n_tokens();
  mutex_.unlock();
  call.progress(done, all);
  mutex_.lock();
}

// Tasks keep their place in the queue however often they come.
void Scheduler::enter(SchedulerCall& call) {
  waiting_.reserve(waiting_.size() + call.tasks.size());
  for (Task* task : call.tasks) {
    PC_EXPECT(!task->finished_);
    if (task->number_ != 0) continue;
    // Who was away has no claim to what others were given meanwhile.
    std::uint64_t& share = share_of(task->work_.client);
    share = std::max(share, now_);
    task->number_ = ++n_tasks_;
  }
  for (Task* task : call.tasks) {  // nothing fails from here on
    task->call_ = &call;
    const auto younger = [&](const Task* other) { return other->number_ > task->number_; };
    waiting_.insert(std::ranges::find_if(waiting_, younger), task);
  }
}

void Scheduler::serve() {
  MutexLock lock(mutex_);
  for (;;) {
    wait_for_work(lock);
    if (stopping_) return;
    computing_ = true;
    take_step();
    computing_ = false;
  }
}

// Others come, and wait, while it computes.
void Scheduler::take_step() {
  try {
    choose_step();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
  mutex_.unlock();
  compute_step();
  tell_remark();
  mutex_.lock();
  finish_step();
}

// Until there is some, and a moment more for those who decoded together.
void Scheduler::wait_for_work(MutexLock& lock) {
  while ((waiting_.empty() || computing_) && !stopping_) changed_->wait(lock);
  const Clock::time_point latest = ended_ + took_ / kCompanyShare;
  while (waiting_.size() < n_company_ && !stopping_)
    if (!changed_->wait_until(lock, latest)) break;
}

// Single tokens, each with its drafts, then prefill, then a piece of an encoding, which goes before
// prefill where it was passed over too often.
void Scheduler::choose_step() {
  chosen_.clear();
  chosen_.reserve(waiting_.size());
  n_chosen_tokens_ = 0;
  for (Task* task : waiting_)
    if (task->decodes() && n_chosen_tokens_ < step_tokens())
      choose(*task, static_cast<std::uint32_t>(task->left()));
  n_served_ = chosen_.size();

  std::uint32_t budget = step_tokens();
  if (n_served_ != 0) {
    const double seconds = std::chrono::duration<double>(kTokenTime).count();
    const auto least = static_cast<std::uint32_t>(n_served_) + kLeastPrefill;
    budget = std::clamp(time_.tokens_within(seconds), least, std::max(least, step_tokens()));
  }
  choose_encoding(budget, kMostPassed);
  choose_prefill(budget);
  choose_encoding(budget, 0);
  for (Task* task : waiting_)
    if (task->work_.encodes) task->n_passed_ = chosen(*task) ? 0 : task->n_passed_ + 1;

  std::ranges::sort(chosen_, [](const Task* a, const Task* b) {
    const BackendTimeline &x = *a->work_.timeline, &y = *b->work_.timeline;
    return before(x, y) || (!before(y, x) && a->number_ < b->number_);
  });
}

// In the order of prefill_order.h.
void Scheduler::choose_prefill(std::uint32_t budget) {
  if (n_chosen_tokens_ >= budget) return;
  list_prefill();
  const std::optional<PrefillTurn> turn = prefill_turn(prefill_);
  if (!turn) return;
  now_ = std::max(now_, prefill_[turn->first].share);
  ++prefilling_[turn->oldest]->n_passed_;
  prefilling_[turn->first]->n_passed_ = 0;
  std::optional<std::size_t> next = turn->first;
  while (next) {
    take_prefill(*next, budget - n_chosen_tokens_);
    if (n_chosen_tokens_ >= budget) return;
    next = next_prefill(prefill_, budget - n_chosen_tokens_);
  }
}

void Scheduler::take_prefill(std::size_t index, std::uint32_t room) {
  Task& task = *prefilling_[index];
  choose(task, room);
  prefill_[index].taken = true;
  for (std::size_t i = 0; i < prefill_.size(); ++i)
    if (!prefill_[i].shares)
      prefill_[i].shares = shares(*task.work_.timeline, *prefilling_[i]->work_.timeline);
}

// Who waits for prefill, in the order in which they came.
void Scheduler::list_prefill() {
  prefilling_.clear();
  prefill_.clear();
  for (Task* task : waiting_) {
    if (!task->prefills()) continue;
    const bool shared = std::ranges::any_of(chosen_, [&](const Task* other) {
      return shares(*other->work_.timeline, *task->work_.timeline);
    });
    const std::uint64_t client = task->work_.client;
    prefilling_.push_back(task);
    prefill_.push_back({.n_left = task->left(),
                        .number = task->number_,
                        .client = client,
                        .share = share_of(client),
                        .n_behind = task->n_passed_,
                        .shares = shared});
  }
}

// Those that were passed over that often, in the order in which they came.
void Scheduler::choose_encoding(std::uint32_t budget, std::uint32_t n_passed) {
  for (Task* task : waiting_) {
    if (n_chosen_tokens_ >= budget) return;
    if (task->work_.encodes && task->n_passed_ >= n_passed && !chosen(*task))
      choose(*task, budget - n_chosen_tokens_);
  }
}

bool Scheduler::chosen(const Task& task) const {
  return std::ranges::find(chosen_, &task) != chosen_.end();
}

// A client's, which is new where it is not known: as much as whoever was first in line had then.
std::uint64_t& Scheduler::share_of(std::uint64_t client) {
  const auto known = std::ranges::find(shares_, client, &ClientShare::client);
  if (known != shares_.end()) return known->n_tokens;
  if (shares_.size() >= kMostShares) forget_shares();
  return shares_.emplace_back(ClientShare{client, now_}).n_tokens;
}

// Of those behind the time, who would be lifted to it anyway.
void Scheduler::forget_shares() {
  const std::uint64_t now = now_;
  std::erase_if(shares_, [now](const ClientShare& share) { return share.n_tokens <= now; });
}

void Scheduler::choose(Task& task, std::uint32_t n_tokens) {
  chosen_.push_back(&task);
  task.n_piece_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(n_tokens, task.left()));
  n_chosen_tokens_ += task.n_piece_;
  if (task.prefills()) share_of(task.work_.client) += task.n_piece_;
}

void Scheduler::compute_step() {
  items_.clear();
  n_chosen_tokens_ = 0;
  try {
    items_.reserve(chosen_.size());
    for (Task* task : chosen_) {
      items_.push_back(task->piece(task->n_piece_));
      n_chosen_tokens_ += task->n_piece_;
    }
  } catch (const std::bad_alloc&) {
    items_.clear();
    return;
  }
  const Clock::time_point begin = Clock::now();
  model_.step(items_);
  ended_ = Clock::now();
  took_ = ended_ - begin;
  // Tokens of some layers alone, or with rows that are handed out, say nothing of the others' time.
  const bool whole =
      std::ranges::all_of(items_, [](const pc_step_item& i) { return !i.n_layers && !i.row; });
  if (whole) time_.add(n_chosen_tokens_, std::chrono::duration<double>(took_).count());
}

// What was computed from other bytes than a file had when it was opened, or from zeros in their
// place, counts for nothing. A module costs an fstat for each step; of the weights the next session
// asks that (docs/adr/0028).
Status Scheduler::outcome(std::size_t index) const {
  if (n_lost_mappings() != 0 && std::ranges::any_of(weights_, &MappedFile::is_lost))
    return error(Code::kIo,
                 "a file of the model was cut short, or cannot be read any more, while it was in "
                 "use; open the model again once it is whole");
  for (const ResidentHandle& resident : chosen_[index]->work_.timeline->residents())
    if (resident->module().is_spoilt())
      return error(Code::kIo, "the module file " + resident->module().key().hex() +
                                  " was written to or cut short, or cannot be read any more, while "
                                  "it was in use; ask again, and the module is made again");
  return model_.status_of(items_[index]);
}

// Who is done goes on; who has more to compute stays where it was in the queue.
void Scheduler::finish_step() {
  if (items_.size() != chosen_.size()) return out_of_memory();
  for (std::size_t i = 0; i < chosen_.size(); ++i) {
    try {
      chosen_[i]->piece_done(outcome(i));
    } catch (const std::bad_alloc&) {  // for its sentence
      chosen_[i]->piece_done(error(Code::kOutOfMemory, "out of memory"));
    }
  }
  n_company_ = n_served_;
  for (const Task* task : waiting_) n_company_ += task->decodes() && !chosen(*task);
  for (Task* task : chosen_) {
    SchedulerCall& call = *task->call_;
    const bool all = std::ranges::all_of(call.tasks, &Task::finished);
    if (!call.over && (all || !call.whole)) end_call(call);
  }
}

// What the backend says of items that it computed; the same again once a minute. Without the mutex:
// a log may be slow.
void Scheduler::tell_remark() {
  try {
    std::string remark;
    for (const pc_step_item& item : items_)
      if (remark.empty()) remark = BackendModel::remark_of(item);
    if (remark.empty() || (remark == remark_ && ended_ - told_ < std::chrono::minutes(1))) return;
    log(LogLevel::kWarning, remark);
    remark_ = std::move(remark);
    told_ = ended_;
  } catch (const std::bad_alloc&) {  // for a sentence that nothing hangs on
  }
}

// There is none for the lists of a step. The text is short enough not to need any.
void Scheduler::out_of_memory() {
  while (!waiting_.empty()) {
    SchedulerCall& call = *waiting_.front()->call_;
    for (Task* task : call.tasks) task->piece_done(error(Code::kOutOfMemory, "out of memory"));
    end_call(call);
  }
}

void Scheduler::end_call(SchedulerCall& call) {
  for (Task* task : call.tasks) std::erase(waiting_, task);
  call.over = true;
  call.changed.notify_one();
}

}  // namespace pc
