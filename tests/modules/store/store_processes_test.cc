// Several processes on one directory, some of which are killed.
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <random>
#include <thread>

#include "tests/modules/store_support.h"

namespace pc {
namespace {

namespace fs = std::filesystem;
using test::open_store;
using test::TempFolder;
using namespace std::chrono_literals;

// Memory that parent and children share.
struct Shared {
  std::atomic<int> ready, encoded;
};
Shared* shared() {
  void* p =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (p) Shared{};
}

template <class Work>
pid_t spawn(Work work) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::_exit(work());
  }
  return pid;
}

int exit_code(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr int kProcesses = 16;

// Starts all at once; returns the number of children that failed.
template <class Work>
int run_together(Shared* state, Work work) {
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(spawn([&] {
      ++state->ready;
      while (state->ready < kProcesses) std::this_thread::yield();
      return work();
    }));
  }
  int failed = 0;
  for (const pid_t child : children) failed += exit_code(child) != 0;
  return failed;
}

TEST_CASE("sixteen processes that publish one key end with one file and equal bytes") {
  const TempFolder dir;
  const ModuleHandle made = test::make_module(test::identity());
  for (int round = 0; round < 5; ++round) {
    const std::string path = dir.path() + "/" + std::to_string(round);
    const int failed = run_together(shared(), [&] {
      const auto store = open_store(path);
      const auto published = store->publish(made);
      return published.ok() && std::ranges::equal((*published)->bytes(), made->bytes()) ? 0 : 1;
    });
    CHECK(failed == 0);
    CHECK(open_store(path)->list().value().size() == 1);
    CHECK(fs::is_empty(path + "/v3/tmp"));
    CHECK(fs::is_empty(path + "/v3/quarantine"));
  }
}

TEST_CASE("sixteen processes that need one module encode it once") {
  const TempFolder dir;
  Shared* const state = shared();
  const int failed = run_together(state, [&] {
    const auto store = open_store(dir.path());
    for (int i = 0; i < 4; ++i) {
      if (store->find(test::identity(i))) continue;
      const FileLock lock = store->lock(key_of(test::identity(i)), 30s);
      if (!lock.held()) return 1;
      if (store->find(test::identity(i))) continue;
      ++state->encoded;
      std::this_thread::sleep_for(10ms);  // an encoding takes its time
      if (!store->publish(test::make_module(test::identity(i))).ok()) return 2;
    }
    return 0;
  });
  CHECK(failed == 0);
  CHECK(state->encoded == 4);
  CHECK(open_store(dir.path())->list().value().size() == 4);
}

TEST_CASE("a lock lasts as long as its holder lives, and no longer") {
  const TempFolder dir;
  Shared* const state = shared();
  const auto store = open_store(dir.path());
  const ModuleKey key = key_of(test::identity());
  const pid_t holder = spawn([&] {
    const FileLock lock = open_store(dir.path())->lock(key, 0ms);
    state->ready = lock.held() ? 1 : 2;
    while (true) ::pause();
    return 0;
  });
  while (state->ready == 0) std::this_thread::yield();
  REQUIRE(state->ready == 1);
  CHECK(!store->lock(key, 30ms).held());
  ::kill(holder, SIGSTOP);
  CHECK(!store->lock(key, 30ms).held());
  ::kill(holder, SIGKILL);
  CHECK(store->lock(key, 5s).held());
  exit_code(holder);
}

TEST_CASE("a process may use more modules than it may open files") {
  const TempFolder dir;
  constexpr int kModules = 100;
  {
    const auto store = open_store(dir.path());
    for (int i = 0; i < kModules; ++i) test::put(*store, test::identity(i));
  }
  const pid_t child = spawn([&] {
    const rlimit few{40, 40};
    if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return 1;
    const auto store = open_store(dir.path());
    std::vector<ModuleHandle> held;
    for (int i = 0; i < kModules; ++i) held.push_back(store->find(test::identity(i)).module);
    return std::count(held.begin(), held.end(), nullptr) == 0 ? 0 : 2;
  });
  CHECK(exit_code(child) == 0);
}

// The bytes of a store's files on the disk. Holds the lock under which files are evicted: a listing
// that counts what goes and what comes in its place would count too much.
std::uint64_t bytes_of(const CacheFolder& store, const std::string& path) {
  std::uint64_t bytes = 0;
  const FileLock gc = store.lock("gc", 1s);
  if (!gc.held()) return 0;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator(path, gone)) {
    const std::uint64_t size = entry.file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

// Publishes modules of its own, made in a file and in memory, some of which it uses for a while.
int fill(const std::string& path, std::uint64_t budget, int first) {
  const auto store = open_store(path, budget);
  ModuleHandle used;
  for (int i = 0; i < 60; ++i) {
    const ModuleIdentity id = test::identity(first + i);
    const auto draft = i % 2 == 0 ? store->draft(stored_size(id).bytes) : nullptr;
    auto published = store->publish(test::make_module(id, draft), draft.get());
    if (!published.ok() && !test::may_happen(published.error())) return 1;
    if (i % 3 == 0 && published.ok()) used = std::move(published).value();
  }
  return 0;
}

TEST_CASE("twelve writers stay within the budget at every instant, and leave less") {
  const TempFolder dir;
  const std::uint64_t size = test::make_module(test::identity())->bytes().size();
  const std::uint64_t budget = 16 * size;
  const std::string objects = dir.path() + "/v3/objects";
  const CacheFolder folder = test::open_folder(dir.path());
  std::vector<pid_t> writers;
  for (int w = 0; w < 12; ++w)
    writers.push_back(spawn([&] { return fill(dir.path(), budget, 100 * w); }));
  std::uint64_t most = 0, n_samples = 0;
  while (!writers.empty()) {
    most = std::max(most, bytes_of(folder, objects));
    ++n_samples;
    int status = 0;
    const pid_t done = ::waitpid(-1, &status, WNOHANG);
    if (done <= 0) continue;
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    std::erase(writers, done);
  }
  INFO(n_samples << " samples, at most " << most << " of " << budget << " bytes");
  CHECK(most > budget / 2);
  CHECK(most <= budget);
  CHECK(folder.stored_bytes() <= budget);
  CHECK(fs::is_empty(dir.path() + "/v3/tmp"));
  CHECK(open_store(dir.path(), size)->list()->size() <= 1);
}

// Writes modules by both ways of staging and collects, until it is killed.
int write_forever(const std::string& path, unsigned seed, std::uint64_t budget) {
  const auto store = open_store(path, budget);
  const CacheFolder folder = test::open_folder(path);
  std::mt19937 random(seed);
  while (true) {
    const ModuleHandle module =
        test::make_module(test::identity(static_cast<std::int32_t>(random() % 8)));
    if (random() % 3 == 0) {
      (void)folder.publish(module->key().digest, module->bytes(), Durability::kNone,
                           Staging::kNamed);
    } else {
      (void)store->publish(module);
    }
    if (random() % 8 == 0) (void)store->gc(budget / 2);
  }
}

TEST_CASE("writers killed at any instant leave nothing that is wrong") {
  const TempFolder dir;
  const std::uint64_t size = test::make_module(test::identity())->bytes().size();
  const auto reader = open_store(dir.path(), 6 * size);
  std::mt19937 random(7);
  std::size_t wrong = 0, seen = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<pid_t> writers;
    for (int w = 0; w < 2; ++w) {
      const unsigned seed = random();
      writers.push_back(spawn([&] { return write_forever(dir.path(), seed, 6 * size); }));
    }
    const auto end = std::chrono::steady_clock::now() + 1ms * (5 + random() % 15);
    while (std::chrono::steady_clock::now() < end) {
      const Lookup found = reader->find(test::identity(static_cast<std::int32_t>(random() % 8)));
      seen += found.module != nullptr;
      wrong += !found && found.miss != MissReason::kNotEncoded;
    }
    for (const pid_t writer : writers) ::kill(writer, SIGKILL);
    for (const pid_t writer : writers) exit_code(writer);
    const auto entries = reader->list().value();
    for (const CacheEntry& entry : entries) wrong += !reader->verify({entry.key}).ok();
  }
  CHECK(wrong == 0);
  CHECK(seen > 0);
  CHECK(fs::is_empty(dir.path() + "/v3/quarantine"));
  // Afterwards everything still works.
  CHECK(reader->gc(0).ok());
  CHECK(reader->publish(test::make_module(test::identity())).ok());
}

}  // namespace
}  // namespace pc
