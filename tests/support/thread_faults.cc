#include "tests/support/thread_faults.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

namespace {

std::atomic<pc::test::ThreadFault> fault{pc::test::ThreadFault::kNone};
std::atomic<int> n_started{0};
thread_local bool has_no_memory = false;

struct Start {
  void* (*routine)(void*);
  void* argument;
};

void* run_without_memory(void* given) {
  const Start start = *static_cast<Start*>(given);
  std::free(given);
  has_no_memory = true;
  return start.routine(start.argument);
}

void* allocate(std::size_t n) {
  return has_no_memory ? nullptr : std::malloc(n ? n : 1);
}

void* allocate_or_throw(std::size_t n) {
  if (void* p = allocate(n)) return p;
  throw std::bad_alloc();
}

}  // namespace

namespace pc::test {
void fail_threads(ThreadFault wanted) {
  fault = wanted;
}
int threads_started() {
  return n_started;
}
}  // namespace pc::test

extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
    void* argument) noexcept {
  static const auto create =
      reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  if (fault == pc::test::ThreadFault::kNotStarted) return EAGAIN;
  ++n_started;
  if (fault == pc::test::ThreadFault::kNone) return create(thread, attributes, routine, argument);
  auto* const start = static_cast<Start*>(std::malloc(sizeof(Start)));
  *start = {routine, argument};
  return create(thread, attributes, run_without_memory, start);
}

// The whole set, so that nothing allocated by one family is freed by another.
// clang-format off
void* operator new(std::size_t n) { return allocate_or_throw(n); }
void* operator new[](std::size_t n) { return allocate_or_throw(n); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocate(n); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
// clang-format on
