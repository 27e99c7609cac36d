// Takes the place of pthread_create and operator new in the program it is linked into:
// counts threads, and lets them fail. Threads: any.
#pragma once

namespace pc::test {

enum class ThreadFault {
  kNone,
  kNotStarted,  // no thread starts
  kNoMemory,    // a thread starts, and every operator new of it fails
};
void fail_threads(ThreadFault fault);

int threads_started();

}  // namespace pc::test
