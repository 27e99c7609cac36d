#include "tools/serve/service/workers.h"

#include <utility>

namespace pc::serve {

Workers::Workers(std::size_t n_threads, std::size_t most_waiting) : most_waiting_(most_waiting) {
  for (std::size_t i = 0; i < n_threads; ++i) threads_.emplace_back([this] { work(); });
}

Workers::~Workers() {
  std::deque<Job> dropped;
  {
    const MutexLock lock(mutex_);
    ends_ = true;
    dropped.swap(waiting_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool Workers::submit(Job job) {
  {
    const MutexLock lock(mutex_);
    const bool has_idle = n_running_ + waiting_.size() < threads_.size();
    if (ends_ || (!has_idle && waiting_.size() >= most_waiting_)) return false;
    waiting_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

std::size_t Workers::n_waiting() const {
  const MutexLock lock(mutex_);
  return waiting_.size();
}

std::size_t Workers::n_running() const {
  const MutexLock lock(mutex_);
  return n_running_;
}

void Workers::work() {
  MutexLock lock(mutex_);
  while (true) {
    while (!ends_ && waiting_.empty()) changed_.wait(lock);
    if (ends_) return;
    Job job = std::move(waiting_.front());
    waiting_.pop_front();
    ++n_running_;
    lock.unlock();
    job();
    job = nullptr;  // with what it holds, before it counts as done
    lock.lock();
    --n_running_;
  }
}

}  // namespace pc::serve
