// K1: processes that write, collect and delete are killed at any instant, a thousand times and
// more. No reader ever gets other bytes than the causes of a module make, and a sweep leaves
// nothing of the dead.
//
// Caught, each when it was put into the product: a file that is written under its name (readers
// and the look after each round find half of it), and a promise that is kept without a lock, or
// swept in spite of it (what is stored passes the budget, or is left in tmp).

#include <signal.h>

#include <chrono>
#include <random>

#include "tests/torture/torture.h"

namespace pc::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kModules = 8;
constexpr std::uint64_t kModulesInBudget = 5;  // fewer than there are, so that all evict
constexpr int kWriters = 3;

struct Place {
  const Oracle& oracle;
  const std::string& dir;

  std::uint64_t budget() const { return kModulesInBudget * oracle.bytes(); }
  std::unique_ptr<ModuleStore> open() const { return open_store(dir, budget()); }
};

// All that is done to a store, at random, until the process is killed. Exits on wrong bytes.
int write_forever(const Place& place, unsigned seed) {
  const auto store = place.open();
  const CacheFolder folder = open_folder(place.dir);
  std::mt19937 random(seed);
  ModuleHandle held;
  while (true) {
    const int i = static_cast<int>(random() % kModules);
    const ModuleHandle& module = place.oracle.module(i);
    switch (random() % 8) {
      case 0:
        if (const auto room = folder.reserve(module->bytes().size(), place.budget(), 10ms);
            room.ok())
          (void)folder.publish(module->key().digest, module->bytes(), Durability::kNone,
                               Staging::kNamed);
        break;
      case 1:
      case 2:
        if (const auto draft = store->draft(module->bytes().size()))
          (void)store->publish(make_module(place.oracle.identity(i), draft), draft.get());
        break;
      case 3:
        (void)store->gc(place.budget() / 2);
        break;
      case 4:
        (void)store->remove(module->key());
        break;
      case 5:
        held = store->find(place.oracle.identity(i)).module;
        if (held && !place.oracle.is_right(*held)) return 1;
        break;
      default:
        (void)store->publish(module);
    }
  }
}

struct Tally {
  std::uint64_t seen = 0, wrong = 0, orphans = 0, over_budget = 0;
};

void read_until(Clock::time_point end, const Place& place, ModuleStore& reader,
                std::mt19937& random, Tally* tally) {
  while (Clock::now() < end) {
    const Lookup found = reader.find(place.oracle.identity(static_cast<int>(random() % kModules)));
    tally->seen += found.module != nullptr;
    tally->wrong +=
        found ? !place.oracle.is_right(*found.module) : found.miss != MissReason::kNotEncoded;
  }
}

// After a round, when only the reader lives: every file is whole and right, and what is left of
// the dead goes.
void look(const Place& place, ModuleStore& reader, Tally* tally) {
  for (const CacheEntry& entry : reader.list().value()) {
    const auto verified = reader.verify({entry.key});
    tally->wrong += !verified.ok() || !place.oracle.is_right(**verified);
  }
  const CacheFolder folder = open_folder(place.dir);
  reader.sweep();
  tally->orphans += n_files(place.dir + "/v3/tmp");
  tally->over_budget += folder.stored_bytes() > place.budget();
  tally->orphans += !reader.gc(place.budget()).ok();
  tally->orphans += n_orphans(place.dir);
}

TEST_CASE("K1: whoever writes may be killed at any instant") {
  const TempFolder dir;
  const Oracle oracle(kModules);
  const Place place{oracle, dir.path()};
  const auto reader = place.open();
  std::mt19937 random(7);
  Tally tally;
  const int rounds = n_rounds(1000, 50'000);
  for (int round = 0; round < rounds; ++round) {
    std::vector<pid_t> writers;
    for (int w = 0; w < kWriters; ++w) {
      const unsigned seed = random();
      writers.push_back(spawn([&] { return write_forever(place, seed); }));
    }
    read_until(Clock::now() + 1ms * (1 + random() % 10), place, *reader, random, &tally);
    for (const pid_t writer : writers) ::kill(writer, SIGKILL);
    for (const pid_t writer : writers) tally.wrong += end_of(writer) != -SIGKILL;
    look(place, *reader, &tally);
  }
  CHECK(tally.wrong == 0);
  CHECK(tally.orphans == 0);
  CHECK(tally.over_budget == 0);
  CHECK(tally.seen > 0);
  CHECK(n_files(dir.path() + "/v3/quarantine") == 0);
  // Afterwards everything still works.
  CHECK(reader->gc(0).ok());
  CHECK(oracle.is_right(**reader->publish(oracle.module(0))));
  say("K1", std::to_string(rounds) + " rounds, " + std::to_string(kWriters) +
                " writers killed in each; " + std::to_string(tally.seen) + " reads, " +
                std::to_string(tally.wrong) + " wrong, " + std::to_string(tally.orphans) +
                " orphans after the sweep");
}

}  // namespace
}  // namespace pc::test
