// E2: a real disk, of memory, with so much room left: 256 levels of bytes, and of files. Whatever
// is asked for is served; a module is stored whole or not at all, with an error that says why; and
// where there is room again, all is as before.
//
// Caught, when it was put into the product: a draft whose room is not taken before it is mapped
// (the process ends by SIGBUS), and a write whose error is passed over (half a file gets its name).

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "tests/torture/torture.h"

namespace pc::test {
namespace {

namespace fs = std::filesystem;

constexpr int kModules = 3;
constexpr int kLevels = 256;
constexpr std::size_t kPage = 4096;

// 448 KiB each with its header, so that 256 levels of a page are a little more than two.
ModuleIdentity large(std::int32_t salt) {
  ModuleIdentity id = identity(salt);
  id.geometry = KvGeometry(12, 2, 48);
  return id;
}

struct Counts {
  int levels = 0, stored = 0, refused = 0, unusable = 0, wrong = 0;
};

// A disk that nobody else sees, below `dir`, until this process ends.
bool own_mounts() {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool mount_disk(const std::string& dir, const std::string& size) {
  return ::mount("tmpfs", dir.c_str(), "tmpfs", 0, (size + ",mode=0700").c_str()) == 0;
}

// Leaves room for so many pages.
void fill_disk(const std::string& dir, std::uint64_t n_pages, std::uint64_t n_left) {
  const int fd = ::open((dir + "/filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (::posix_fallocate(fd, 0, static_cast<off_t>((n_pages - n_left) * kPage)) != 0) ::_exit(9);
  ::close(fd);
}

bool says_why(const Error& failure) {
  return failure.code == Code::kIo && (failure.message.find("o space") != std::string::npos);
}

// A request: found, or made where there is room for it and else in memory, and stored if possible.
void serve(ModuleStore& store, const Oracle& oracle, int i, Counts* counts) {
  ModuleHandle module = store.find(oracle.identity(i)).module;
  if (!module) {
    auto draft = store.draft(oracle.bytes());
    module = make_module(oracle.identity(i), draft);
    const auto published = store.publish(module, draft.get());
    ++(published.ok() ? counts->stored : counts->refused);
    if (!published.ok()) counts->wrong += !says_why(published.error());
    if (published.ok()) module = *published;
  }
  counts->wrong += !oracle.is_right(*module);
}

void check_sound(const ModuleStore& store, const Oracle& oracle, const std::string& dir,
                 Counts* counts) {
  for (const CacheEntry& entry : store.list().value()) {
    const auto verified = store.verify({entry.key});
    counts->wrong += !verified.ok() || !oracle.is_right(**verified);
  }
  store.sweep();
  counts->wrong += n_files(dir + "/v3/tmp") != 0 || n_files(dir + "/v3/quarantine") != 0;
}

// With so many pages of 4 MiB left.
void use_with_pages(const std::string& dir, const Oracle& oracle, int n_left, Counts* counts) {
  constexpr std::uint64_t kPages = 1024;
  if (!mount_disk(dir, "size=4m")) ::_exit(8);
  {
    const auto store = open_store(dir);
    fill_disk(dir, kPages, static_cast<std::uint64_t>(n_left));
    for (int i = 0; i < kModules; ++i) serve(*store, oracle, i, counts);
    check_sound(*store, oracle, dir, counts);
    ::unlink((dir + "/filler").c_str());
    for (int i = 0; i < kModules; ++i) {
      const auto published = store->publish(oracle.module(i));
      counts->wrong += !published.ok() || !oracle.is_right(**published);
    }
  }
  ++counts->levels;
  if (::umount2(dir.c_str(), MNT_DETACH) != 0) ::_exit(7);
}

// With so many files in all, folders included.
void use_with_files(const std::string& dir, const Oracle& oracle, int n_all, Counts* counts) {
  if (!mount_disk(dir, "size=64m,nr_inodes=" + std::to_string(n_all))) ::_exit(8);
  {
    const auto store = ModuleStore::open({.dir = dir, .durability = Durability::kNone});
    if (store.ok() && (*store)->writable()) {
      for (int i = 0; i < oracle.size(); ++i) serve(**store, oracle, i, counts);
      check_sound(**store, oracle, dir, counts);
      // Where not even the lock of the collection found a place, nothing else did.
      counts->wrong += !(*store)->gc(0).ok() && !(*store)->list()->empty();
    } else {
      ++counts->unusable;
    }
  }
  ++counts->levels;
  if (::umount2(dir.c_str(), MNT_DETACH) != 0) ::_exit(7);
}

template <class Use>
void at_all_levels(const char* what, const Oracle& oracle, int step, Use use) {
  const TempFolder dir;
  Counts& counts = *shared<Counts>();
  const pid_t pid = spawn([&] {
    if (!own_mounts()) return 77;
    for (int level = 1; level <= kLevels; level += step) use(dir.path(), oracle, level, &counts);
    return 0;
  });
  const int end = end_of(pid);
  if (end == 77) {
    WARN("skipped: no disk may be mounted here");
    say("E2", "skipped: no disk may be mounted here");
    return;
  }
  INFO(counts.levels << " levels");
  CHECK(end == 0);
  CHECK(counts.wrong == 0);
  CHECK(counts.stored > 0);
  CHECK(counts.refused > 0);
  say("E2", std::to_string(counts.levels) + " levels of " + what + ": " +
                std::to_string(counts.stored) + " modules stored, " +
                std::to_string(counts.refused) + " refused, " + std::to_string(counts.unusable) +
                " without a store, " + std::to_string(counts.wrong) + " wrong");
}

TEST_CASE("E2: with whatever room a disk has left, requests are served and files are whole") {
  const Oracle oracle(kModules, &large);
  REQUIRE(2 * oracle.bytes() < kLevels * kPage);
  REQUIRE(3 * oracle.bytes() > kLevels * kPage);
  at_all_levels("bytes", oracle, n_rounds(4, 1), &use_with_pages);
}

TEST_CASE("E2: with however many files a disk may hold, requests are served and files are whole") {
  at_all_levels("files", Oracle(100), n_rounds(4, 1), &use_with_files);
}

}  // namespace
}  // namespace pc::test
