// Three outcomes, each at once where waiting changes nothing.
#include "modules/store/file_lock.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>

#include "tests/support/flock_faults.h"
#include "tests/support/temp_folder.h"

namespace pc {
namespace {

using namespace std::chrono_literals;

struct Folder {
  test::TempFolder files;
  UniqueFd fd{::open(files.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  LockState lock(const char* name, std::chrono::milliseconds timeout = 0ms) const {
    return FileLock::acquire(fd.get(), name, timeout).state();
  }
};

// Far longer than any test may take: who waited for this out of turn would be noticed.
constexpr auto kForever = 24h;

TEST_CASE("a lock that nobody holds is held, and busy until it is let go") {
  const Folder folder;
  {
    const FileLock first = FileLock::acquire(folder.fd.get(), "a", 0ms);
    CHECK(first.state() == LockState::kHeld);
    CHECK(folder.lock("a") == LockState::kBusy);
    CHECK(folder.lock("a", 20ms) == LockState::kBusy);
    CHECK(folder.lock("b") == LockState::kHeld);
  }
  CHECK(folder.lock("a", kForever) == LockState::kHeld);
  CHECK(FileLock().state() == LockState::kUnusable);
}

TEST_CASE("a lock that no waiting can get is unusable at once") {
  const Folder folder;
  SECTION("the file system has none") {
    for (const int failure : {ENOLCK, ENOSYS, EOPNOTSUPP, EINVAL, EIO}) {
      test::fail_flock(failure);
      const int before = test::flock_attempts();
      CHECK(folder.lock("a", kForever) == LockState::kUnusable);
      CHECK(test::flock_attempts() == before + 1);
    }
    test::fail_flock(0);
  }
  SECTION("signals never let it through") {
    test::fail_flock(EINTR);
    CHECK(folder.lock("a", kForever) == LockState::kUnusable);
    test::fail_flock(0);
  }
  SECTION("something else has its name") {
    ::mkdirat(folder.fd.get(), "folder", 0700);
    CHECK(folder.lock("folder", kForever) == LockState::kUnusable);
    CHECK(::symlinkat("a", folder.fd.get(), "link") == 0);
    CHECK(folder.lock("link", kForever) == LockState::kUnusable);
  }
  SECTION("no folder") {
    CHECK(FileLock::acquire(-1, "a", kForever).state() == LockState::kUnusable);
  }
  SECTION("no descriptor is left") {
    rlimit limit{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
    const rlimit none{static_cast<rlim_t>(folder.fd.get()) + 1, limit.rlim_max};
    const UniqueFd last(::dup(folder.fd.get()));  // whatever was free below
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
    const LockState state = folder.lock("a", kForever);
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(state == LockState::kUnusable);
  }
  SECTION("it is another owner's") {
    if (::geteuid() != 0) {
      WARN("skipped: needs the right to become another user");
      return;
    }
    REQUIRE(folder.lock("a") == LockState::kHeld);
    ::fchmod(folder.fd.get(), 0755);
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
      ::_exit(folder.lock("a", kForever) == LockState::kUnusable ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WEXITSTATUS(status) == 0);
  }
}

}  // namespace
}  // namespace pc
