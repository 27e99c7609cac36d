// Lets every allocation of a call fail, one after the other: for N = 0, 1, 2, ... what a scenario
// calls runs with its N-th allocation failing, until none is left to fail. Each time the call says
// PC_OUT_OF_MEMORY, and works when it is asked again, or does without the memory; afterwards the
// answer is the one without a fault, and nothing that was allocated is left.
//
// A sweep runs in a child process, another from the next N on where one ends: that is a failure of
// this N alone. Where the allocation was asked for in a library of others' that does not survive
// that (the list is in memory_sweep.cc), an end and a leak are counted and are no failure; all else
// is. Threads: one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "promptcache/promptcache.h"
#include "tests/support/alloc_faults.h"

namespace pc::test {

// One run of a scenario: the call that is looked at, amid what is set up for it without faults.
class Attempt {
 public:
  using Call = std::function<pc_status(pc_error*)>;

  Attempt(long n, AllocFault fault) : n_(n), fault_(fault) {}

  // The call, which comes to `expected` where memory is not short.
  void call(const Call& f, pc_status expected = PC_OK);
  // One that gives a handle, or nothing and leaves it NULL.
  template <class T>
  T* make(const std::function<pc_status(T**, pc_error*)>& f) {
    T* made = nullptr;
    call([&](pc_error* e) {
      const pc_status status = f(&made, e);
      if (status != PC_OK && made) fail("a handle is given on failure");
      return status;
    });
    return made;
  }
  // One that gives a text, which is freed.
  std::string text(const std::function<pc_status(char**, pc_error*)>& f);
  // One that cannot fail.
  void run(const std::function<void()>& f);

  // What is the same in every attempt.
  void answer(const std::string& text) { answer_ += text + "\n"; }

  // Of a setup that must work.
  static void must(pc_status status, const pc_error& error);

  void fail(const std::string& why) { failures_.push_back(why); }

 private:
  friend class Sweep;
  void arm();
  void disarm();

  long n_;
  AllocFault fault_;
  bool struck_ = false, refused_ = false;
  long n_allocations_ = 0;
  std::string answer_;
  std::vector<std::string> failures_;
};

using Scenario = std::function<void(Attempt&)>;

struct SweepReport {
  long n_allocations = 0;  // of the call without a fault
  long n_attempts = 0;     // in which one failed
  long n_refused = 0;      // of these: PC_OUT_OF_MEMORY; the others did without
  long n_spared = 0;  // attempts that a library of others' ended, or after which it left memory
  long n_once = 0;    // after which something was left, but not when it was tried again
  std::vector<std::string> failures;
};

// make: builds what all attempts share, in the child. stride: 0 for every N; else the first ones
// are so far from each other, and each of the others about 1/37 further than the one before, times
// that.
SweepReport sweep(const std::function<Scenario()>& make, AllocFault fault, long stride);

}  // namespace pc::test
