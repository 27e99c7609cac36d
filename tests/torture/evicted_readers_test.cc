// G1: eight processes read modules while another evicts them a thousand times, also those that are
// in use. Nobody loses a byte of what it holds, and what has a name never passes the budget.
//
// Caught, when it was put into the product: a file that is truncated before its name goes (readers
// end by SIGBUS), and promises of no length beside a second writer (the budget is passed).

#include <signal.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "tests/torture/torture.h"

namespace pc::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int kModules = 6;
constexpr std::uint64_t kBudgetModules = 3;
constexpr int kReaders = 8;

struct Counts {
  std::atomic<bool> over{false};  // also where one of them could not go on
  std::atomic<std::uint64_t> sums{0}, found{0};
};

// Holds two modules at a time, and sums what it holds again and again. 1: other bytes.
int read_until_over(const std::string& dir, const Oracle& oracle, unsigned seed, Counts& counts) {
  const auto store = ModuleStore::open({.dir = dir, .read_only = seed % 2 == 0}).value();
  std::mt19937 random(seed);
  ModuleHandle held[2];
  while (!counts.over) {
    const Lookup lookup = store->find(oracle.identity(static_cast<int>(random() % kModules)));
    counts.found += lookup.module != nullptr;
    if (!lookup && lookup.miss != MissReason::kNotEncoded) return 2;
    if (lookup) held[random() % 2] = lookup.module;
    for (const ModuleHandle& module : held) {
      if (!module) continue;
      ++counts.sums;
      if (!module->verify_payload().ok() || !oracle.is_right(*module)) return 1;
    }
    std::this_thread::sleep_for(100us);
  }
  return 0;
}

// Makes modules of its own in the same budget. 1: an error that says nothing about room.
int write_until_over(const std::string& dir, const Oracle& oracle, Counts& counts) {
  const auto store = open_store(dir, kBudgetModules * oracle.bytes());
  for (int i = 0; !counts.over; ++i) {
    const auto published = store->publish(oracle.module(i % kModules));
    if (!published.ok() && !may_happen(published.error())) return 1;
    std::this_thread::sleep_for(300us);
  }
  return 0;
}

// Bytes with a name, while nobody evicts.
std::uint64_t named_bytes(const CacheFolder& folder, const std::string& dir) {
  const FileLock gc = folder.lock("gc", 5s);
  if (!gc.held()) return 0;
  std::uint64_t bytes = 0;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator(dir + "/v3/objects", gone)) {
    const std::uint64_t size = entry.file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

// By collecting, which passes over what is in use, or by removing, which does not.
bool evict_something(ModuleStore& store, const Oracle& oracle, std::mt19937& random) {
  if (random() % 2 == 0) {
    const auto report = store.gc(0);
    return report.ok() && report->removed_files > 0;
  }
  return store.remove(oracle.module(static_cast<int>(random() % kModules))->key()).ok();
}

bool all_live(const std::vector<pid_t>& processes) {
  return std::ranges::all_of(processes, [](pid_t process) {
    siginfo_t ended{};
    return ::waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == 0;
  });
}

TEST_CASE("G1: readers keep what they hold, whatever is evicted") {
  const TempFolder dir;
  const Oracle oracle(kModules);
  const auto store = open_store(dir.path(), kBudgetModules * oracle.bytes());
  const CacheFolder folder = open_folder(dir.path());
  Counts& counts = *shared<Counts>();
  std::vector<pid_t> others;
  for (unsigned i = 0; i < kReaders; ++i)
    others.push_back(spawn([&] { return read_until_over(dir.path(), oracle, i, counts); }));
  for (int i = 0; i < 2; ++i)
    others.push_back(spawn([&] { return write_until_over(dir.path(), oracle, counts); }));
  std::mt19937 random(5);
  const int wanted = n_rounds(1000, 20'000);
  std::uint64_t most = 0;
  for (int evicted = 0; evicted < wanted && all_live(others);) {
    evicted += evict_something(*store, oracle, random);
    most = std::max(most, named_bytes(folder, dir.path()));
    std::this_thread::sleep_for(100us);
  }
  counts.over = true;
  int failed = 0;
  std::string ends;
  for (const pid_t other : others) {
    const int end = end_of(other);
    failed += end != 0;
    ends += std::to_string(end) + " ";
  }
  INFO("ends of " << kReaders << " readers and the writers: " << ends);
  CHECK(failed == 0);
  CHECK(counts.found > 0);
  CHECK(most > 0);
  CHECK(most <= kBudgetModules * oracle.bytes());
  store->sweep();
  CHECK(store->gc(0).ok());
  CHECK(n_orphans(dir.path()) == 0);
  say("G1", std::to_string(wanted) + " evictions, " + std::to_string(kReaders) + " readers; " +
                std::to_string(counts.sums) + " sums of held modules, " + std::to_string(failed) +
                " processes failed; at most " + std::to_string(100 * most / oracle.bytes()) +
                " % of a module on the disk, of " + std::to_string(100 * kBudgetModules));
}

}  // namespace
}  // namespace pc::test
