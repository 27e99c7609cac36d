#include "tests/support/memory_sweep.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace pc::test {
namespace {

// Libraries of others' that do not survive when they get no memory.
struct Frail {
  const char* name;  // a part of its file's
  const char* why;
};
constexpr std::array kFrail{
    Frail{"libsentencepiece",
          "protobuf, of which it has a copy, ends the process in functions that "
          "are noexcept, and what it has begun to read is lost"},
    Frail{"libdnnl", "its own operator new gives NULL, and the constructor runs all the same"},
    Frail{"libgomp", "it ends the process, also where a thread first asks for a team of one"},
};

// What must not be left behind: blocks, descriptors, files that are mapped.
struct Held {
  long n_blocks, n_descriptors, n_mappings;
};

int n_descriptors() {
  constexpr int kMost = 128;
  int n = 0;
  for (int fd = 0; fd < kMost; ++fd) n += ::fcntl(fd, F_GETFD) >= 0;
  return n;
}

// Without stdio, which allocates.
int n_shared_mappings() {
  const int fd = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  static std::array<char, 1 << 16> text;
  int n = 0;
  char before = ' ';
  for (ssize_t got = 1; got > 0;) {
    got = ::read(fd, text.data(), text.size());
    for (ssize_t i = 0; i < got; ++i) {
      n += text[static_cast<std::size_t>(i)] == 's' && before == '-';  // "r--s", "rw-s"
      before = text[static_cast<std::size_t>(i)];
    }
  }
  ::close(fd);
  return n;
}

Held held() {
  return {n_live_allocations(), n_descriptors(), n_shared_mappings()};
}

std::string more_than(const Held& now, const Held& before) {
  return std::to_string(now.n_blocks - before.n_blocks) + " blocks, " +
         std::to_string(now.n_descriptors - before.n_descriptors) + " descriptors and " +
         std::to_string(now.n_mappings - before.n_mappings) + " mappings are left\n";
}

bool exceeds(const Held& now, const Held& before) {
  return now.n_blocks > before.n_blocks || now.n_descriptors > before.n_descriptors ||
         now.n_mappings > before.n_mappings;
}

constexpr unsigned kLongestSeconds = 60;  // of an attempt: who is not back by then hangs
constexpr int kMostDeaths = 20;           // that are failures
constexpr long kNever = LONG_MAX;

// What a child and its parent see both.
struct Shared {
  long n = 0;  // the attempt at hand
  long n_allocations = 0, n_attempts = 0, n_refused = 0, n_spared = 0, n_once = 0;
  bool done = false;
  bool spared = false;  // a child ended, and that is no failure
};

int g_report = -1;  // the child's, of its failures
Shared* g_shared = nullptr;

// Was it one of those that asked for the allocation that failed?
bool is_frail() {
  for (void* const frame : failed_allocation()) {
    Dl_info info{};
    if (::dladdr(frame, &info) == 0 || !info.dli_fname) continue;
    for (const Frail& library : kFrail)
      if (std::strstr(info.dli_fname, library.name)) return true;
  }
  return false;
}

void write_all(const std::string& text) {
  (void)!::write(g_report, text.data(), text.size());
}

void write_strike() {
  const auto frames = failed_allocation();
  ::backtrace_symbols_fd(frames.data(), static_cast<int>(frames.size()), g_report);
}

// How a child ends before its sweep does.
[[noreturn]] void die(const char* how, int number) {
  if (is_frail()) {
    g_shared->spared = true;
    ::_exit(0);
  }
  std::array<char, 64> title;
  std::snprintf(title.data(), title.size(), "%s %d, behind the allocation of\n", how, number);
  (void)!::write(g_report, title.data(), std::strlen(title.data()));
  write_strike();
  constexpr char kHere[] = "at\n";
  (void)!::write(g_report, kHere, sizeof kHere - 1);
  std::array<void*, 32> frames;
  ::backtrace_symbols_fd(frames.data(), ::backtrace(frames.data(), frames.size()), g_report);
  ::_exit(number);
}

void on_death(int signal) {
  die("signal", signal);
}

// The first handler, before those that would take away what belongs to the parent.
void on_exit() {
  die("exit", EXIT_FAILURE);
}

long next_of(long n, long stride) {
  return n + std::max(1L, stride * std::max(1L, n / 37));
}

}  // namespace

void Attempt::arm() {
  fail_allocation(n_, fault_);
}

void Attempt::disarm() {
  stop_failing();
  struck_ = allocation_failed();
  n_allocations_ = pc::test::n_allocations();
}

void Attempt::call(const Call& f, pc_status expected) {
  pc_error error{};
  arm();
  const pc_status status = f(&error);
  disarm();
  if (status != PC_OK && status != PC_DONE && error.status != status)
    fail("the error's status is " + std::to_string(error.status));
  if (status == expected) return;
  refused_ = true;
  if (status != PC_OUT_OF_MEMORY || !struck_)
    fail(std::string("status ") + pc_status_name(status) + ": " + error.message);
  const pc_status again = f(&error);
  if (again != expected)
    fail(std::string("asked again: ") + pc_status_name(again) + ": " + error.message);
}

std::string Attempt::text(const std::function<pc_status(char**, pc_error*)>& f) {
  char* const given = make<char>(f);
  const std::string text = given ? given : "";
  pc_free(given);
  return text;
}

void Attempt::run(const std::function<void()>& f) {
  arm();
  f();
  disarm();
}

void Attempt::must(pc_status status, const pc_error& error) {
  if (status == PC_OK || status == PC_DONE) return;
  write_all(std::string("the setup fails: ") + pc_status_name(status) + ": " + error.message +
            "\n");
  ::_exit(1);
}

// The child's side.
class Sweep {
 public:
  Sweep(const std::function<Scenario()>& make, AllocFault fault, Shared* shared)
      : make_(make), fault_(fault), shared_(shared) {}

  // From `n` on.
  void run(long n, long stride) {
    attempt(make_(), kNever);  // what is made once in a process
    const Held before = held();
    {
      const Scenario scenario = make_();
      for (int i = 0; i < 3; ++i) expected_ = attempt(scenario, kNever).answer_;
      held_ = held();
      for (; !shared_->done; n = next_of(n, stride)) {
        shared_->n = n;
        look_at(scenario, n);
      }
    }
    shared_->n = -1;
    std::string().swap(expected_);
    const Held left = held();
    if (exceeds(left, before) && shared_->n_spared == 0 && shared_->n_once == 0)
      write_all("at the end " + more_than(left, before));
  }

 private:
  Attempt attempt(const Scenario& scenario, long n) {
    Attempt one(n, fault_);
    ::alarm(kLongestSeconds);
    scenario(one);
    ::alarm(0);
    if (n == kNever) {
      shared_->n_allocations = one.n_allocations_;
      for (const std::string& why : one.failures_) write_all("without a fault: " + why + "\n");
    }
    return one;
  }

  void look_at(const Scenario& scenario, long n) {
    bool failed = false;
    {
      Attempt one = attempt(scenario, n);
      if (one.answer_ != expected_)
        one.fail("the answer is \"" + one.answer_ + "\", not \"" + expected_ + "\"");
      shared_->n_attempts += one.struck_;
      shared_->n_refused += one.struck_ && one.refused_;
      shared_->done = !one.struck_;
      failed = !one.failures_.empty();
      for (const std::string& why : one.failures_) write_all(title(n) + why + "\n");
    }
    if (failed) write_strike();
    const Held now = held();
    if (!exceeds(now, held_)) return;
    if (is_frail()) {
      ++shared_->n_spared;
    } else if (leaks_again(scenario, n)) {
      write_all(title(n) + more_than(now, held_));
      write_strike();
      trace_leak(scenario, n);
    } else {
      ++shared_->n_once;
    }
    held_ = held();
  }

  // What is made once in a process, as the first failure of its kind needs it, is no leak.
  bool leaks_again(const Scenario& scenario, long n) {
    const Held before = held();
    attempt(scenario, n);
    return exceeds(held(), before);
  }

  void trace_leak(const Scenario& scenario, long n) {
    trace_allocations(true);
    attempt(scenario, n);
    print_live_allocations(g_report);
    trace_allocations(false);
  }

  static std::string title(long n) { return "allocation " + std::to_string(n) + ": "; }

  const std::function<Scenario()>& make_;
  const AllocFault fault_;
  Shared* const shared_;
  std::string expected_;
  Held held_{};
};

SweepReport sweep(const std::function<Scenario()>& make, AllocFault fault, long stride) {
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  std::FILE* const file = std::tmpfile();
  SweepReport report;
  if (memory == MAP_FAILED || !file) {
    report.failures.emplace_back("there is no room to report to");
    return report;
  }
  Shared* const shared = new (memory) Shared;
  long n = 0;
  g_shared = shared;
  for (int deaths = 0; !shared->done && deaths < kMostDeaths;) {
    std::fflush(nullptr);
    shared->spared = false;
    const pid_t child = ::fork();
    if (child == 0) {
      g_report = ::fileno(file);
      for (const int fatal : {SIGABRT, SIGSEGV, SIGILL, SIGBUS, SIGFPE, SIGALRM})
        ::signal(fatal, on_death);
      std::atexit(on_exit);
      Sweep(make, fault, shared).run(n, stride);
      ::_exit(0);
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) {
      std::ostringstream why;
      why << "the process ended at allocation " << shared->n << " with " << std::hex << "0x"
          << status;
      report.failures.push_back(why.str());
      ++deaths;
      if (shared->n < 0 || shared->n_allocations == 0) break;  // it is not of one allocation
    }
    shared->n_attempts += shared->spared;
    shared->n_spared += shared->spared;
    n = next_of(shared->n, stride);
  }
  report.n_allocations = shared->n_allocations;
  report.n_attempts = shared->n_attempts;
  report.n_refused = shared->n_refused;
  report.n_spared = shared->n_spared;
  report.n_once = shared->n_once;
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  if (!text.empty()) report.failures.push_back(text);
  std::fclose(file);
  ::munmap(memory, sizeof(Shared));
  return report;
}

}  // namespace pc::test
