// What is done while nobody waits for an answer: modules of prompts are encoded, and conversations
// made ready for their next turn.
//
// Owner of one thread, which gives way as soon as somebody does, and goes on later; jobs beyond
// kMost are dropped, the oldest first: they will come again. Threads: any.
#pragma once

#include <deque>
#include <functional>
#include <thread>

#include "base/mutex.h"

namespace pc::serve {

class IdleWork {
 public:
  static constexpr std::size_t kMost = 64;
  // Ends soon after may_go_on says false, with false: it is begun again later. What it throws ends
  // it.
  using MayGoOn = std::function<bool()>;
  using Job = std::function<bool(const MayGoOn& may_go_on)>;

  // is_idle: does nobody wait? Called on the thread, at least while there is something to do.
  explicit IdleWork(std::function<bool()> is_idle);
  ~IdleWork();

  void add(Job job);
  // Jobs that wait, or are being done.
  std::size_t n_waiting() const;

 private:
  void work();
  bool is_done(const Job& job);

  const std::function<bool()> is_idle_;
  mutable Mutex mutex_;
  Condition changed_;
  std::deque<Job> waiting_ PC_GUARDED_BY(mutex_);
  bool is_working_ PC_GUARDED_BY(mutex_) = false;
  bool ends_ PC_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace pc::serve
