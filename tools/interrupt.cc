#include "tools/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "tools/failure.h"

namespace pc::cli {
namespace {

// The handler touches nothing but these and calls nothing but write, _exit and
// pc_session_cancel, all of which a signal handler may.
std::atomic<bool> work_in_hand{false};
std::atomic<bool> stop_requested{false};
std::atomic<pc_session*> session_to_cancel{nullptr};
std::atomic<int> handlers_running{0};
static_assert(std::atomic<pc_session*>::is_always_lock_free &&
              std::atomic<int>::is_always_lock_free);

void on_interrupt(int) {
  if (!work_in_hand || stop_requested.exchange(true)) _exit(kInterrupted);
  ++handlers_running;
  if (pc_session* const session = session_to_cancel) pc_session_cancel(session);
  --handlers_running;
  constexpr char kNote[] = "\nstopping; Ctrl-C again ends at once\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kNote, sizeof kNote - 1);
}

}  // namespace

void handle_interrupts() {
  // A file that may not grow further (ulimit -f) is an error of the writing, not the end.
  signal(SIGXFSZ, SIG_IGN);
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);  // as supervisors end a process
  struct sigaction inherited {};
  if (sigaction(SIGINT, nullptr, &inherited) == 0 && inherited.sa_handler == SIG_IGN) return;
  sigaction(SIGINT, &action, nullptr);
}

Interruptible::Interruptible(pc_session* session) {
  stop_requested = false;
  session_to_cancel = session;
  work_in_hand = true;
}

Interruptible::~Interruptible() {
  work_in_hand = false;
  watch(nullptr);
}

void Interruptible::watch(pc_session* session) {
  session_to_cancel = session;
  while (handlers_running != 0) {
  }  // on another thread, about to cancel: the session before must outlive that
  if (session && stop_requested) pc_session_cancel(session);
}

bool Interruptible::requested() const {
  return stop_requested;
}

}  // namespace pc::cli
