// Whose folders and stamps are used.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>

#include "tests/modules/store/rooms.h"

namespace pc::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// What others could do to a folder of the cache, the sticky bit or not.
TEST_CASE("nothing is taken from, or put into, folders that others own or may write") {
  const TempFolder dir;
  put(open(dir, kRooms), key(1), "sound");
  const bool spoils_all = GENERATE(true, false);
  const std::string name =
      spoils_all ? GENERATE("", "rooms", "rooms/files")
                 : GENERATE("rooms/used", "rooms/locks", "rooms/quarantine", "rooms/tmp");
  const std::string path = dir.path() + "/" + name;
  const std::string way = GENERATE("owner", "group", "all");
  if (way == "owner" && ::chown(path.c_str(), kStranger, kStranger) != 0) {
    WARN("skipped: needs the right to give folders away");
    return;
  }
  if (way != "owner") REQUIRE(::chmod(path.c_str(), way == "group" ? 0770 : 01777) == 0);
  const auto folder = CacheFolder::open(dir.path(), kRooms, CacheAccess::kMakeAll);
  REQUIRE(folder.ok() == !spoils_all);
  const std::string why = folder.ok() ? folder->why_not_writable() : folder.error().message;
  CHECK_THAT(why, Catch::Contains(name.empty() ? dir.path() : name));
  CHECK_THAT(why, Catch::Contains(way == "owner" ? "belongs to another user (12345)" : "go-w"));
  if (!folder.ok()) {
    CHECK(folder.error().code == Code::kIo);
    return;
  }
  CHECK(!folder->writable());
  CHECK(folder->open_file(key(1)).ok());  // in a folder that is ours alone
}

TEST_CASE("a cache of root may be read by all, and by its owner alone written") {
  const TempFolder dir;
  put(open(dir, kRooms), key(1), "sound");
  if (::geteuid() != 0) {
    WARN("skipped: needs root to become another user");
    return;
  }
  for (const auto& entry : fs::recursive_directory_iterator(dir.path()))
    REQUIRE(::chmod(entry.path().c_str(), entry.is_directory() ? 0755 : 0444) == 0);
  REQUIRE(::chmod(dir.path().c_str(), 0755) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(kStranger) != 0 || ::setuid(kStranger) != 0) ::_exit(1);
    const auto folder = CacheFolder::open(dir.path(), kRooms, CacheAccess::kMakeAll);
    if (!folder.ok() || folder->writable()) ::_exit(2);
    if (folder->why_not_writable().find("Permission denied") == std::string::npos) ::_exit(3);
    ::_exit(folder->open_file(key(1)).ok() ? 0 : 4);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a stamp that has another name is somebody's file: it is not written to") {
  const TempFolder dir;
  const CacheFolder folder = open(dir, kRooms);
  put(folder, key(1), "sound");
  std::ofstream(dir.path() + "/letter") << "dear reader";
  fs::create_hard_link(dir.path() + "/letter", dir.path() + "/rooms/used/" + to_hex(key(1)));
  std::this_thread::sleep_for(150ms);  // older than what gets no stamp
  const auto file = folder.open_file(key(1));
  CHECK(folder.verify_once(key(1), *file, [] { return ok(); }).ok());
  CHECK(read(dir.path() + "/letter") == "dear reader");
}

}  // namespace
}  // namespace pc::test
