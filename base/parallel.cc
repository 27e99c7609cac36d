#include "base/parallel.h"

#include <pthread.h>

#include <atomic>
#include <cassert>
#include <chrono>
#include <exception>
#include <latch>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace pc {
namespace {

// The size of the calling thread's team, once the system was asked for one.
thread_local std::uint32_t team_size = 1;

// What the first body threw, for the thread that began the loop: the team's threads have nobody
// who would catch it.
class FirstThrown {
 public:
  void take() {
    if (!any_.exchange(true)) thrown_ = std::current_exception();
  }
  bool any() const { return any_.load(std::memory_order_relaxed); }
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  std::atomic<bool> any_{false};
  std::exception_ptr thrown_;
};

#ifdef _OPENMP

// How long a thread looks for what it waits for before it sleeps. The threads of a forward pass
// meet every 10 to 100 us, and to wake a sleeper takes about as long as this; on a busy machine
// it is what they take from their neighbours, for each wait (docs/adr/0030-waiting.md).
constexpr std::chrono::microseconds kLooking{30};

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns once `word` is no longer `value`: looks for a while, then sleeps until it is notified.
void wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t value) {
  constexpr int kLooksPerTime = 16;  // reading the clock takes about as long as so many looks
  const auto end = std::chrono::steady_clock::now() + kLooking;
  do {
    for (int i = 0; i < kLooksPerTime; ++i) {
      if (word.load(std::memory_order_acquire) != value) return;
      pause_briefly();
    }
  } while (std::chrono::steady_clock::now() < end);
  word.wait(value, std::memory_order_acquire);
}

// How many forks lie between the first process that computed and this one. A child has its parent's
// memory, and none of its threads.
std::atomic<std::uint32_t> n_forks{0};

std::uint32_t forks_so_far() {
  static const int counted = ::pthread_atfork(nullptr, nullptr, [] { ++n_forks; });
  static_cast<void>(counted);
  return n_forks.load(std::memory_order_relaxed);
}

struct Loop {
  std::uint32_t n_tasks;
  FunctionRef<void(std::uint32_t, std::uint32_t)> body;
  FirstThrown thrown = {};

  void run(std::uint32_t task, std::uint32_t thread) {
    if (thrown.any()) return;
    try {
      body(task, thread);
    } catch (...) {
      thrown.take();
    }
  }
};

// Threads of OpenMP, in a parallel region that stays open while they wait for loops. The thread
// that owns the Team begins loops and takes tasks as thread 0. Whoever has time takes a task: a
// loop ends with its last task, and waits for no thread that the system does not let run.
class Team {
 public:
  // Of n_threads with the owner, at least 2. Throws std::system_error where the system has none.
  explicit Team(std::uint32_t n_threads);
  ~Team();

  std::uint32_t n_threads() const { return n_threads_; }
  // Are its threads in this process? In a child of fork() they are not, and none can be joined.
  bool is_here() const { return n_forks_ == forks_so_far(); }

  // On the owner's thread. n_threads <= n_threads().
  void run(Loop& loop, std::uint32_t n_threads);

 private:
  void open_region();
  void serve(std::uint32_t thread);
  void take_tasks(std::uint32_t thread);

  // A loop's number, and how many of its tasks nobody has taken: in one word, so that who takes
  // a task knows of which loop it is. What comes with a loop is written before its tickets are,
  // and stays until all tasks are done; who fails to take a ticket touches none of it.
  static std::uint32_t untaken(std::uint64_t tickets) {
    return static_cast<std::uint32_t>(tickets);
  }

  const std::uint32_t n_threads_;
  const std::uint32_t n_forks_;
  alignas(64) std::atomic<std::uint64_t> tickets_{0};
  std::atomic<Loop*> loop_{nullptr};
  std::atomic<std::uint32_t> n_takers_{0};  // threads that take part in the loop
  alignas(64) std::atomic<std::uint32_t> undone_{0};
  alignas(64) std::atomic<std::uint32_t> number_{0};  // of the loop; what idle threads wait for
  std::atomic<bool> is_open_{false}, ends_{false};
  std::atomic<std::uint32_t> n_serving_{0};
  std::thread host_;  // begins the region, and is its first thread
};

// Returns once the threads are started: OpenMP, which does it on the host's thread, ends the
// process where the system has none, and the owner has just seen that it has (Parallel::ready).
Team::Team(std::uint32_t n_threads)
    : n_threads_(n_threads), n_forks_(forks_so_far()), host_([this] { open_region(); }) {
  is_open_.wait(false, std::memory_order_acquire);
}

Team::~Team() {
  ends_ = true;
  ++number_;
  number_.notify_all();
  host_.join();
  // The region's end orders nothing that other threads' tools can see: this does.
  while (n_serving_.load(std::memory_order_acquire) > 0) std::this_thread::yield();
}

void Team::open_region() {
#pragma omp parallel num_threads(static_cast <int>(n_threads_ - 1))
  {
    const auto thread = static_cast<std::uint32_t>(omp_get_thread_num());
    if (thread == 0) {  // who began the region, and has started the others
      is_open_.store(true, std::memory_order_release);
      is_open_.notify_one();
    }
    serve(thread + 1);
  }
}

void Team::serve(std::uint32_t thread) {
  ++n_serving_;
  omp_set_num_threads(1);  // libraries that use OpenMP compute on this thread alone
  for (std::uint32_t seen = 0; !ends_;) {
    wait_while(number_, seen);
    seen = number_.load(std::memory_order_acquire);
    take_tasks(thread);
  }
  n_serving_.fetch_sub(1, std::memory_order_release);
}

void Team::run(Loop& loop, std::uint32_t n_threads) {
  assert(undone_ == 0 && n_threads <= n_threads_);
  const std::uint32_t number = number_.load(std::memory_order_relaxed) + 1;
  loop_.store(&loop, std::memory_order_relaxed);
  n_takers_.store(n_threads, std::memory_order_relaxed);
  undone_.store(loop.n_tasks, std::memory_order_relaxed);
  tickets_.store(std::uint64_t{number} << 32 | loop.n_tasks, std::memory_order_release);
  number_.store(number);
  number_.notify_all();
  take_tasks(0);
  for (std::uint32_t n; (n = undone_.load(std::memory_order_acquire)) > 0;) wait_while(undone_, n);
}

void Team::take_tasks(std::uint32_t thread) {
  std::uint64_t tickets = tickets_.load(std::memory_order_acquire);
  while (untaken(tickets) > 0 && thread < n_takers_.load(std::memory_order_relaxed)) {
    if (!tickets_.compare_exchange_weak(tickets, tickets - 1, std::memory_order_acq_rel)) continue;
    Loop& loop = *loop_.load(std::memory_order_relaxed);
    loop.run(loop.n_tasks - untaken(tickets), thread);
    if (undone_.fetch_sub(1, std::memory_order_acq_rel) == 1) undone_.notify_one();
    tickets = tickets_.load(std::memory_order_acquire);
  }
}

// The calling thread's, made by its first loop that wants one of at least so many threads. Null
// where the system has no thread for it.
Team* team_of(std::uint32_t n_threads) {
  struct End {
    void operator()(Team* team) const {
      if (team->is_here()) delete team;
    }
  };
  thread_local std::unique_ptr<Team, End> team;
  if (team && team->n_threads() >= n_threads && team->is_here()) return team.get();
  try {
    team.reset();
    team.reset(new Team(n_threads));
  } catch (const std::system_error&) {
    return nullptr;
  }
  return team.get();
}

#endif

}  // namespace

Parallel::Parallel(std::uint32_t n_threads) : n_threads_(n_threads ? n_threads : usable_threads()) {
#ifndef _OPENMP
  n_threads_ = 1;
#endif
}

// As many threads as the team will have live at once here, and end; what is started a moment
// later fails only where others take the system's last ones meanwhile.
Status Parallel::ready() const {
  if (n_threads_ <= team_size) return ok();
  std::latch all(1);
  std::vector<std::thread> team;
  std::string why;
  try {
    team.reserve(n_threads_ - 1);
    while (team.size() + 1 < n_threads_) team.emplace_back([&all] { all.wait(); });
  } catch (const std::exception& e) {
    why = e.what();
  }
  all.count_down();
  for (std::thread& thread : team) thread.join();
  if (team.size() + 1 < n_threads_)
    return error(Code::kIo, "the system lets this process have " + std::to_string(team.size() + 1) +
                                " of the " + std::to_string(n_threads_) +
                                " threads that are to compute (" + why + "); ask for fewer");
  team_size = n_threads_;
  return ok();
}

Parallel::Alone::Alone() {
#ifdef _OPENMP
  before_ = omp_get_max_threads();
  omp_set_num_threads(1);
#endif
}

Parallel::Alone::~Alone() {
#ifdef _OPENMP
  omp_set_num_threads(before_);
#endif
}

void Parallel::for_each(std::uint32_t n_tasks,
                        FunctionRef<void(std::uint32_t, std::uint32_t)> body) const {
#ifdef _OPENMP
  if (n_threads_ > 1 && n_tasks > 1) {
    if (Team* const team = team_of(n_threads_)) {
      const Alone alone;
      Loop loop{n_tasks, body};
      team->run(loop, n_threads_);
      loop.thrown.rethrow();
      return;
    }
  }
#endif
  const Alone alone;
  for (std::uint32_t task = 0; task < n_tasks; ++task) body(task, 0);
}

}  // namespace pc
