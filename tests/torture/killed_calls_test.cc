// K2: a process is killed at every single system call of what it does with a store, before the call
// and after it. Whatever it was at, the store is sound afterwards, serves, and a sweep leaves
// nothing; also where the one that comes after it is killed as well.
//
// Caught, when it was put into the product: a file that is written under its name (it is there,
// half, between two calls), and one that is linked before its bytes are written.

#include <signal.h>
#include <sys/ptrace.h>

#include <chrono>
#include <random>
#include <thread>

#include "tests/torture/torture.h"

namespace pc::test {
namespace {

using namespace std::chrono_literals;

constexpr int kModules = 4;
constexpr int kTraced = SIGTRAP | 0x80;  // a stop at a call, with PTRACE_O_TRACESYSGOOD

struct Place {
  const Oracle& oracle;
  std::string dir;

  std::unique_ptr<ModuleStore> open(std::uint64_t budget_modules = 100) const {
    return open_store(dir, budget_modules * oracle.bytes());
  }
  void fill(int n) const {
    const auto store = open();
    for (int i = 0; i < n; ++i) REQUIRE(store->publish(oracle.module(i)).ok());
  }
};

// What a process does to a store that holds the first n_before modules. `work` returns what is
// measured; `n_kept`: of those modules, so many stay whatever happens.
struct Deed {
  const char* name;
  int n_before, n_kept;
  void (*work)(const Place&, ModuleStore&);
};

void publish_named(const Place& place, ModuleStore&) {
  const ModuleHandle& module = place.oracle.module(3);
  (void)open_folder(place.dir).publish(module->key().digest, module->bytes(), Durability::kData,
                                       Staging::kNamed);
}

void publish_draft(const Place& place, ModuleStore& store) {
  const auto draft = store.draft(place.oracle.bytes());
  if (draft) (void)store.publish(make_module(place.oracle.identity(3), draft), draft.get());
}

void find_damaged(const Place& place, ModuleStore& store) {
  overwrite(object_path(place.dir, place.oracle.module(0)->key()), 5000, "damage");
  (void)store.find(place.oracle.identity(0));
  (void)store.publish(place.oracle.module(0));
}

const Deed kDeeds[] = {
    {"open an empty directory", 0, 0, [](const Place& p, ModuleStore&) { p.open(); }},
    {"open above the budget", 3, 0, [](const Place& p, ModuleStore&) { p.open(1); }},
    {"publish", 2, 2,
     [](const Place& p, ModuleStore& store) { (void)store.publish(p.oracle.module(3)); }},
    {"publish, named", 2, 2, &publish_named},
    {"publish a draft", 2, 2, &publish_draft},
    {"publish where something goes", 3, 0,
     [](const Place& p, ModuleStore&) { (void)p.open(3)->publish(p.oracle.module(3)); }},
    {"find", 2, 2,
     [](const Place& p, ModuleStore& store) { (void)store.find(p.oracle.identity(1)); }},
    {"find damage, publish again", 1, 0, &find_damaged},
    {"remove", 2, 1,
     [](const Place& p, ModuleStore& store) { (void)store.remove(p.oracle.module(1)->key()); }},
    {"gc", 3, 0, [](const Place& p, ModuleStore& store) { (void)store.gc(p.oracle.bytes()); }},
};

// The process that does it, stopped before its first call.
template <class Work>
pid_t start_traced(const Place& place, Work work) {
  const pid_t pid = spawn([&] {
    const auto store = place.open();
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) return 2;
    ::raise(SIGSTOP);
    work(*store);
    return 0;
  });
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (!WIFSTOPPED(status)) return -1;
  ::ptrace(PTRACE_SETOPTIONS, pid, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  return pid;
}

// Lets it go on for n stops, two to a call, and kills it there. False: it was done before.
bool kill_at(pid_t pid, int n) {
  int status = 0;
  for (int i = 0; i <= n;) {
    REQUIRE(::ptrace(PTRACE_SYSCALL, pid, nullptr, nullptr) == 0);
    ::waitpid(pid, &status, 0);
    if (!WIFSTOPPED(status)) {
      REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
      return false;
    }
    i += WSTOPSIG(status) == kTraced;
  }
  ::kill(pid, SIGKILL);
  REQUIRE(end_of(pid) == -SIGKILL);
  return true;
}

// What every process that comes afterwards may do: look up all, write one, clean up.
void recover(const Place& place, ModuleStore& store) {
  for (int i = 0; i < kModules; ++i) (void)store.find(place.oracle.identity(i));
  (void)store.publish(place.oracle.module(2));
  store.sweep();
  (void)store.gc(kModules * place.oracle.bytes());
}

void check_sound(const Place& place, const Deed& deed) {
  const auto store = place.open();
  for (const CacheEntry& entry : store->list().value()) {
    const bool damaged =
        deed.work == &find_damaged && entry.key == place.oracle.module(0)->key().digest;
    const auto verified = store->verify({entry.key});
    if (!damaged) REQUIRE((verified.ok() && place.oracle.is_right(**verified)));
  }
  for (int i = 0; i < kModules; ++i) {
    const Lookup found = store->find(place.oracle.identity(i));
    if (i < deed.n_kept) REQUIRE(found);
    if (found)
      REQUIRE(place.oracle.is_right(*found.module));
    else
      REQUIRE((found.miss == MissReason::kNotEncoded || deed.work == &find_damaged));
    const auto published = store->publish(place.oracle.module(i));
    REQUIRE((published.ok() && place.oracle.is_right(**published)));
  }
  store->sweep();
  REQUIRE(n_files(place.dir + "/v3/tmp") == 0);
  REQUIRE(store->gc(place.oracle.bytes()).ok());
  REQUIRE(n_orphans(place.dir) == 0);
}

bool may_trace() {
  const TempFolder dir;
  const Oracle oracle(1);
  const pid_t pid = start_traced({oracle, dir.path()}, [](ModuleStore&) {});
  if (pid < 0 || ::ptrace(PTRACE_SYSCALL, pid, nullptr, nullptr) != 0) return false;
  ::kill(pid, SIGKILL);
  end_of(pid);
  return true;
}

// One life and death; true: it was over before the stop of this number. `second`: the one who comes
// afterwards is killed at that stop, too.
bool die(const Deed& deed, const Oracle& oracle, int n, int second) {
  INFO(deed.name << ", stop " << n << ", second " << second);
  const TempFolder dir(quick_place());
  const Place place{oracle, dir.path() + "/cache"};
  if (deed.n_before > 0) place.fill(deed.n_before);
  const bool killed =
      kill_at(start_traced(place, [&](ModuleStore& store) { deed.work(place, store); }), n);
  if (second >= 0)
    (void)kill_at(start_traced(place, [&](ModuleStore& store) { recover(place, store); }), second);
  check_sound(place, deed);
  return !killed;
}

TEST_CASE("K2: whoever does something to a store may be killed at each of its system calls") {
  if (!may_trace()) {
    WARN("skipped: no process may be traced here");
    say("K2", "skipped: no process may be traced here");
    return;
  }
  const Oracle oracle(kModules);
  std::mt19937 random(9);
  int n_stops = 0, n_doubles = 0;
  const int doubles = n_rounds(0, 10);
  for (const Deed& deed : kDeeds) {
    int n = 0;
    for (; !die(deed, oracle, n, -1); ++n, ++n_stops)
      for (int i = 0; i < doubles; ++i, ++n_doubles)
        die(deed, oracle, n, static_cast<int>(random() % 400));
    CHECK(n > 10);
  }
  say("K2", std::to_string(n_stops) + " kills, before and after each system call of " +
                std::to_string(std::size(kDeeds)) + " deeds; " + std::to_string(n_doubles) +
                " more where the next process was killed, too; all sound");
}

}  // namespace
}  // namespace pc::test
