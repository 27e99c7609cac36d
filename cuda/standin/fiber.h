// Stacks of their own on one OS thread, between which it switches without system calls.
//
// A fiber belongs to the OS thread that made it. Its stack ends in a page that may not be
// touched. It is switched to and from, and never returns.
#pragma once

#include <cstddef>

namespace pc::cuda::standin {

class Fiber {
 public:
  // What the OS thread already runs on.
  Fiber();
  // Runs entry(*this), which never returns, when first switched to. `number` spreads the tops of
  // stacks over a page, so that they do not all fall into the same lines of a cache.
  Fiber(void (*entry)(Fiber&), std::size_t number);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // From this one, which runs, to another, which goes on from its own switch_to().
  void switch_to(Fiber& other);

 private:
  static void begin();
  void arrive();

  void (*entry_)(Fiber&) = nullptr;
  void* stack_pointer_ = nullptr;  // while it does not run
  std::byte* mapping_ = nullptr;   // the guard page and the stack; null: the OS thread's own
  // What sanitizers know of it.
  const void* bottom_ = nullptr;
  std::size_t bytes_ = 0;
  void* fake_stack_ = nullptr;
  [[maybe_unused]] void* shadow_ = nullptr;
};

}  // namespace pc::cuda::standin
