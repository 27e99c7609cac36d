// Threads that do jobs in the order in which they came, from a queue of limited length: submit()
// says at once that the queue is full.
//
// Owner of its threads. submit() from any thread.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace pc::serve {

class Workers {
 public:
  using Job = std::function<void()>;  // throws nothing

  Workers(std::size_t n_threads, std::size_t most_waiting);
  // Finishes the jobs under way; those that wait are dropped.
  ~Workers();

  // False: the queue is full, or this is about to end; the job is not taken.
  bool submit(Job job);

  std::size_t n_waiting() const;
  std::size_t n_running() const;

 private:
  void work();

  const std::size_t most_waiting_;
  mutable Mutex mutex_;
  Condition changed_;
  std::deque<Job> waiting_ PC_GUARDED_BY(mutex_);
  std::size_t n_running_ PC_GUARDED_BY(mutex_) = 0;
  bool ends_ PC_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace pc::serve
