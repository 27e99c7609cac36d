// G2: sixteen processes need one module at the same time, and in a quarter of the rounds the one
// that makes it is killed, or stopped, at a random instant. One file comes of it, nobody makes it
// again without need, and nobody waits for ever.
//
// Caught, when it was put into the product: no lock (each of them makes the module), and a lock
// that is waited for without looking at who holds it (the waits for a stopped one do not end in
// time).

#include <signal.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "runtime/scheduler/single_flight.h"
#include "tests/torture/torture.h"

namespace pc::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kProcesses = 16;
constexpr auto kEncoding = 6ms;
// Longer than a process that computes goes without a tick of a busy processor.
constexpr Patience kPatience{.idle = 1s, .all = 20s};
// Each that is stopped costs its waiters their patience, once; the rest is the machine's.
constexpr auto kLongestWait = kPatience.idle + 4s;

struct Round {
  std::atomic<int> ready{0}, encodes{0}, holder{0};
  std::atomic<std::int64_t> longest_wait_ms{0};
};

void compute_for(Clock::duration time) {
  for (const auto end = Clock::now() + time; Clock::now() < end;) {
  }
}

void note_wait(Round& round, Clock::time_point begin) {
  const auto now = Clock::now() - begin;
  const std::int64_t ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  for (std::int64_t most = round.longest_wait_ms;
       most < ms && !round.longest_wait_ms.compare_exchange_weak(most, ms);) {
  }
}

// As LoadedSchema::find_or_encode. 0: the right module.
int need_module(const std::string& dir, const Oracle& oracle, Round& round) {
  const auto store = open_store(dir);
  ++round.ready;
  while (round.ready < kProcesses) std::this_thread::yield();
  if (const Lookup found = store->find(oracle.identity(0)))
    return oracle.is_right(*found.module) ? 0 : 1;
  const auto begin = Clock::now();
  const auto flight = wait_for_flight(*store, oracle.module(0)->key(), nullptr, kPatience);
  note_wait(round, begin);
  if (!flight.ok()) return 2;
  if (const Lookup found = store->find(oracle.identity(0)))
    return oracle.is_right(*found.module) ? 0 : 1;
  ++round.encodes;
  round.holder = ::getpid();
  compute_for(kEncoding);
  const auto published = store->publish(oracle.module(0));
  return published.ok() && oracle.is_right(**published) ? 0 : 3;
}

// Of who makes the module: 0 where it was done before it could be hit.
pid_t hit_holder(Round& round, int signal, std::mt19937& random) {
  while (round.holder == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::microseconds(random() % 7000));
  const pid_t holder = round.holder;
  ::kill(holder, signal);
  return holder;
}

struct Tally {
  int deaths = 0, stops = 0, encodes = 0, too_many = 0, failed = 0, wrong = 0;
  std::int64_t longest_wait_ms = 0;
};

void run_round(const Oracle& oracle, int signal, std::mt19937& random, Tally* tally) {
  const TempFolder dir(quick_place());
  open_store(dir.path());
  Round& round = *shared<Round>();
  std::vector<pid_t> processes;
  for (int i = 0; i < kProcesses; ++i)
    processes.push_back(spawn([&] { return need_module(dir.path(), oracle, round); }));
  const pid_t victim = signal != 0 ? hit_holder(round, signal, random) : 0;
  for (const pid_t process : processes)
    if (process != victim) tally->failed += end_of(process) != 0;
  if (victim != 0) {
    ::kill(victim, SIGCONT);
    const int end = end_of(victim);
    tally->failed += end != 0 && end != -SIGKILL;
  }
  tally->deaths += signal == SIGKILL;
  tally->stops += signal == SIGSTOP;
  tally->encodes += round.encodes;
  tally->too_many += round.encodes > 1 + (signal != 0);
  tally->longest_wait_ms = std::max(tally->longest_wait_ms, round.longest_wait_ms.load());
  const auto store = open_store(dir.path());
  const auto entries = store->list().value();
  tally->wrong += entries.size() != 1 || !oracle.is_right(**store->verify({entries[0].key}));
  tally->wrong += n_orphans(dir.path()) != 0 && !store->gc(1 << 30).ok();
  ::munmap(&round, sizeof round);
}

TEST_CASE("G2: one makes what sixteen need, and another where that one dies or is stopped") {
  const Oracle oracle(1);
  std::mt19937 random(3);
  Tally tally;
  const int rounds = n_rounds(40, 200);
  for (int i = 0; i < rounds; ++i)
    run_round(oracle, i % 8 == 3 ? SIGKILL : i % 8 == 7 ? SIGSTOP : 0, random, &tally);
  CHECK(tally.failed == 0);
  CHECK(tally.wrong == 0);
  CHECK(tally.too_many == 0);
  CHECK(tally.encodes <= rounds + tally.deaths + tally.stops);
  CHECK(tally.longest_wait_ms <= std::chrono::milliseconds(kLongestWait).count());
  say("G2", std::to_string(rounds) + " rounds of " + std::to_string(kProcesses) + " processes; " +
                std::to_string(tally.deaths) + " holders killed, " + std::to_string(tally.stops) +
                " stopped; " + std::to_string(tally.encodes) +
                " encodings, rounds with too many: " + std::to_string(tally.too_many) +
                "; longest wait " + std::to_string(tally.longest_wait_ms) + " ms");
}

}  // namespace
}  // namespace pc::test
