#include "tools/output/interrupt.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "tools/output/failure.h"

namespace pc::cli {
namespace {

// The handler touches nothing but these and calls nothing but write, _exit, strlen
// and pc_session_cancel, all of which a signal handler may.
std::atomic<bool> work_in_hand{false};
std::atomic<bool> stop_requested{false};
std::atomic<pc_session*> session_to_cancel{nullptr};
std::atomic<int> handlers_running{0};
std::atomic<const char*> last_words{nullptr};
std::atomic<int> waker{-1};  // the end of a pipe at whose other end wait() waits
static_assert(std::atomic<pc_session*>::is_always_lock_free &&
              std::atomic<const char*>::is_always_lock_free &&
              std::atomic<int>::is_always_lock_free);

[[noreturn]] void end() {
  if (const char* const text = last_words) {
    [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, text, std::strlen(text));
  }
  _exit(kInterrupted);
}

void on_interrupt(int) {
  if (!work_in_hand || stop_requested.exchange(true)) end();
  const int interrupted = errno;  // of the code that this stands in the midst of
  ++handlers_running;
  if (pc_session* const session = session_to_cancel) pc_session_cancel(session);
  constexpr char kNote[] = "\nstopping; Ctrl-C again ends at once\n";
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, kNote, sizeof kNote - 1);
  if (const int pipe = waker; pipe >= 0) written = write(pipe, "", 1);
  --handlers_running;
  errno = interrupted;
}

// On another thread, about to use what is to end now.
void await_handlers() {
  while (handlers_running != 0) {
  }
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

LastWords::LastWords(const char* text) {
  last_words = text;
}

LastWords::~LastWords() {
  last_words = nullptr;
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
  await_handlers();  // the session before must outlive them
  if (session && stop_requested) pc_session_cancel(session);
}

bool Interruptible::requested() const {
  return stop_requested;
}

// A signal before `waker` is set is seen by requested(), one behind it by the pipe.
void Interruptible::wait() const {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Failure(kFailure, "no descriptor is left to wait for signals with (ulimit -n)");
  waker = ends[1];
  pollfd other_end{.fd = ends[0], .events = POLLIN, .revents = 0};
  // Not read(), in which the thread sanitizer's runtime holds signals back for ever.
  while (!requested() && ::poll(&other_end, 1, -1) < 0 && errno == EINTR) {
  }
  waker = -1;
  await_handlers();
  for (const int descriptor : ends) ::close(descriptor);
}

}  // namespace pc::cli
