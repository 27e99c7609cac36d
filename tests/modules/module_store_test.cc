#include "modules/module_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <thread>

#include "tests/modules/store_support.h"
#include "tests/support/memory_map.h"

namespace pc {
namespace {

namespace fs = std::filesystem;
using test::miss_of;
using test::object_name;
using test::open_store;
using test::overwrite;
using test::put;
using test::TempFolder;

std::unique_ptr<ModuleStore> open_read_only(const std::string& dir) {
  return ModuleStore::open({.dir = dir, .read_only = true}).value();
}

// Names, sizes and times of everything: what a read-only store must not change.
std::string fingerprint(const std::string& dir) {
  std::string text;
  for (const auto& entry : fs::recursive_directory_iterator(dir)) {
    struct stat st {};
    ::lstat(entry.path().c_str(), &st);
    text += entry.path().string() + " " + std::to_string(st.st_size) + " " +
            std::to_string(st.st_ctim.tv_sec) + "." + std::to_string(st.st_ctim.tv_nsec) + " " +
            std::to_string(st.st_mtim.tv_nsec) + "\n";
  }
  return text;
}

TEST_CASE("what is published is found, mapped from its file and shared") {
  const TempFolder dir;
  const auto store = open_store(dir.path() + "/new/store");
  const ModuleIdentity id = test::identity();
  CHECK(miss_of(*store, id) == MissReason::kNotEncoded);

  const ModuleHandle made = test::make_module(id);
  const ModuleHandle stored = store->publish(made).value();
  CHECK(stored->bytes().data() != made->bytes().data());
  CHECK(std::ranges::equal(stored->bytes(), made->bytes()));
  const Lookup again = store->find(id);
  REQUIRE(again);
  CHECK(again.module == stored);  // one mapping in the process

  const auto other = open_store(dir.path() + "/new/store");
  const Lookup elsewhere = other->find(id);
  REQUIRE(elsewhere);
  CHECK(std::ranges::equal(elsewhere.module->bytes(), made->bytes()));

  const std::string path = test::object_path(dir.path() + "/new/store", made->key());
  struct stat st {};
  REQUIRE(::stat(path.c_str(), &st) == 0);
  CHECK((st.st_mode & 07777) == 0400);
  REQUIRE(::stat((dir.path() + "/new/store").c_str(), &st) == 0);
  CHECK((st.st_mode & 07777) == 0700);
}

TEST_CASE("a module that is made in its file has the bytes of one that is made in memory") {
  const TempFolder dir;
  const auto store = open_store(dir.path());
  const ModuleIdentity id = test::identity();
  const ModuleHandle in_memory = test::make_module(id);
  const auto draft = store->draft(stored_size(id).bytes);
  REQUIRE(draft);
  const ModuleHandle made = test::make_module(id, draft);
  CHECK(made->bytes().data() == draft->bytes().data());
  CHECK(miss_of(*store, id) == MissReason::kNotEncoded);

  const ModuleHandle stored = store->publish(made, draft.get()).value();
  CHECK(std::ranges::equal(stored->bytes(), in_memory->bytes()));
  CHECK(store->verify(made->key()).ok());
  CHECK(store->publish(made, draft.get()).value() == stored);

  const ModuleHandle copy = ModuleImage::copy(*made).value();
  CHECK(copy->bytes().data() != made->bytes().data());
  CHECK(std::ranges::equal(copy->bytes(), in_memory->bytes()));
}

TEST_CASE("room is made for a draft before it is written") {
  const TempFolder dir;
  const std::uint64_t size = stored_size(test::identity()).bytes;
  const auto store = open_store(dir.path(), size * 3 / 2);
  const ModuleKey first = test::put(*store, test::identity(1));
  CHECK(store->draft(size * 2) == nullptr);
  CHECK(store->list().value().size() == 1);
  CHECK(store->draft(size) != nullptr);
  CHECK(store->inspect(first).error().code == Code::kNotFound);
}

TEST_CASE("segments point into the mapped file: no byte of K or V is copied") {
  const TempFolder dir;
  const auto store = open_store(dir.path());
  put(*store, test::identity());
  const Lookup found = store->find(test::identity());
  REQUIRE(found);
  const test::Mapping mapping = test::mapping_of(found.module->segment(1, 0).data);
  CHECK(mapping.mode == "r--s");
  CHECK(mapping.file.find(object_name(found.module->key())) != std::string::npos);
}

TEST_CASE("a store misses every identity but the one it holds") {
  const TempFolder dir;
  const auto store = open_store(dir.path());
  put(*store, test::identity());
  for (const auto& [name, change] : test::every_change()) {
    ModuleIdentity other = test::identity();
    change(other);
    INFO(name);
    CHECK(miss_of(*store, other) == MissReason::kNotEncoded);
  }
  CHECK(store->find(test::identity()));
}

TEST_CASE("a file under the name of another identity is a mismatch and set aside") {
  for (const auto& [name, change] : test::every_change()) {
    const TempFolder dir;
    const auto store = open_store(dir.path());
    const ModuleKey key = put(*store, test::identity());
    ModuleIdentity other = test::identity();
    change(other);
    fs::rename(test::object_path(dir.path(), key), test::object_path(dir.path(), key_of(other)));
    INFO(name);
    CHECK(store->verify(key_of(other)).error().code == Code::kMismatch);
    CHECK(store->inspect(key_of(other)).error().code == Code::kMismatch);
    CHECK(miss_of(*store, other) == MissReason::kMismatch);
    CHECK(miss_of(*store, other) == MissReason::kNotEncoded);
    CHECK(fs::exists(dir.path() + "/v3/quarantine/" + object_name(key_of(other))));
  }
}

TEST_CASE("a damaged file is a named miss, set aside, and can be made anew") {
  const ModuleIdentity id = test::identity();
  const ModuleHandle made = test::make_module(id);
  const std::string whole(reinterpret_cast<const char*>(made->bytes().data()),
                          made->bytes().size());
  const std::size_t size = whole.size();
  const auto damage = GENERATE_COPY(0, 1, 2, 3, 4, 5, 6, 7);
  const TempFolder dir;
  const auto store = open_store(dir.path());
  const std::string path = test::object_path(dir.path(), put(*store, id));
  ::chmod(path.c_str(), 0600);
  switch (damage) {
    case 0:
      overwrite(path, 0, "X");
      break;
    case 1:
      overwrite(path, 700, "X");
      break;
    case 2:
      overwrite(path, size - 1, "X");
      break;
    case 3:
      fs::resize_file(path, size - 1);
      break;
    case 4:
      fs::resize_file(path, size + 1);
      break;
    case 5:
      fs::resize_file(path, 0);
      break;
    case 6:  // two pages of the payload, swapped
      overwrite(path, 4096, whole.substr(8192, 4096) + whole.substr(4096, 4096));
      break;
    case 7:
      overwrite(path, 8192, std::string(4096, '\0'));
      break;
  }
  CHECK(miss_of(*store, id) == MissReason::kCorrupt);
  CHECK(fs::exists(dir.path() + "/v3/quarantine/" + object_name(key_of(id))));
  CHECK(miss_of(*store, id) == MissReason::kNotEncoded);
  put(*store, id);
  CHECK(store->find(id));
}

TEST_CASE("publish replaces a damaged winner and keeps a sound one") {
  const TempFolder dir;
  const auto store = open_store(dir.path());
  const ModuleHandle module = test::make_module(test::identity());
  const ModuleKey key = put(*store, test::identity());
  struct stat first {
  }, second{}, third{};
  const std::string path = test::object_path(dir.path(), key);
  REQUIRE(::stat(path.c_str(), &first) == 0);
  REQUIRE(store->publish(module).ok());
  REQUIRE(::stat(path.c_str(), &second) == 0);
  CHECK(first.st_ino == second.st_ino);
  overwrite(path, 5000, "X");
  REQUIRE(store->publish(module).ok());
  REQUIRE(::stat(path.c_str(), &third) == 0);
  CHECK(third.st_ino != first.st_ino);
  CHECK(store->verify(key).ok());
}

TEST_CASE("a file of another format version is a miss and is left alone") {
  const TempFolder dir;
  const auto store = open_store(dir.path());
  const ModuleKey key = put(*store, test::identity());
  const std::string path = test::object_path(dir.path(), key);
  overwrite(path, offsetof(ModuleHeader, version), std::string(1, '\7'));
  CHECK(miss_of(*store, test::identity()) == MissReason::kVersion);
  CHECK(miss_of(*store, test::identity()) == MissReason::kVersion);
  const auto published = store->publish(test::make_module(test::identity()));
  REQUIRE(!published.ok());
  CHECK(published.error().code == Code::kUnsupported);
  CHECK(fs::exists(path));
}

TEST_CASE("links, pipes, directories and files of everybody are never opened as modules") {
  const TempFolder dir;
  const auto store = open_store(dir.path());
  const ModuleIdentity id = test::identity();
  const std::string path = test::object_path(dir.path(), put(*store, id));
  fs::rename(path, dir.path() + "/elsewhere");
  SECTION("link") {
    fs::create_symlink(dir.path() + "/elsewhere", path);
  }
  SECTION("pipe") {
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  }
  SECTION("directory") {
    fs::create_directory(path);
  }
  SECTION("writable by all") {
    fs::rename(dir.path() + "/elsewhere", path);
    ::chmod(path.c_str(), 0666);
  }
  CHECK(miss_of(*store, id) == MissReason::kUnreadable);
  CHECK(!store->publish(test::make_module(id)).ok());
}

TEST_CASE("foreign names in the directory are ignored") {
  const TempFolder dir;
  const auto store = open_store(dir.path());
  const ModuleKey key = put(*store, test::identity());
  const std::string objects = dir.path() + "/v3/objects/";
  for (const std::string& name :
       {std::string("README"), std::string(".hidden"), key.hex(), key.hex() + ".module~",
        "A" + key.hex().substr(1) + ".module", std::string(64, 'g') + ".module",
        std::string(200, 'a'), std::string("..module")}) {
    std::ofstream(objects + name) << "x";
  }
  fs::create_directory(objects + std::string(64, '0') + ".module");
  fs::create_symlink("/dev/zero", objects + std::string(64, '1') + ".module");
  REQUIRE(::mkfifo((objects + std::string(64, '2') + ".module").c_str(), 0600) == 0);
  const auto entries = store->list().value();
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].key == key.digest);
  CHECK(store->gc(0).value().removed_files == 1);
  CHECK(fs::exists(objects + "README"));
}

TEST_CASE("a read-only store serves hits and changes nothing") {
  const TempFolder dir;
  const ModuleKey key = put(*open_store(dir.path()), test::identity());
  put(*open_store(dir.path()), test::identity(1));
  overwrite(test::object_path(dir.path(), key_of(test::identity(1))), 5000, "X");
  const std::string before = fingerprint(dir.path());
  const auto store = open_read_only(dir.path());
  CHECK(!store->writable());
  CHECK(store->find(test::identity()));
  CHECK(miss_of(*store, test::identity(1)) == MissReason::kCorrupt);
  CHECK(miss_of(*store, test::identity(2)) == MissReason::kNotEncoded);
  CHECK(!store->lock(key, std::chrono::milliseconds(0)).held());
  CHECK(store->publish(test::make_module(test::identity(2))).error().code == Code::kIo);
  CHECK(!store->remove(key).ok());
  CHECK(!store->gc(0).ok());
  CHECK(store->list().value().size() == 2);
  CHECK(fingerprint(dir.path()) == before);
}

// A directory that may not be written: as another user, since root may write anywhere.
TEST_CASE("a directory without write permission is served read-only") {
  if (::geteuid() != 0) {
    std::puts("skipped: needs root to become another user");
    return;
  }
  const TempFolder dir;
  put(*open_store(dir.path()), test::identity());
  constexpr uid_t kNobody = 65534;
  for (const auto& entry : fs::recursive_directory_iterator(dir.path())) {
    REQUIRE(::chown(entry.path().c_str(), kNobody, kNobody) == 0);
    if (entry.is_directory()) REQUIRE(::chmod(entry.path().c_str(), 0500) == 0);
  }
  REQUIRE(::chown(dir.path().c_str(), kNobody, kNobody) == 0);
  const std::string before = fingerprint(dir.path());
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) ::_exit(1);
    const auto store = ModuleStore::open({.dir = dir.path()});
    if (!store.ok()) ::_exit(2);
    if ((*store)->writable()) ::_exit(3);
    if (!(*store)->find(test::identity())) ::_exit(4);
    if ((*store)->find(test::identity(1))) ::_exit(5);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(fingerprint(dir.path()) == before);
}

TEST_CASE("copies of a file's bytes go by the name of that file, not of its key") {
  const TempFolder dir;
  const ModuleIdentity id = test::identity();
  const ModuleHandle made = test::make_module(id);
  CHECK(made->instance() == made->key().digest);
  const ModuleHandle first = open_store(dir.path())->publish(made).value();
  const Digest name = first->instance();
  CHECK(name != made->instance());
  CHECK(open_store(dir.path())->find(id).module->instance() == name);
  REQUIRE(open_store(dir.path())->remove(made->key()).ok());
  const ModuleHandle second = open_store(dir.path())->publish(made).value();
  CHECK(second->key() == first->key());
  CHECK(second->instance() != name);
}

TEST_CASE("each reason has a name of its own") {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(MissReason::kDisabled); ++i)
    names.insert(miss_name(static_cast<MissReason>(i)));
  CHECK(names.size() == static_cast<std::size_t>(MissReason::kDisabled) + 1);
  CHECK(!names.contains("unknown"));
}

TEST_CASE("who stands in for a stopped worker has a lock of his own") {
  const TempFolder dir;
  const auto store = open_store(dir.path()), other = open_store(dir.path());
  const ModuleKey key = key_of(test::identity());
  constexpr std::chrono::milliseconds kNow(0);
  const FileLock worker = store->lock(key, kNow), stand_in = other->lock(key, kNow, 1);
  CHECK((worker.held() && stand_in.held()));
  for (const unsigned taken : {0u, 1u})
    CHECK(other->lock(key, kNow, taken).state() == LockState::kBusy);
}

TEST_CASE("a store that cannot be opened says why") {
  const TempFolder dir;
  CHECK(ModuleStore::open({.dir = dir.path() + "/none", .read_only = true}).error().code ==
        Code::kNotFound);
  CHECK(ModuleStore::open({.dir = ""}).error().code == Code::kInvalidArgument);
  std::ofstream(dir.path() + "/file") << "x";
  CHECK(ModuleStore::open({.dir = dir.path() + "/file"}).error().code == Code::kIo);
  CHECK(ModuleStore::open({.dir = dir.path() + "/file/below"}).error().code == Code::kIo);
  const auto impossible = ModuleStore::open({.dir = "/proc/none/store"});
  CHECK_THAT(impossible.error().message, Catch::Contains("choose another directory"));
  fs::create_directory(dir.path() + "/empty");
  const auto empty = open_read_only(dir.path() + "/empty");
  CHECK(miss_of(*empty, test::identity()) == MissReason::kNotEncoded);
  CHECK(empty->list().value().empty());
  fs::create_directory(dir.path() + "/linked");
  fs::create_directory_symlink("/tmp", dir.path() + "/linked/v3");
  CHECK(ModuleStore::open({.dir = dir.path() + "/linked"}).error().code == Code::kIo);
}

TEST_CASE("a stamp saves the second check in one boot, and no change escapes it") {
  const TempFolder dir;
  const ModuleIdentity id = test::identity();
  const ModuleKey key = test::make_module(id)->key();
  const std::string path = test::object_path(dir.path(), key);
  const std::string stamp_path = dir.path() + "/v3/used/" + key.hex();
  const auto stamp = [&] {
    std::ifstream file(stamp_path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  std::chrono::steady_clock::time_point begin;
  do {  // until it was quick enough for the file to be too young to tell two changes apart
    fs::remove(path);
    fs::remove(stamp_path);
    begin = std::chrono::steady_clock::now();
    put(*open_store(dir.path()), id);
  } while (std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(50));
  CHECK(stamp().empty());
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  CHECK(open_store(dir.path())->find(id));
  const std::string good = stamp();
  CHECK_THAT(good, Catch::Contains("verified"));

  // Change the payload and give back the old time of modification.
  struct stat before {
  }, after{};
  REQUIRE(::stat(path.c_str(), &before) == 0);
  overwrite(path, 5000, "X");
  const timespec times[2] = {before.st_atim, before.st_mtim};
  ::utimensat(AT_FDCWD, path.c_str(), times, 0);
  SECTION("the change shows, and the payload is checked") {
    CHECK(miss_of(*open_store(dir.path()), id) == MissReason::kCorrupt);
  }
  SECTION("only a forged stamp hides it, until verify or the next boot") {
    REQUIRE(::stat(path.c_str(), &after) == 0);
    const auto text = [](const struct stat& st) {
      return std::to_string(std::int64_t{st.st_ctim.tv_sec} * 1'000'000'000 + st.st_ctim.tv_nsec);
    };
    std::string forged = good;
    forged.replace(forged.find(text(before)), text(before).size(), text(after));
    std::ofstream(stamp_path) << forged;
    CHECK(open_store(dir.path())->find(id));
    CHECK(open_store(dir.path())->verify(key).error().code == Code::kCorrupt);
    forged[forged.find("boot=") + 5] ^= 1;
    std::ofstream(stamp_path) << forged;
    CHECK(miss_of(*open_store(dir.path()), id) == MissReason::kCorrupt);
  }
}

TEST_CASE("verify reads every byte and changes nothing") {
  const TempFolder dir;
  const auto store = open_store(dir.path());
  const ModuleKey key = put(*store, test::identity());
  CHECK(store->verify(key).value()->key() == key);
  CHECK(store->verify(key_of(test::identity(9))).error().code == Code::kNotFound);
  const std::string path = test::object_path(dir.path(), key);
  const std::size_t size = fs::file_size(path);
  std::size_t missed = 0;
  for (std::size_t i = 0; i < size; i += 97) {
    std::ifstream file(path);
    file.seekg(static_cast<std::streamoff>(i));
    const char byte = static_cast<char>(file.get());
    overwrite(path, i, std::string(1, static_cast<char>(byte ^ 4)));
    missed += store->verify(key).ok();
    missed += i < kPayloadAlign && store->inspect(key).ok();
    overwrite(path, i, std::string(1, byte));
  }
  CHECK(missed == 0);
  CHECK(store->verify(key).ok());
  CHECK(store->inspect(key).value()->tokens().size() == 22);
}

TEST_CASE("publishing by a named temporary file keeps the same promises") {
  const TempFolder path;
  const CacheFolder folder = test::open_folder(path.path());
  const ModuleHandle module = test::make_module(test::identity());
  const auto publish = [&](std::span<const std::byte> bytes) {
    return folder.publish(module->key().digest, bytes, Durability::kData, Staging::kNamed).value();
  };
  CHECK(publish(module->bytes()) == Published::kNew);
  CHECK(publish(module->bytes().first(100)) == Published::kExists);
  CHECK(fs::is_empty(path.path() + "/v3/tmp"));
  CHECK(open_store(path.path())->find(test::identity()));
}

TEST_CASE("threads share one store") {
  const TempFolder dir;
  const std::uint64_t size = test::make_module(test::identity())->bytes().size();
  const auto store = open_store(dir.path(), 4 * size);
  std::vector<ModuleHandle> made;
  for (int i = 0; i < 6; ++i) made.push_back(test::make_module(test::identity(i)));
  std::atomic<int> wrong{0}, hits{0};
  const auto work = [&](int seed) {
    for (int round = 0; round < 60; ++round) {
      const int i = (seed * 7 + round * 5) % 6;
      Lookup found = store->find(test::identity(i));
      if (!found) {
        const FileLock lock = store->lock(made[i]->key(), std::chrono::seconds(10));
        const auto published = store->publish(made[i]);
        wrong += !published.ok() && !test::may_happen(published.error());
      } else {
        ++hits;
        wrong += !std::ranges::equal(found.module->bytes(), made[i]->bytes());
      }
      if (round % 20 == seed) (void)store->gc(2 * size);
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(work, t);
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(hits > 0);
  for (const ModuleHandle& module : made) CHECK(store->publish(module).ok());
}

}  // namespace
}  // namespace pc
