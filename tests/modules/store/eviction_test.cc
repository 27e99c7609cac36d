#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/modules/store_support.h"

namespace pc {
namespace {

namespace fs = std::filesystem;
using test::miss_of;
using test::open_store;
using test::overwrite;
using test::put;
using test::set_used;
using test::TempFolder;
using namespace std::chrono_literals;

TEST_CASE("eviction takes the least recently used, and stays within the budget") {
  const int oldest = GENERATE(0, 1, 2);
  const TempFolder dir;
  const std::uint64_t size = test::make_module(test::identity())->bytes().size();
  const auto store = open_store(dir.path(), 3 * size);
  std::vector<ModuleKey> keys;
  for (int i = 0; i < 3; ++i) {
    keys.push_back(put(*store, test::identity(i)));
    set_used(dir.path(), keys.back(), i == oldest ? 1'000'000 : 2'000'000);
  }
  put(*store, test::identity(3));
  for (int i = 0; i < 4; ++i)
    CHECK(static_cast<bool>(store->find(test::identity(i))) == (i != oldest));
  CHECK(test::open_folder(dir.path()).stored_bytes() <= 3 * size);
  CHECK(!fs::exists(dir.path() + "/v3/used/" + keys[oldest].hex()));
}

TEST_CASE("a use makes a module the youngest") {
  const TempFolder dir;
  const std::uint64_t size = test::make_module(test::identity())->bytes().size();
  const auto store = open_store(dir.path(), 3 * size);
  for (int i = 0; i < 3; ++i) set_used(dir.path(), put(*store, test::identity(i)), 1'000'000 + i);
  CHECK(store->find(test::identity(0)));
  put(*store, test::identity(3));
  CHECK(store->find(test::identity(0)));
  CHECK(miss_of(*store, test::identity(1)) == MissReason::kNotEncoded);
}

// 16 tokens that stand at `position` of a conversation; all files are as large.
ModuleIdentity link(std::int32_t position) {
  ModuleIdentity id = test::identity();
  id.attend = kLinkAttend;
  id.context = test::digest(9);
  id.runs = {{test::numbered(position, 16), position, true}};
  return id;
}

void set_used_ago(const std::string& dir, const ModuleKey& key, std::chrono::seconds ago) {
  set_used(dir, key, std::time(nullptr) - ago.count());
}

TEST_CASE("a deep link outlives its chain's beginning, and one that is worth less for longer") {
  const TempFolder dir;
  const std::uint64_t size = test::make_module(link(0))->bytes().size();
  const auto store = open_store(dir.path(), 3 * size);
  const ModuleKey beginning = put(*store, link(0)), end = put(*store, link(32760)),
                  other = put(*store, link(16));
  // Worth 1, 2 and 1, for 60 seconds more than these.
  set_used_ago(dir.path(), beginning, 1000s);
  set_used_ago(dir.path(), end, 1900s);
  set_used_ago(dir.path(), other, 900s);
  const auto left = [&] {
    std::vector<bool> is_left;
    for (const ModuleKey& key : {beginning, end, other})
      is_left.push_back(store->inspect(key).ok());
    return is_left;
  };
  REQUIRE(store->gc(2 * size).ok());
  CHECK(left() == std::vector{false, true, true});
  set_used_ago(dir.path(), end, 2000s);
  put(*store, link(48));
  REQUIRE(store->gc(2 * size).ok());
  CHECK(left() == std::vector{false, false, true});
}

TEST_CASE("what was found again stays longer, beside what was only made") {
  const TempFolder dir;
  const auto store = open_store(dir.path());
  const ModuleKey again = put(*store, link(0)), once = put(*store, link(16));
  const std::uint64_t size = test::make_module(link(0))->bytes().size();
  set_used_ago(dir.path(), again, 2000s);
  set_used_ago(dir.path(), once, 1000s);
  const timespec times[2] = {{std::time(nullptr) - 1200, 0}, {std::time(nullptr) - 1200, 0}};
  const std::string stamp = dir.path() + "/v3/used/" + again.hex();
  REQUIRE(::utimensat(AT_FDCWD, stamp.c_str(), times, 0) == 0);
  REQUIRE(store->gc(size).ok());
  CHECK(store->inspect(again).ok());
  CHECK_FALSE(store->inspect(once).ok());
}

TEST_CASE("every way of being found is a use") {
  const TempFolder dir;
  const ModuleIdentity id = test::identity();
  const auto store = open_store(dir.path());
  const ModuleKey key = put(*store, id);
  set_used(dir.path(), key, 1);
  const auto used_again = [&] {
    const auto entries = open_store(dir.path())->list().value();
    const bool again = entries.at(0).last_used_ns > 2'000'000'000;
    const timespec old[2] = {{1, 0}, {1, 0}};
    REQUIRE(::utimensat(AT_FDCWD, (dir.path() + "/v3/used/" + key.hex()).c_str(), old, 0) == 0);
    return again;
  };
  CHECK(!used_again());
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  const Lookup verified = store->find(id);
  REQUIRE(verified);
  CHECK(used_again());
  CHECK(store->find(id));  // from this process's mapping
  CHECK(used_again());
  CHECK(open_store(dir.path())->find(id));  // by its stamp
  CHECK(used_again());
}

TEST_CASE("files in use are not evicted, in whichever process") {
  const TempFolder dir;
  const std::uint64_t size = test::make_module(test::identity())->bytes().size();
  const auto user = open_store(dir.path(), 2 * size);
  const ModuleHandle held = user->publish(test::make_module(test::identity(0))).value();
  set_used(dir.path(), held->key(), 1);
  const auto store = open_store(dir.path(), 2 * size);
  put(*store, test::identity(1));
  put(*store, test::identity(2));
  CHECK(fs::exists(test::object_path(dir.path(), held->key())));
  CHECK(miss_of(*store, test::identity(1)) == MissReason::kNotEncoded);
  const EvictionReport report = store->gc(0).value();
  CHECK(report.in_use_files == 1);
  CHECK(report.left_bytes == size);
  CHECK(report.removed_files == 1);
}

TEST_CASE("a mapping outlives the name of its file") {
  const TempFolder dir;
  const auto store = open_store(dir.path());
  const ModuleHandle made = test::make_module(test::identity());
  const ModuleHandle held = store->publish(made).value();
  REQUIRE(store->remove(held->key()).ok());
  CHECK(miss_of(*store, test::identity()) == MissReason::kNotEncoded);
  CHECK(store->remove(held->key()).error().code == Code::kNotFound);
  CHECK(held->verify_payload().ok());
  CHECK(std::ranges::equal(held->bytes(), made->bytes()));
}

TEST_CASE("a module larger than the budget is refused by name") {
  const TempFolder dir;
  const auto store = open_store(dir.path(), 1000);
  const auto published = store->publish(test::make_module(test::identity()));
  REQUIRE(!published.ok());
  CHECK(published.error().code == Code::kBudget);
  CHECK(store->list().value().empty());
}

TEST_CASE("room that is promised counts, until it is used or its owner is gone") {
  const TempFolder dir;
  const CacheFolder folder = test::open_folder(dir.path());
  const auto bytes = [&] { return test::open_folder(dir.path()).stored_bytes(); };
  {
    const CacheRoom room = folder.reserve(600, 1000, 0ms).value();
    CHECK(bytes() == 600);
    folder.sweep_unfinished();
    CHECK(bytes() == 600);
    const auto second = folder.reserve(401, 1000, 0ms);
    REQUIRE(!second.ok());
    CHECK(second.error().code == Code::kBudget);
    CHECK_THAT(second.error().message, Catch::Contains("600 are in use, pinned or promised"));
    CHECK(folder.reserve(400, 1000, 0ms).ok());
    auto draft = folder.draft(300, folder.reserve(300, 1000, 0ms).value());
    REQUIRE(draft);
    CHECK(bytes() == 900);
    CHECK(folder.publish(Digest{}, *draft, Durability::kNone).value() == Published::kNew);
    CHECK(bytes() == 900);  // the file, instead of the promise
    draft.reset();
    CHECK(bytes() == 900);
  }
  CHECK(bytes() == 300);
  CHECK(folder.reserve(1000, 1000, 0ms).ok());  // in the place of what nobody uses
  CHECK(bytes() == 0);
  CHECK(!folder.reserve(1001, 1000, 0ms).ok());
  CHECK(fs::is_empty(dir.path() + "/v3/tmp"));
}

TEST_CASE("what is pinned stays, whoever collects, and counts") {
  const TempFolder dir;
  const std::uint64_t size = test::make_module(test::identity())->bytes().size();
  const auto store = open_store(dir.path(), 2 * size);
  const ModuleKey pinned = put(*store, test::identity(0));
  set_used(dir.path(), pinned, 1);
  REQUIRE(open_store(dir.path())->pin(pinned).ok());
  CHECK(store->pin(pinned).ok());
  CHECK(store->list()->at(0).pinned);
  put(*store, test::identity(1));
  put(*store, test::identity(2));  // in the place of the younger one
  CHECK(store->inspect(pinned).ok());
  CHECK(store->list()->size() == 2);
  const EvictionReport report = store->gc(0).value();
  CHECK((report.pinned_files == 1 && report.removed_files == 1 && report.left_bytes == size));

  // It holds for the file that comes in the place of a damaged one.
  overwrite(test::object_path(dir.path(), pinned), 5000, "X");
  CHECK(miss_of(*store, test::identity(0)) == MissReason::kCorrupt);
  CHECK(store->counts().set_aside_files == 1);
  put(*store, test::identity(0));
  CHECK(store->gc(0)->pinned_files == 1);
  REQUIRE(store->unpin(pinned).ok());
  CHECK(store->unpin(pinned).error().code == Code::kNotFound);
  CHECK(store->gc(0)->removed_files == 1);
  CHECK(store->pin(pinned).error().code == Code::kNotFound);

  put(*store, test::identity(0));
  REQUIRE(store->pin(pinned).ok());
  REQUIRE(store->remove(pinned).ok());
  put(*store, test::identity(0));
  CHECK_FALSE(store->is_pinned(pinned));
  const auto reader = ModuleStore::open({.dir = dir.path(), .read_only = true}).value();
  CHECK(reader->pin(pinned).error().code == Code::kIo);
}

TEST_CASE("where all that a store may hold is in use, a module stays in memory") {
  const TempFolder dir;
  const std::uint64_t size = test::make_module(test::identity())->bytes().size();
  const auto store = open_store(dir.path(), 2 * size);
  const ModuleHandle held[] = {store->publish(test::make_module(test::identity(0))).value(),
                               store->publish(test::make_module(test::identity(1))).value()};
  CHECK(store->draft(size) == nullptr);
  const auto third = store->publish(test::make_module(test::identity(2)));
  REQUIRE(!third.ok());
  CHECK(third.error().code == Code::kBudget);
  CHECK(test::open_folder(dir.path()).stored_bytes() == 2 * size);
}

TEST_CASE("a store that holds more than its budget gets smaller when it is opened") {
  const TempFolder dir;
  const std::uint64_t size = test::make_module(test::identity())->bytes().size();
  const auto rich = open_store(dir.path(), 10 * size);
  std::vector<ModuleKey> keys;
  for (int i = 0; i < 5; ++i) {
    keys.push_back(put(*rich, test::identity(i)));
    set_used(dir.path(), keys.back(), 1'000'000 + i);
  }
  const auto poor = open_store(dir.path(), 2 * size);
  CHECK(poor->list()->size() == 2);
  CHECK(poor->inspect(keys[4]).ok());
  CHECK(ModuleStore::open({.dir = dir.path(), .read_only = true, .budget_bytes = 0}).ok());
  CHECK(poor->list()->size() == 2);
}

TEST_CASE("gc removes what crashes have left, whatever its age, and nothing of the living") {
  const TempFolder dir;
  const auto store = open_store(dir.path());
  const std::string tmp = dir.path() + "/v3/tmp/";
  for (const char* name : {"dead", "alive"}) std::ofstream(tmp + name) << std::string(5000, 'x');
  CHECK(test::open_folder(dir.path()).stored_bytes() == 10000);
  const int fd = ::open(tmp.c_str(), O_RDONLY | O_DIRECTORY);
  const FileLock lock = FileLock::acquire(fd, "alive", std::chrono::milliseconds(0));
  REQUIRE(lock.held());
  CHECK(store->gc(1 << 30)->left_bytes == 5000);
  CHECK(!fs::exists(tmp + "dead"));
  CHECK(fs::exists(tmp + "alive"));
  ::close(fd);
}

TEST_CASE("a collection that is cancelled has removed what it had come to, and no more") {
  const TempFolder dir;
  const auto store = open_store(dir.path());
  for (int i = 0; i < 4; ++i) set_used(dir.path(), put(*store, test::identity(i)), 1'000'000 + i);
  std::vector<std::uint64_t> seen, totals;
  const auto report = store->gc(0, [&](std::uint64_t done, std::uint64_t total) {
    seen.push_back(done), totals.push_back(total);
    return done < 2;
  });
  REQUIRE(!report.ok());
  CHECK(report.error().code == Code::kCancelled);
  CHECK(
      (seen == std::vector<std::uint64_t>{0, 1, 2} && totals == std::vector<std::uint64_t>(3, 4)));
  for (int i = 0; i < 4; ++i) CHECK(static_cast<bool>(store->find(test::identity(i))) == (i >= 2));
}

TEST_CASE("a writer whose file is swept before it is locked writes another") {
  const TempFolder dir;
  const CacheFolder folder = test::open_folder(dir.path());
  std::atomic<bool> over{false};
  std::thread sweeper([&] {
    while (!over) folder.sweep_unfinished();
  });
  const std::string text = "bytes";
  for (int i = 0; i < 2000; ++i) {
    Digest key{};
    std::memcpy(key.data(), &i, sizeof i);
    const auto bytes = std::as_bytes(std::span(text));
    const auto done = folder.publish(key, bytes, Durability::kNone, Staging::kNamed);
    REQUIRE(done.ok());
    REQUIRE(*done == Published::kNew);
    REQUIRE(folder.open_file(key).ok());
  }
  over = true;
  sweeper.join();
  CHECK(fs::is_empty(dir.path() + "/v3/tmp"));
}

TEST_CASE("quarantine counts, and goes first") {
  const TempFolder dir;
  const auto store = open_store(dir.path());
  const ModuleKey key = put(*store, test::identity());
  put(*store, test::identity(1));
  overwrite(test::object_path(dir.path(), key), 5000, "X");
  CHECK(miss_of(*store, test::identity()) == MissReason::kCorrupt);
  const std::uint64_t size = test::make_module(test::identity())->bytes().size();
  CHECK(store->gc(2 * size).value().left_bytes == 2 * size);
  const EvictionReport report = store->gc(size).value();
  CHECK(report.left_bytes == size);
  CHECK(report.removed_files == 0);
  CHECK(store->find(test::identity(1)));
}

TEST_CASE("a full disk is an error value: nothing partial, nothing broken") {
  const TempFolder dir;
  if (::mount("none", dir.path().c_str(), "tmpfs", 0, "size=128k,mode=0700") != 0) {
    std::puts("skipped: needs the right to mount a tmpfs");
    return;
  }
  {
    const auto store = open_store(dir.path());
    std::vector<ModuleHandle> held;
    int full = 0;
    for (int i = 0; i < 12; ++i) {
      auto published = store->publish(test::make_module(test::identity(i)));
      if (published.ok()) {
        held.push_back(*published);
        continue;
      }
      ++full;
      CHECK(published.error().code == Code::kIo);
      CHECK_THAT(published.error().message, Catch::Contains("no space"));
    }
    CHECK(full > 0);
    CHECK(held.size() > 2);
    CHECK(store->list().value().size() == held.size());
    const auto entries = store->list().value();
    for (const CacheEntry& entry : entries) CHECK(store->verify({entry.key}).ok());
    CHECK(fs::is_empty(dir.path() + "/v3/tmp"));
    held.clear();
    put(*store, test::identity(99));  // what nobody uses makes room
    CHECK(store->find(test::identity(99)));
    const std::size_t n_files = store->list().value().size();
    const auto keeper = open_store(dir.path(), kNoBudget);  // but not for who may remove nothing
    int kept_out = 0;
    for (int i = 200; i < 212; ++i) {
      const auto published = keeper->publish(test::make_module(test::identity(i)));
      kept_out += !published.ok();
      if (!published.ok()) CHECK_THAT(published.error().message, Catch::Contains("no space"));
    }
    CHECK(kept_out > 0);
    CHECK(store->list().value().size() == n_files + 12 - static_cast<std::size_t>(kept_out));
  }
  CHECK(::umount(dir.path().c_str()) == 0);
}

}  // namespace
}  // namespace pc
