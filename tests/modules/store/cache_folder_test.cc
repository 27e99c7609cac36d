// The protocol of the file cache, with tenants that are made up here: one in folders of
// its own, one that has everything in a single folder.
#include "modules/store/cache_folder.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "tests/modules/store/rooms.h"

namespace pc {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using namespace test;

mode_t mode(const std::string& path) {
  struct stat st {};
  REQUIRE(::stat(path.c_str(), &st) == 0);
  return st.st_mode & 07777;
}

void set_time(const std::string& path, std::chrono::seconds age) {
  const timespec then{::time(nullptr) - age.count(), 0};
  const timespec times[2] = {then, then};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

std::size_t count(const std::string& path) {
  const fs::directory_iterator all(path);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST_CASE("folders are made as far as the access says, for their owner alone") {
  const TempFolder dir;
  const std::string cache = dir.path() + "/new/cache";
  const auto opened = [&](CacheAccess access) { return CacheFolder::open(cache, kRooms, access); };
  for (const auto access : {CacheAccess::kRead, CacheAccess::kWrite, CacheAccess::kMakeFolders})
    CHECK(opened(access).error().code == Code::kNotFound);
  CHECK(fs::is_empty(dir.path()));
  fs::create_directories(cache);
  for (const auto access : {CacheAccess::kRead, CacheAccess::kWrite}) {
    const auto none = opened(access);
    REQUIRE(none.ok());
    CHECK(!none->writable());
    CHECK(none->list().value().empty());
    CHECK(none->open_file(key(1)).error().code == Code::kNotFound);
    CHECK(none->remove(key(1)).error().code == Code::kNotFound);
  }
  CHECK(fs::is_empty(cache));
  fs::remove_all(dir.path() + "/new");
  REQUIRE(opened(CacheAccess::kMakeAll)->writable());
  CHECK(mode(cache) == 0700);
  for (const auto path : {kRooms.files, kRooms.used, kRooms.locks, kRooms.quarantine, kRooms.tmp})
    CHECK(mode(cache + "/" + std::string(path)) == 0700);
  CHECK(opened(CacheAccess::kWrite)->writable());
  CHECK(!opened(CacheAccess::kRead)->writable());
}

TEST_CASE("below the cache directory no link is followed") {
  const TempFolder dir, elsewhere;
  const std::string name = GENERATE("rooms", "rooms/files", "rooms/tmp");
  if (name != "rooms") fs::create_directory(dir.path() + "/rooms");
  fs::create_directory_symlink(elsewhere.path(), dir.path() + "/" + name);
  const auto folder = CacheFolder::open(dir.path(), kRooms, CacheAccess::kMakeFolders);
  CHECK((!folder.ok() || !folder->writable()));
  if (!folder.ok()) CHECK(folder.error().message.find("/" + name + ": ") != std::string::npos);
  CHECK(fs::is_empty(elsewhere.path()));
}

TEST_CASE("the first writer wins, whichever way the file is staged") {
  const auto tenant = GENERATE(kRooms, kSingle);
  const auto staging = GENERATE(Staging::kAnonymous, Staging::kNamed);
  const TempFolder dir;
  const CacheFolder folder = open(dir, tenant);
  CHECK(put(folder, key(1), "first", staging) == Published::kNew);
  CHECK(put(folder, key(1), "second", staging) == Published::kExists);
  const std::string path = folder.path_of(key(1));
  CHECK(path == dir.path() + "/" + std::string(tenant.files) + "/" + to_hex(key(1)) +
                    std::string(tenant.suffix));
  CHECK(read(path) == "first");
  CHECK(mode(path) == 0400);
  CHECK(count(fs::path(path).parent_path()) == 1);
  CHECK(count(dir.path() + "/" + std::string(tenant.tmp)) == (tenant.tmp == tenant.files));
}

TEST_CASE("a file is written where it will be read, and is nobody's until it has its name") {
  const auto tenant = GENERATE(kRooms, kSingle);
  const TempFolder dir;
  const CacheFolder folder = open(dir, tenant);
  const auto draft_of = [&](const std::string& text) {
    auto draft = folder.draft(text.size());
    REQUIRE(draft);
    REQUIRE(draft->bytes().size() == text.size());
    CHECK(std::ranges::all_of(draft->bytes(), [](std::byte b) { return b == std::byte{0}; }));
    std::ranges::copy(std::as_bytes(std::span(text)), draft->bytes().begin());
    draft->end_writing();
    return draft;
  };
  const std::string text(100'000, 'x');
  draft_of(text);  // is never published
  CHECK(folder.list().value().empty());
  const auto first = draft_of(text), second = draft_of("too late");
  CHECK(folder.list().value().empty());
  CHECK(folder.publish(key(1), *first, Durability::kData).value() == Published::kNew);
  CHECK(folder.publish(key(1), *second, Durability::kNone).value() == Published::kExists);
  CHECK(read(folder.path_of(key(1))) == text);
  CHECK(mode(folder.path_of(key(1))) == 0400);
  CHECK(count(fs::path(folder.path_of(key(1))).parent_path()) == 1);
}

TEST_CASE("where nothing may be written, or no room is left, there is no draft") {
  const TempFolder dir;
  CHECK(open(dir, kRooms).draft(1ull << 60) == nullptr);
  CHECK(count(dir.path() + "/rooms/files") == 0);
  CHECK(open(dir, kRooms, CacheAccess::kRead).draft(10) == nullptr);
}

TEST_CASE("a writer that fails leaves nothing, and says why") {
  const auto staging = GENERATE(Staging::kAnonymous, Staging::kNamed);
  const TempFolder dir;
  const CacheFolder folder = open(dir, kSingle);
  const auto publish = [&](int failure) {
    const auto write = [&](int fd) { return ::write(fd, "x", 1) == 1 ? failure : EIO; };
    return folder.publish(key(1), 1, write, Durability::kData, staging);
  };
  const auto gives = [&](int failure, Published answer) {
    const auto published = publish(failure);
    return published.ok() && *published == answer;
  };
  CHECK(publish(EIO).error().code == Code::kIo);
  CHECK(publish(ECANCELED).error().code == Code::kCancelled);
  CHECK(gives(ENOSPC, Published::kNoSpace));
  CHECK(gives(EDQUOT, Published::kNoSpace));
  CHECK(fs::is_empty(dir.path() + "/one"));
  CHECK(gives(0, Published::kNew));
}

TEST_CASE("only files that nobody else could have written are opened") {
  const TempFolder dir;
  const CacheFolder folder = open(dir, kSingle);
  put(folder, key(1), "sound");
  const std::string path = folder.path_of(key(1));
  REQUIRE(folder.open_file(key(1)).ok());
  const auto refused = [&] { return folder.open_file(key(1)).error().code == Code::kIo; };
  SECTION("writable by others") {
    for (const mode_t wrong : {0420, 0602}) {
      ::chmod(path.c_str(), wrong);
      CHECK(refused());
    }
  }
  SECTION("a link") {
    fs::rename(path, dir.path() + "/elsewhere");
    fs::create_symlink(dir.path() + "/elsewhere", path);
    CHECK(refused());
  }
  SECTION("a pipe, a folder") {
    fs::remove(path);
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    CHECK(refused());
    fs::remove(path);
    fs::create_directory(path);
    CHECK(refused());
  }
  SECTION("a stranger's") {
    if (::chown(path.c_str(), kStranger, kStranger) != 0) {
      WARN("skipped: needs the right to give files away");
      return;
    }
    CHECK(refused());
  }
}

TEST_CASE("a file is verified once, until it or its stamp changes") {
  const TempFolder dir;
  const CacheFolder folder = open(dir, kRooms);
  put(folder, key(1), "sound");
  const std::string stamp = dir.path() + "/rooms/used/" + to_hex(key(1));
  int runs = 0;
  const auto verify = [&](const CacheFolder& in, Status verdict = ok()) {
    const auto file = in.open_file(key(1));
    const auto run = [&]() -> Status {
      ++runs;
      return verdict;
    };
    return file.ok() && in.verify_once(key(1), *file, run).ok();
  };
  std::int64_t begin;
  do {  // until it was quick enough for the file to be too young to tell two changes apart
    fs::remove(stamp);
    ::chmod(folder.path_of(key(1)).c_str(), 0400);
    begin = now_ns();
    CHECK(verify(folder));
  } while (now_ns() - begin > 50'000'000);
  CHECK(read(stamp).empty());
  runs = 1;
  std::this_thread::sleep_for(150ms);
  CHECK(!verify(folder, error(Code::kCorrupt, "damaged")));
  CHECK(read(stamp).empty());
  CHECK(verify(folder));
  CHECK(runs == 3);
  CHECK(read(stamp).starts_with("verified boot="));
  CHECK(verify(folder));
  CHECK(verify(open(dir, kRooms, CacheAccess::kRead)));
  CHECK(runs == 3);
  SECTION("the file was touched") {
    ::chmod(folder.path_of(key(1)).c_str(), 0600);
  }
  SECTION("the stamp is a stranger's, or others may write it") {
    const bool others = GENERATE(true, false);
    REQUIRE((others ? ::chmod(stamp.c_str(), 0622) == 0
                    : ::geteuid() != 0 || ::chown(stamp.c_str(), kStranger, kStranger) == 0));
    if (!others && ::geteuid() != 0) return;
  }
  SECTION("the stamp is longer, shorter, of another boot") {
    const std::string good = read(stamp);
    const std::string wrong = GENERATE_COPY(good + " ", good.substr(1), "verified boot=other\n");
    std::ofstream(stamp) << wrong;
  }
  CHECK(verify(folder));
  CHECK(runs == 4);
}

TEST_CASE("a use is written beside the file, or, where there is no such place, to the file") {
  const auto tenant = GENERATE(kRooms, kSingle);
  const TempFolder dir;
  const CacheFolder folder = open(dir, tenant);
  put(folder, key(1), "x");
  folder.mark_used(key(1));
  const std::string path = folder.path_of(key(1));
  const std::string used =
      tenant.used.empty() ? path : dir.path() + "/rooms/used/" + to_hex(key(1));
  const auto age_after_use = [&](std::chrono::seconds age, const CacheFolder& by) {
    set_time(path, 3 * tenant.use_grain);
    set_time(used, age);
    by.mark_used(key(1));
    return std::chrono::nanoseconds(now_ns() - by.list()->at(0).last_used_ns);
  };
  CHECK(age_after_use(2 * tenant.use_grain, folder) < tenant.use_grain);
  CHECK(age_after_use(tenant.use_grain / 2, folder) >= tenant.use_grain / 2);
  CHECK(age_after_use(-2 * tenant.use_grain, folder) > -tenant.use_grain);  // from the future
  const CacheFolder read_only = open(dir, tenant, CacheAccess::kRead);
  CHECK(age_after_use(2 * tenant.use_grain, read_only) >= tenant.use_grain);
}

TEST_CASE("the least recently used go first, nothing in use, the quarantine before all") {
  const TempFolder dir;
  const CacheFolder folder = open(dir, kRooms);
  for (const std::uint8_t i : {1, 2, 3, 4}) {
    put(folder, key(i), "12345678");
    set_time(folder.path_of(key(i)), std::chrono::hours(i));
  }
  folder.set_aside(key(4), folder.open_file(key(4)).value());
  CHECK(folder.stored_bytes() == 32);
  CHECK(folder.evict_to(32, 0ms)->left_bytes == 32);
  CHECK(folder.evict_to(24, 0ms)->left_bytes == 24);
  CHECK(fs::is_empty(dir.path() + "/rooms/quarantine"));
  const auto in_use = folder.open_file(key(3));
  const EvictionReport report = folder.evict_to(16, 0ms).value();
  CHECK((report.in_use_files == 1 && report.removed_files == 1));
  CHECK((report.removed_bytes == 8 && report.left_bytes == 16));
  CHECK(!folder.open_file(key(2)).ok());
  const FileLock theirs = open(dir, kRooms).lock("gc", 0ms);
  REQUIRE(theirs.held());
  CHECK(fs::exists(dir.path() + "/rooms/locks/gc"));
  const auto busy = folder.evict_to(0, 0ms);
  REQUIRE(!busy.ok());
  CHECK(busy.error().message.find("another process is collecting") != std::string::npos);
  CHECK(folder.list()->size() == 2);
}

TEST_CASE("what nobody used for a month goes, and what is outdated") {
  const auto tenant = GENERATE(kRooms, kSingle);
  const TempFolder dir;
  const CacheFolder folder = open(dir, tenant);
  for (const std::uint8_t i : {1, 2, 3, 4}) {
    put(folder, key(i), "x");
    if (i <= 2) set_time(folder.path_of(key(i)), 31 * 24h);
    if (i > 2) set_time(folder.path_of(key(i)), 29 * 24h);
  }
  const auto in_use = folder.open_file(key(2));
  const auto report = folder.evict_unused([](const Digest& k) { return k == key(3); });
  REQUIRE(report.ok());
  CHECK((report->removed_files == 2 && report->in_use_files == 1 && report->left_bytes == 2));
  CHECK(!folder.open_file(key(3)).ok());
  CHECK(folder.open_file(key(4)).ok());
  const CacheFolder read_only = open(dir, tenant, CacheAccess::kRead);
  CHECK(read_only.evict_unused([](const Digest&) { return true; })->removed_files == 0);
  CHECK(folder.list()->size() == 2);
}

TEST_CASE("what crashes left is swept; foreign names, and what is being written, stay") {
  const TempFolder dir;
  const CacheFolder folder = open(dir, kSingle);
  const std::string one = dir.path() + "/one/", hex = to_hex(key(0xab));
  for (const std::string& name :
       {std::string("12.34.5"), hex + ".77.0", std::string("1.locked"), std::string("12.34.6"),
        std::string("README.1"), std::string("12345"), hex + ".txt"}) {
    std::ofstream(one + name) << "x";
    set_time(one + name, 2h);
  }
  std::ofstream(one + "12.34.7") << "x";
  const int fd = ::open(one.c_str(), O_RDONLY | O_DIRECTORY);
  const FileLock writing = FileLock::acquire(fd, "12.34.6", 0ms);
  REQUIRE(writing.held());
  folder.sweep_unfinished();
  for (const std::string& name : {std::string("12.34.5"), hex + ".77.0", std::string("12.34.7")})
    CHECK(!fs::exists(one + name));
  CHECK(count(one) == 5);
  ::close(fd);
}

TEST_CASE("stamps whose files are gone go with the next eviction") {
  const TempFolder dir;
  const CacheFolder folder = open(dir, kRooms);
  const std::string used = dir.path() + "/rooms/used/";
  for (const std::uint8_t i : {1, 2}) put(folder, key(i), "x");
  for (const std::uint8_t i : {1, 2, 3}) folder.mark_used(key(i));
  std::ofstream(used + "README") << "x";
  fs::remove(folder.path_of(key(1)));
  REQUIRE(folder.evict_to(100, 0ms).ok());
  CHECK(count(used) == 2);
  CHECK(fs::exists(used + to_hex(key(2))));
  CHECK(folder.remove(key(2)).ok());
  CHECK(count(used) == 1);
  CHECK(folder.remove(key(2)).error().code == Code::kNotFound);
}

TEST_CASE("only the file that was found bad is set aside, not the one that took its name") {
  const TempFolder dir;
  const CacheFolder folder = open(dir, kRooms);
  put(folder, key(1), "bad");
  const OpenFile bad = folder.open_file(key(1)).value();
  REQUIRE(folder.remove(key(1)).ok());
  put(folder, key(1), "good");
  folder.set_aside(key(1), bad);
  CHECK(read(folder.path_of(key(1))) == "good");
  folder.set_aside(key(1), folder.open_file(key(1)).value());
  CHECK(read(dir.path() + "/rooms/quarantine/" + folder.name_of(key(1))) == "good");
  CHECK(folder.list()->empty());
}

TEST_CASE("read-only, nothing is removed, set aside, locked or made") {
  const TempFolder dir;
  put(open(dir, kRooms), key(1), "x");
  const CacheFolder folder = open(dir, kRooms, CacheAccess::kRead);
  const auto removed = folder.remove(key(1));
  REQUIRE(!removed.ok());
  CHECK(removed.error().code == Code::kIo);
  CHECK(removed.error().message.find("read-only") != std::string::npos);
  folder.set_aside(key(1), folder.open_file(key(1)).value());
  folder.mark_used(key(1));
  CHECK(folder.lock("a", 0ms).state() == LockState::kUnusable);
  CHECK(!folder.evict_to(0, 0ms).ok());
  CHECK(folder.list()->size() == 1);
  CHECK((fs::is_empty(dir.path() + "/rooms/used") && fs::is_empty(dir.path() + "/rooms/locks")));
}

TEST_CASE("where a folder of the cache is something else, it is read and not written") {
  const auto room = GENERATE(kRooms.used, kRooms.locks, kRooms.quarantine, kRooms.tmp, kRooms.pins);
  const TempFolder dir;
  put(open(dir, kRooms), key(1), "x");
  const std::string path = dir.path() + "/" + std::string(room);
  fs::remove_all(path);
  std::ofstream(path) << "somebody's";
  const CacheFolder folder = open(dir, kRooms);
  CHECK(!folder.writable());
  CHECK(folder.why_not_writable().find(path) != std::string::npos);
  int n_verified = 0;
  const OpenFile file = folder.open_file(key(1)).value();
  const auto verify = [&] { return ++n_verified, ok(); };
  for (int i = 0; i < 2; ++i) CHECK(folder.verify_once(key(1), file, verify).ok());
  CHECK(n_verified == 2);  // nothing is written, so no stamp either
  CHECK(folder.list()->size() == 1);
  CHECK(folder.reserve(1, 100, 0ms).error().code == Code::kIo);
  CHECK(fs::file_size(path) == 10);
}

TEST_CASE("a pin that cannot be set, or was never set, says so") {
  const TempFolder dir;
  const CacheFolder folder = open(dir, kRooms);
  put(folder, key(1), "x");
  CHECK(folder.unpin(key(1)).error().code == Code::kNotFound);
  const std::string taken = dir.path() + "/rooms/pins/" + to_hex(key(1));
  fs::create_directory(taken);
  CHECK(folder.pin(key(1)).error().code == Code::kIo);
  CHECK(!folder.is_pinned(key(1)));
  fs::remove(taken);
  REQUIRE(folder.pin(key(1)).ok());
  CHECK(folder.unpin(key(1)).ok());
  // Of a single folder nothing can be pinned.
  const CacheFolder single = open(dir, kSingle);
  put(single, key(1), "x");
  CHECK(!single.pin(key(1)).ok());
  CHECK(single.unpin(key(1)).error().code == Code::kNotFound);
}

TEST_CASE("a file that ends too early is damaged") {
  const TempFolder dir;
  const CacheFolder folder = open(dir, kSingle);
  put(folder, key(1), "12345678");
  const OpenFile file = folder.open_file(key(1)).value();
  std::string text(6, '\0');
  const auto bytes = std::as_writable_bytes(std::span(text));
  CHECK(read_exactly(file.fd.get(), 2, bytes).ok());
  CHECK(text == "345678");
  CHECK(read_exactly(file.fd.get(), 3, bytes).error().code == Code::kCorrupt);
  CHECK(read_exactly(-1, 0, bytes).error().code == Code::kIo);
}

TEST_CASE("without a descriptor to ask whether a file is in use, it is not evicted") {
  const TempFolder dir;
  const CacheFolder folder = open(dir, kRooms);
  put(folder, key(1), "used");
  const OpenFile in_use = folder.open_file(key(1)).value();
  std::vector<UniqueFd> all;  // that this process may have
  const auto use_up = [&](const Digest&) {
    while (UniqueFd fd{::open("/dev/null", O_RDONLY | O_CLOEXEC)}) all.push_back(std::move(fd));
    return true;
  };
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit few{64, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  const auto report = folder.evict_unused(use_up);
  all.clear();
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(report.value().removed_files == 0);
  CHECK(folder.open_file(key(1)).ok());
}

}  // namespace
}  // namespace pc
