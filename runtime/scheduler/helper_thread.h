// A thread that does work in the place of the calling thread, which waits, and every kTick
// calls a function: so it can report progress, and be asked to stop.
//
// One piece of work at a time. The thread lives as long as the HelperThread, so that what
// libraries keep for each thread is not made anew for every piece. Where no thread can be
// started, the calling thread does the work itself, and ticks are not called.
// Threads: one at a time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <stop_token>
#include <thread>

#include "base/function_ref.h"
#include "base/mutex.h"

namespace pc {

class HelperThread {
 public:
  static constexpr std::chrono::milliseconds kTick{50};

  HelperThread();

  // Does the work, and returns when it is done; `tick` is called on the calling thread
  // every kTick until then. What the work throws, this throws. A tick must not throw:
  // the work goes on, and refers to what the caller has.
  void run(FunctionRef<void()> work, FunctionRef<void()> tick);

 private:
  void serve(const std::stop_token& stop);

  Mutex mutex_;
  FunctionRef<void()> work_ PC_GUARDED_BY(mutex_);
  std::exception_ptr thrown_ PC_GUARDED_BY(mutex_);
  std::condition_variable_any changed_;
  std::jthread thread_;  // declared last, since it uses the other members
};

}  // namespace pc
