// Ctrl-C: the first stops the work in hand so that it can be left tidily, the
// second ends the process at once. Where there is nothing to stop tidily, the
// first one ends it. Either way the process ends with kInterrupted.
//
// One Interruptible at a time; made and ended on one thread, while the signal
// may arrive on any.
#pragma once

#include <promptcache/promptcache.h>

namespace pc::cli {

// Once, before anything else. A Ctrl-C that the parent process chose to ignore
// stays ignored.
void handle_interrupts();

// While it lives, Ctrl-C cancels the session or, without one, only makes
// requested() true.
class Interruptible {
 public:
  explicit Interruptible(pc_session* session = nullptr);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  bool requested() const;

  // Returns once there was a Ctrl-C; costs nothing meanwhile. One thread at a time. Throws Failure
  // where there are no descriptors left for it.
  void wait() const;

  // From now on Ctrl-C cancels this session, too, or none; one that came already cancels it now.
  void watch(pc_session* session);
};

// While it lives, a signal that ends the process writes this to the standard output first: what a
// terminal must be told. The text must be a literal. One at a time.
class LastWords {
 public:
  explicit LastWords(const char* text);
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;
};

}  // namespace pc::cli
