// Processor time of work whose growth a test bounds: of one thread, so that a busy
// machine changes nothing. Bounds are tens of times what the work takes, where the fault
// they are for would take thousands.
#pragma once

#include <pthread.h>
#include <time.h>

#include <catch2/catch.hpp>
#include <functional>
#include <utility>

namespace pc::test {

// Of this thread, since it began.
inline double cpu_seconds() {
  timespec spent;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9;
}

// Of the work, on a thread with a stack of 256 KiB.
inline double seconds_on_small_stack(std::function<void()> work) {
  struct Job {
    std::function<void()> work;
    double seconds = 0;
  } job{std::move(work)};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  pthread_t thread;
  REQUIRE(pthread_create(
              &thread, &attributes,
              [](void* argument) -> void* {
                auto* j = static_cast<Job*>(argument);
                j->work();
                j->seconds = cpu_seconds();
                return nullptr;
              },
              &job) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  return job.seconds;
}

}  // namespace pc::test
