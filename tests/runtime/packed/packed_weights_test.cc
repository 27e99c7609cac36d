// Packed weights in their file: what is mapped is what was packed, whatever the
// file was before, whoever else is at it.

#include "runtime/packed/packed_weights.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/packed/packed_folder.h"
#include "simd/kernels.h"
#include "simd/packed/packed.h"
#include "tests/runtime/packed/packed_cache.h"
#include "tests/runtime/packed/quantised_model.h"
#include "tests/support/file_faults.h"
#include "tests/support/temp_folder.h"

namespace pc::test {
namespace {

// Every weight of every matrix that can be packed is the stored one.
bool holds(const PackedWeights& packed, const pc_model_desc& desc) {
  for (const pc_tensor& w : packable_matrices(desc)) {
    const std::byte* data = packed.find(w.data);
    if (!data || reinterpret_cast<std::uintptr_t>(data) % 64 != 0) return false;
    const auto type = static_cast<simd::Type>(w.dtype);
    std::vector<float> wide(std::size_t{w.rows} * w.cols);
    simd::kScalarKernels.to_f32(w.data, type, wide.size(), wide.data());
    for (std::size_t r = 0; r < w.rows; r += 7) {
      for (std::size_t c = 0; c < w.cols; c += 5) {
        if (simd::packed_element(type, data, w.cols, r, c) != wide[r * w.cols + c]) return false;
      }
    }
  }
  return true;
}

PackedWeights open(const QuantisedModel& model, const PackOptions& options) {
  auto packed = PackedWeights::open(model.desc, options, Parallel(1));
  if (!packed.ok()) FAIL(packed.error().message);
  return std::move(packed).value();
}

bool opens(const QuantisedModel& model, const PackOptions& options) {
  return PackedWeights::open(model.desc, options, Parallel(1)).ok();
}

TEST_CASE("weights are packed once, then mapped") {
  const QuantisedModel model(1);
  const Cache cache;
  const PackedWeights first = open(model, cache.options);
  CHECK(holds(first, model.desc));
  CHECK(cache.is_tidy());
  CHECK((fs::status(cache.file()).permissions() & fs::perms::all) == fs::perms::owner_read);
  const ino_t made = inode(cache.file());
  const PackedWeights second = open(model, cache.options);
  CHECK(holds(second, model.desc));
  CHECK(inode(cache.file()) == made);

  // Each of the slices of a fused matrix is one of its own; what is no matrix of
  // a product, or of no quantised type, is not there.
  CHECK(packable_matrices(model.desc).size() == 2 * 7 + 1);
  CHECK(first.find(model.desc.final_norm.data) == nullptr);
  CHECK(first.find(nullptr) == nullptr);
}

TEST_CASE("several threads write the file that one writes") {
  const QuantisedModel model(2);
  const Cache one, four;
  (void)open(model, one.options);
  REQUIRE(PackedWeights::open(model.desc, four.options, Parallel(4)).ok());
  CHECK(read(one.file()) == read(four.file()));
}

TEST_CASE("a model without quantised matrices needs no file") {
  const QuantisedModel model(3);
  pc_model_desc desc = model.desc;
  desc.n_layers = 0;
  desc.lm_head = {};
  const Cache cache;
  const auto packed = PackedWeights::open(desc, cache.options, Parallel(1));
  REQUIRE(packed.ok());
  CHECK(packed->empty());
  CHECK(fs::is_empty(cache.folder.path()));
}

TEST_CASE("another model, or its weights changed: another file") {
  const QuantisedModel model(4), larger(4, 3), other(5);
  Cache cache;
  CHECK(holds(open(model, cache.options), model.desc));
  CHECK(holds(open(larger, cache.options), larger.desc));
  cache.options.weights.fill(8);
  CHECK(holds(open(other, cache.options), other.desc));
  CHECK(cache.files().size() == 3);
}

TEST_CASE("a file that is not what was written is made anew") {
  const QuantisedModel model(6), other(7);
  const Cache cache;
  (void)open(model, cache.options);
  const std::string sound = read(cache.file());
  const auto is_remade = [&](const std::string& bytes) {
    const fs::path path = cache.file();
    rewrite(path, bytes);
    const bool good = holds(open(model, cache.options), model.desc);
    return good && read(cache.file()) == sound && cache.is_tidy();
  };
  const auto with = [&](std::size_t at, char bits) {
    std::string wrong = sound;
    wrong[at] = static_cast<char>(wrong[at] ^ bits);
    return wrong;
  };
  PackedHeader header;
  std::memcpy(&header, sound.data(), sizeof header);

  SECTION("torn: the header was not written yet") {
    CHECK(is_remade(std::string(sizeof header, '\0') + sound.substr(sizeof header)));
  }
  SECTION("cut off") {
    for (const std::size_t n :
         {std::size_t{0}, std::size_t{100}, sizeof header, std::size_t{4096}, sound.size() - 1})
      CHECK(is_remade(sound.substr(0, n)));
  }
  SECTION("longer") {
    CHECK(is_remade(sound + "x"));
  }
  SECTION("a bit of the header, the tables, the padding, the payload") {
    for (const std::size_t at : {0u, 8u, 12u, 20u, 24u, 28u, 32u, 40u, 48u, 56u, 88u, 120u, 160u,
                                 192u, 204u, 500u, 4095u, 4096u})
      CHECK(is_remade(with(at, 1)));
    CHECK(is_remade(with(sound.size() - 1, 64)));
  }
  SECTION("a sound file of another version") {
    header.pack_version += 1;
    std::string wrong = sound;
    std::memcpy(wrong.data(), &header, sizeof header);
    CHECK(is_remade(wrong));
  }
  SECTION("the sound file of another model") {
    Cache theirs;
    theirs.options.weights.fill(9);
    (void)open(other, theirs.options);
    CHECK(is_remade(read(theirs.file())));
  }
}

TEST_CASE("every single byte of a file's head is believed only as it was written") {
  const QuantisedModel model(8, 1);
  const Cache cache;
  (void)open(model, cache.options);
  std::string bytes = read(cache.file());
  REQUIRE(PackedFile::open(std::as_bytes(std::span(bytes))).ok());
  for (std::size_t at = 0; at < 4096; ++at) {
    bytes[at] = static_cast<char>(bytes[at] ^ 0x20);
    INFO("byte " << at);
    REQUIRE_FALSE(PackedFile::open(std::as_bytes(std::span(bytes))).ok());
    bytes[at] = static_cast<char>(bytes[at] ^ 0x20);
  }
}

TEST_CASE("the payload is summed once a boot, as long as the file stays the same") {
  const QuantisedModel model(9);
  Cache cache;
  cache.options.settle = PackOptions().settle;
  (void)open(model, cache.options);
  const std::string stamp =
      cache.folder.path() + "/packed/used/" + cache.file().filename().string();
  REQUIRE(fs::exists(stamp));
  CHECK(read(stamp).starts_with("verified boot="));
  SECTION("a change of the file's times sums it again, and finds the damage") {
    std::string wrong = read(cache.file());
    wrong.back() = static_cast<char>(wrong.back() ^ 1);
    rewrite(cache.file(), wrong);
    cache.options.writable = false;
    CHECK_FALSE(opens(model, cache.options));
  }
  SECTION("a stamp of another boot counts as none, and the file is sound") {
    rewrite(stamp, "verified boot=another\n");
    ::chmod(stamp.c_str(), 0600);
    CHECK(holds(open(model, cache.options), model.desc));
    CHECK(read(stamp) != "verified boot=another\n");
  }
}

TEST_CASE("where nothing may be written a file is used, and none is made") {
  const QuantisedModel model(10);
  Cache cache;
  cache.options.writable = false;
  const auto missing = PackedWeights::open(model.desc, cache.options, Parallel(1));
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().code == Code::kNotFound);
  CHECK(fs::is_empty(cache.folder.path()));

  cache.options.writable = true;
  (void)open(model, cache.options);
  const auto stamps = fs::directory_iterator(cache.folder.path() + "/packed/used");
  REQUIRE(std::distance(begin(stamps), end(stamps)) == 1);
  cache.options.writable = false;
  CHECK(holds(open(model, cache.options), model.desc));
  const std::string damaged = read(cache.file()).substr(0, 5000);
  rewrite(cache.file(), damaged);
  CHECK_FALSE(opens(model, cache.options));
  CHECK(read(cache.file()) == damaged);
}

TEST_CASE("what stands in the way is an error, and nothing is left behind") {
  const QuantisedModel model(11);
  Cache cache;
  SECTION("no such directory") {
    cache.options.cache_dir += "/never";
    CHECK_FALSE(opens(model, cache.options));
  }
  SECTION("the folder's name is taken by a link or a file") {
    const TempFolder elsewhere;
    fs::create_directory_symlink(elsewhere.path(), cache.folder.path() + "/packed");
    CHECK_FALSE(opens(model, cache.options));
    CHECK(fs::is_empty(elsewhere.path()));
    fs::remove(cache.folder.path() + "/packed");
    cache.folder.write("packed", "a file");
    CHECK_FALSE(opens(model, cache.options));
  }
  SECTION("the file's name is taken by what is none") {
    (void)open(model, cache.options);
    const fs::path path = cache.file();
    fs::remove(path);
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    CHECK_FALSE(opens(model, cache.options));
  }
  SECTION("written by others") {
    (void)open(model, cache.options);
    ::chmod(cache.file().c_str(), 0422);
    CHECK_FALSE(opens(model, cache.options));
  }
  SECTION("of a stranger: neither used nor removed, sound or not") {
    (void)open(model, cache.options);
    const fs::path path = cache.file();
    if (::chown(path.c_str(), 12345, 12345) != 0) {
      std::puts("skipped: needs the right to give files away");
      return;
    }
    const ino_t theirs = inode(path);
    CHECK_FALSE(opens(model, cache.options));
    rewrite(path, "damaged");
    const auto packed = PackedWeights::open(model.desc, cache.options, Parallel(1));
    REQUIRE_FALSE(packed.ok());
    CHECK(packed.error().message.find("belongs to another user") != std::string::npos);
    CHECK(inode(path) == theirs);
    CHECK(cache.is_tidy());
  }
  SECTION("another process packs for longer than anybody waits") {
    (void)open(model, cache.options);
    fs::remove(cache.file());
    auto folder = open_packed_folder(cache.folder.path(), true);
    REQUIRE(folder.ok());
    const FileLock theirs = lock_packed(*folder, {});
    REQUIRE(theirs.held());
    cache.options.patience = std::chrono::milliseconds(20);
    const auto packed = PackedWeights::open(model.desc, cache.options, Parallel(1));
    REQUIRE_FALSE(packed.ok());
    CHECK(packed.error().code == Code::kBudget);
    CHECK(cache.files().empty());
  }
}

TEST_CASE("a file that a disk does not read for a while stays, and is used afterwards") {
  const QuantisedModel model(11);
  const Cache cache;
  (void)open(model, cache.options);
  const auto before = inode(cache.file());
  for (const auto& stamp : fs::directory_iterator(cache.folder.path() + "/packed/used"))
    fs::remove(stamp.path());
  fail_reads(EIO, -1);
  CHECK_FALSE(opens(model, cache.options));
  fail_reads(0, 0);
  CHECK(inode(cache.file()) == before);
  CHECK(opens(model, cache.options));
  CHECK(inode(cache.file()) == before);
}

TEST_CASE("a full disk leaves no file") {
  const QuantisedModel model(12);
  const Cache cache;
  if (::mount("none", cache.folder.path().c_str(), "tmpfs", 0, "size=128k,mode=0700") != 0) {
    std::puts("skipped: needs the right to mount a tmpfs");
    return;
  }
  const auto packed = PackedWeights::open(model.desc, cache.options, Parallel(1));
  REQUIRE_FALSE(packed.ok());
  CHECK(packed.error().message.find("No space left") != std::string::npos);
  CHECK(cache.files().empty());
  REQUIRE(::umount(cache.folder.path().c_str()) == 0);
}

TEST_CASE("what a killed packer left where files have no anonymous form goes with the next") {
  const QuantisedModel model(16);
  const Cache cache;
  fs::create_directories(cache.folder.path() + "/packed");
  cache.folder.write("packed/12.34.5", "unfinished");
  CHECK(holds(open(model, cache.options), model.desc));
  CHECK(cache.is_tidy());
}

TEST_CASE("of four processes one makes the file, all use it") {
  const QuantisedModel model(13);
  const Cache cache;
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      const auto packed = PackedWeights::open(model.desc, cache.options, Parallel(1));
      ::_exit(packed.ok() && holds(*packed, model.desc) ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK(cache.is_tidy());
}

TEST_CASE("a process that is killed while it packs leaves nothing that is believed") {
  const QuantisedModel model(14, 6);
  const Cache cache;
  for (const useconds_t after_us : {0u, 500u, 1000u, 2000u, 4000u, 8000u}) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(opens(model, cache.options) ? 0 : 1);
    ::usleep(after_us);
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    CHECK(holds(open(model, cache.options), model.desc));
    fs::remove(cache.file());
  }
}

TEST_CASE("files that nobody uses go, and those in use stay") {
  const QuantisedModel model(15), larger(15, 3);
  const Cache cache;
  const PackedWeights used = open(model, cache.options);
  const fs::path in_use = cache.file();
  (void)open(larger, cache.options);
  auto folder = open_packed_folder(cache.folder.path(), true);
  REQUIRE(folder.ok());
  const auto listed = list_packed(*folder);
  REQUIRE(listed.size() == 2);
  CHECK((listed[0].weights == cache.options.weights && listed[1].weights == cache.options.weights));
  CHECK(collect_packed(*folder).removed_files == 0);

  const timespec month_ago[2] = {{::time(nullptr) - 31 * 24 * 3600, 0},
                                 {::time(nullptr) - 31 * 24 * 3600, 0}};
  const std::string packed = cache.folder.path() + "/packed/";
  SECTION("unused for long") {
    for (const fs::path& path : cache.files()) {
      ::utimensat(AT_FDCWD, path.c_str(), month_ago, 0);
      ::utimensat(AT_FDCWD, (packed + "used/" + path.filename().string()).c_str(), month_ago, 0);
    }
    const EvictionReport report = collect_packed(*folder);
    CHECK((report.removed_files == 1 && report.in_use_files == 1));
    CHECK(cache.file() == in_use);
  }
  SECTION("of an older version; what a crash left; names that are not ours stay") {
    std::string older = read(in_use).substr(0, 4096);
    older[20] = 0;  // pack_version
    rewrite(packed + std::string(64, 'a'), older);
    rewrite(packed + "12.34.5", "unfinished");
    rewrite(packed + "README", "theirs");
    ::utimensat(AT_FDCWD, (packed + "12.34.5").c_str(), month_ago, 0);
    ::utimensat(AT_FDCWD, (packed + "README").c_str(), month_ago, 0);
    CHECK(collect_packed(*folder).removed_files == 1);
    CHECK(cache.files().size() == 2);
    CHECK_FALSE(fs::exists(packed + "12.34.5"));
    CHECK(fs::exists(packed + "README"));
  }
  SECTION("every byte can be checked, also of what nobody uses") {
    for (const PackedEntry& entry : listed)
      CHECK(verify_packed(*folder, entry.key, Parallel(1)).ok());
    std::string wrong = read(in_use);
    wrong.back() = static_cast<char>(wrong.back() ^ 1);
    const std::string other = packed + std::string(64, 'b');
    rewrite(other, wrong);
    const auto verdict = [&] {
      return verify_packed(*folder, {*from_hex(std::string(64, 'b'))}, Parallel(1)).error().code;
    };
    CHECK(verdict() == Code::kMismatch);
    rewrite(other, wrong.substr(0, 8000));
    CHECK(verdict() == Code::kCorrupt);
    fs::remove(other);
    CHECK(verdict() == Code::kNotFound);
  }
  SECTION("none is removed through a folder that was opened to be read") {
    const auto reading = open_packed_folder(cache.folder.path(), false);
    REQUIRE(reading.ok());
    for (const PackedEntry& entry : listed)
      CHECK(reading->remove(entry.key).error().code == Code::kIo);
    CHECK(collect_packed(*reading).removed_files == 0);
    CHECK(cache.files().size() == 2);
  }
  SECTION("all are removed, and who has one mapped keeps it") {
    for (const PackedEntry& entry : listed) CHECK(folder->remove(entry.key).ok());
    CHECK(cache.files().empty());
    const Status again = folder->remove(listed[0].key);
    CHECK((!again.ok() && again.error().code == Code::kNotFound));
    CHECK(fs::is_empty(packed + "used"));
  }
  CHECK(holds(used, model.desc));
}

}  // namespace
}  // namespace pc::test
