// Sessions that go a step further together.

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "runtime/session/session.h"

namespace pc {
namespace {

// What is thrown (memory has run out, or a mask throws) as the error of who was at work.
template <class Work>
auto caught(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return error(Code::kOutOfMemory, "out of memory");
  } catch (const std::exception& e) {
    return error(Code::kInternal, e.what());
  } catch (...) {
    return error(Code::kInternal, "something was thrown");
  }
}

// Sessions' tasks that go one step further together: those of a plug-in, and those that its CPU
// computes.
class Advance {
 public:
  explicit Advance(std::size_t most) {
    tasks_.reserve(most);
    chosen_.reserve(most);
  }
  void add(Scheduler& scheduler, Task& task) { tasks_.push_back({&scheduler, &task, ok(), false}); }

  void all() {
    for (const One& one : tasks_)
      if (!one.advanced) advance(*one.scheduler);
  }

  // What its scheduler said of the call: ok() for a task that was not added.
  Status of(const Task* task) const {
    for (const One& one : tasks_)
      if (one.task == task) return one.outcome;
    return ok();
  }

 private:
  struct One {
    Scheduler* scheduler;
    Task* task;
    Status outcome;
    bool advanced;
  };
  void advance(Scheduler& scheduler) {
    chosen_.clear();
    for (const One& one : tasks_)
      if (one.scheduler == &scheduler) chosen_.push_back(one.task);
    const Status outcome = caught([&] { return scheduler.advance(chosen_); });
    for (One& one : tasks_) {
      if (one.scheduler != &scheduler) continue;
      one.advanced = true;
      one.outcome = outcome;
    }
  }

  std::vector<One> tasks_;
  std::vector<Task*> chosen_;
};

}  // namespace

std::vector<Session::Next> Session::step(std::span<Session* const> sessions) {
  std::vector<Next> results(sessions.size());
  Advance advance(sessions.size());  // from here on each session fails by itself
  bool is_ahead = false;  // one of them goes on at once, and does not wait for the others
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    Session& session = *sessions[i];
    session.begin_call();
    const std::size_t n_of_others = session.engine().scheduler().n_waiting();
    session.draft_room_ = Drafts::room_beside(sessions.size() - 1 + n_of_others);
    if (session.answer_.is_over() || session.broken_) {
      results[i] = caught([&] { return session.next_token(); });
      continue;
    }
    const Status begun = caught([&] { return session.begin_task(); });
    if (!begun.ok()) {
      results[i] = session.failed(begun.error());
    } else if (Task* const task = session.run_.task()) {
      advance.add(session.engine().scheduler(), *task);
    }
    is_ahead |= session.is_ahead_;
  }
  if (!is_ahead) advance.all();
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    Session& session = *sessions[i];
    if (results[i]) continue;
    const Task* const task = session.run_.task();
    if (!task || task->finished())
      results[i] = caught([&] { return session.next_of_step(); });
    else if (const Status advanced = advance.of(task); !advanced.ok())
      results[i] = advanced.error();
  }
  for (std::size_t i = 0; i < sessions.size(); ++i)
    sessions[i]->end_call(results[i] && !results[i]->ok() &&
                          results[i]->error().code == Code::kCancelled);
  return results;
}

// next() of a session that has computed what it may in this step: what goes to the CPU begins there
// with the next one.
Session::Next Session::next_of_step() {
  if (run_.is_at_work()) {
    const bool goes_on = reads_again();
    const Status computed = end_task();
    const bool goes = goes_to_cpu(computed);
    const Status outcome = goes ? go_to_cpu(computed.error()) : computed;
    if (!outcome.ok()) return failed(outcome.error());
    if (goes || goes_on) return std::nullopt;
  }
  return next_token();
}

}  // namespace pc
