// Remembered or computed, the digest is that of the bytes that are there.
#include "runtime/model/remembered_digest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>
#include <thread>

#include "runtime/model/model_digest.h"
#include "tests/support/temp_folder.h"

using namespace pc;
using namespace pc::test;

namespace fs = std::filesystem;

namespace {

// A tick of the slowest clock of a file system here: later changes show.
void wait_a_tick() {
  std::this_thread::sleep_for(std::chrono::milliseconds(25));
}

// Two files of one tensor each, as a checkpoint of two shards.
struct Shards {
  TempFolder folder;
  TempFolder cache;
  DigestMemory memory{cache.path(), true, 0};  // files count as settled at once

  Shards() {
    write("a", {1, 2, 3});
    write("b", {4, 5, 6});
    wait_a_tick();
  }
  std::string path(const std::string& name) const { return folder.path() + "/" + name; }
  void write(const std::string& name, const std::vector<float>& values) const {
    folder.write(name, {reinterpret_cast<const char*>(values.data()), 4 * values.size()});
  }
  Checkpoint open() const {
    Checkpoint checkpoint;
    for (const char* name : {"a", "b"}) {
      auto file = MappedFile::open(path(name));
      REQUIRE(file.ok());
      const auto bytes = file->bytes();
      checkpoint.tensors[name] = {"F32", {bytes.size() / 4}, bytes, path(name)};
      checkpoint.files.push_back(std::move(file).value());
    }
    return checkpoint;
  }
  Digest digest() const {
    const auto found = tensor_digest(open(), memory);
    if (!found.ok()) FAIL(found.error().message);
    return *found;
  }
  bool is_remembered() const { return recall_digest(open().files, memory).has_value(); }

  std::vector<fs::path> records() const {
    std::vector<fs::path> found;
    if (!fs::exists(cache.path() + "/models")) return found;
    for (const auto& entry : fs::directory_iterator(cache.path() + "/models"))
      found.push_back(entry.path());
    return found;
  }
  fs::path record() const {
    REQUIRE(records().size() == 1);
    return records().front();
  }
};

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// As something other than the writer would: in place.
void rewrite(const fs::path& path, const std::string& text) {
  ::chmod(path.c_str(), 0600);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

void set_mtime(const std::string& path, const timespec& time) {
  const timespec times[2] = {time, time};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

timespec mtime(const std::string& path) {
  struct stat st {};
  REQUIRE(::stat(path.c_str(), &st) == 0);
  return st.st_mtim;
}

}  // namespace

TEST_CASE("nothing is remembered of a reading that was stopped") {
  const Shards shards;
  const auto stop = [](std::uint64_t, std::uint64_t) { return false; };
  const auto stopped = tensor_digest(shards.open(), shards.memory, {.progress = stop});
  REQUIRE_FALSE(stopped.ok());
  CHECK(stopped.error().code == Code::kCancelled);
  CHECK(shards.records().empty());
  shards.digest();
  CHECK(shards.is_remembered());
  CHECK(tensor_digest(shards.open(), shards.memory, {.progress = stop}).ok());  // nothing to stop
}

TEST_CASE("a digest is computed once, then recalled") {
  const Shards shards;
  CHECK_FALSE(shards.is_remembered());
  const Digest digest = shards.digest();
  CHECK(digest == scan_tensors(shards.open().tensors)->digest);
  CHECK(recall_digest(shards.open().files, shards.memory) == digest);
  CHECK(shards.digest() == digest);
  CHECK(shards.records().size() == 1);
}

TEST_CASE("a file that changed in any way has no remembered digest") {
  const Shards shards;
  const Digest before = shards.digest();
  REQUIRE(shards.is_remembered());
  wait_a_tick();
  const std::string b = shards.path("b");
  const timespec time = mtime(b);
  bool same_bytes = false;
  SECTION("touched") {
    set_mtime(b, {time.tv_sec - 100, 0});
    same_bytes = true;
  }
  SECTION("touched, and the time set back") {
    set_mtime(b, {time.tv_sec - 100, 0});
    set_mtime(b, time);
    same_bytes = true;
  }
  SECTION("rewritten in place") {
    shards.write("b", {4, 5, 7});
  }
  SECTION("rewritten in place, same size, and the time set back") {
    shards.write("b", {4, 5, 7});
    set_mtime(b, time);
  }
  SECTION("replaced by rename, same size and time") {
    shards.write("c", {4, 5, 7});
    set_mtime(shards.path("c"), time);
    fs::rename(shards.path("c"), b);
  }
  SECTION("longer") {
    shards.write("b", {4, 5, 6, 7});
  }
  SECTION("exchanged for the other") {
    fs::rename(b, shards.path("c"));
    fs::rename(shards.path("a"), b);
    fs::rename(shards.path("c"), shards.path("a"));
  }
  CHECK_FALSE(shards.is_remembered());
  CHECK((shards.digest() == before) == same_bytes);
  CHECK(shards.digest() == scan_tensors(shards.open().tensors)->digest);
}

TEST_CASE("a change while the files are open shows, whatever the path names") {
  const Shards shards;
  const Checkpoint open = shards.open();
  CHECK((open.files[0].is_unchanged() && open.files[1].is_unchanged()));
  wait_a_tick();
  SECTION("replaced: the bytes that are open stay") {
    shards.write("c", {7, 7, 7});
    fs::rename(shards.path("c"), shards.path("b"));
    CHECK(open.files[0].is_unchanged());
    CHECK(scan_tensors(open.tensors)->digest != scan_tensors(shards.open().tensors)->digest);
  }
  SECTION("overwritten, same size, before the digest is taken: not recorded") {
    const timespec time = mtime(shards.path("b"));
    const int fd = ::open(shards.path("b").c_str(), O_WRONLY);
    const float value = 7;
    REQUIRE(::pwrite(fd, &value, 4, 0) == 4);
    ::close(fd);
    set_mtime(shards.path("b"), time);
    CHECK_FALSE(open.files[1].is_unchanged());
    CHECK(tensor_digest(open, shards.memory).ok());
    CHECK(shards.records().empty());
  }
}

TEST_CASE("a file that changed just before it was read is not recorded") {
  Shards shards;
  shards.memory.settle_ns = DigestMemory().settle_ns;
  CHECK(shards.digest() == shards.digest());
  CHECK(shards.records().empty());
}

TEST_CASE("nothing is written where nothing may be, and records are read there") {
  Shards shards;
  SECTION("no cache directory") {
    shards.memory.cache_dir = "";
    shards.digest();
    CHECK_FALSE(shards.is_remembered());
  }
  SECTION("no such directory: it is made, for its owner alone") {
    shards.memory.cache_dir = shards.cache.path() + "/not/yet";
    shards.digest();
    CHECK(shards.is_remembered());
    CHECK(fs::status(shards.memory.cache_dir).permissions() == fs::perms::owner_all);
    shards.memory = {shards.cache.path() + "/never", false, 0};
    shards.digest();
    CHECK_FALSE(fs::exists(shards.memory.cache_dir));
  }
  SECTION("read-only") {
    shards.memory.writable = false;
    shards.digest();
    CHECK(shards.records().empty());
    shards.memory.writable = true;
    shards.digest();
    shards.memory.writable = false;
    CHECK(shards.is_remembered());
  }
  SECTION("the folder's name is taken by a link or a file") {
    const TempFolder elsewhere;
    fs::create_directory_symlink(elsewhere.path(), shards.cache.path() + "/models");
    shards.digest();
    CHECK(fs::is_empty(elsewhere.path()));
    fs::remove(shards.cache.path() + "/models");
    shards.cache.write("models", "a file");
    shards.digest();
    CHECK(fs::is_regular_file(shards.cache.path() + "/models"));
  }
}

TEST_CASE("a record that its writer would not have written is none, and is replaced") {
  const Shards shards;
  const Digest digest = shards.digest();
  const fs::path path = shards.record();
  const std::string text = read(path);
  const auto is_ignored = [&](const std::function<void()>& damage) {
    damage();
    const bool ignored = !shards.is_remembered();
    CHECK(shards.digest() == digest);
    CHECK(read(path) == text);
    return ignored;
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string wrong = text;
    wrong[at] ^= 1;
    INFO("byte " << at);
    REQUIRE(is_ignored([&] { rewrite(path, wrong); }));
  }
  for (std::size_t n = 0; n < text.size(); n += 7) {
    REQUIRE(is_ignored([&] { rewrite(path, text.substr(0, n)); }));
  }
  CHECK(is_ignored([&] { rewrite(path, text + "\n"); }));
  CHECK(is_ignored([&] { rewrite(path, text + std::string(100'000, 'x')); }));
  CHECK(is_ignored([&] { ::chmod(path.c_str(), 0420); }));
  CHECK(is_ignored([&] { ::chmod(path.c_str(), 0602); }));
  CHECK(is_ignored([&] {
    const std::string target = shards.cache.path() + "/target";
    rewrite(target, text);
    fs::remove(path);
    fs::create_symlink(target, path);
  }));
  CHECK(is_ignored([&] {
    fs::remove(path);
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  }));
}

TEST_CASE("a record of another user is none") {
  const Shards shards;
  if (::geteuid() != 0) {
    WARN("only root can give a file away: skipped");
    return;
  }
  shards.digest();
  REQUIRE(::chown(shards.record().c_str(), 12345, static_cast<gid_t>(-1)) == 0);
  CHECK_FALSE(shards.is_remembered());
}

TEST_CASE("the record of other files is none") {
  const Shards shards;
  shards.digest();
  const fs::path first = shards.record();
  const std::string text = read(first);
  wait_a_tick();
  shards.write("b", {4, 5, 7});
  wait_a_tick();
  shards.digest();
  for (const fs::path& path : shards.records()) {
    if (path != first) rewrite(path, text);
  }
  CHECK_FALSE(shards.is_remembered());
}

TEST_CASE("records that nobody uses go; others' names stay") {
  const Shards shards;
  const std::string models = shards.cache.path() + "/models/";
  const timespec month_ago{::time(nullptr) - 31 * 24 * 3600, 0};
  fs::create_directory(models);
  const std::string hex(64, 'a'), recent(64, 'b');
  for (const std::string& name : {hex, hex + ".77.0", std::string("README"), recent}) {
    rewrite(models + name, "x");
    if (name != recent) set_mtime(models + name, month_ago);
  }
  shards.digest();
  CHECK_FALSE(fs::exists(models + hex));
  CHECK_FALSE(fs::exists(models + hex + ".77.0"));
  CHECK(fs::exists(models + "README"));
  CHECK(fs::exists(models + recent));

  SECTION("use keeps a record young") {
    for (const fs::path& path : shards.records()) set_mtime(path.string(), month_ago);
    shards.digest();
    std::size_t young = 0;
    for (const fs::path& path : shards.records())
      young += mtime(path.string()).tv_sec > month_ago.tv_sec + 24 * 3600;
    CHECK(young == 1);
  }
}

TEST_CASE("weights that are not finite are refused by name, and not remembered") {
  const Shards shards;
  shards.write("b", {4, NAN, 6});
  wait_a_tick();
  for (int i = 0; i < 2; ++i) {
    const auto digest = tensor_digest(shards.open(), shards.memory);
    REQUIRE_FALSE(digest.ok());
    CHECK(digest.error().code == Code::kCorrupt);
    CHECK(digest.error().message.find(shards.path("b") + ": tensor \"b\" holds NaN") == 0);
  }
  CHECK(shards.records().empty());
  shards.write("a", {std::numeric_limits<float>::infinity()});
  CHECK(tensor_digest(shards.open(), shards.memory).error().message.find("and 1 more hold") !=
        std::string::npos);
}
