#include "modules/store/lock_holder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "modules/store/unique_fd.h"
#include "tests/support/temp_folder.h"

namespace pc {
namespace {

TEST_CASE("the holder is the one with the file's lock, not who waits, nor another file's") {
  const std::string locks =
      "1: POSIX  ADVISORY  WRITE 10 fe:00:77 0 EOF\n"
      "2: FLOCK  ADVISORY  WRITE 11 fe:01:77 0 EOF\n"
      "3: FLOCK  ADVISORY  WRITE 12 fe:00:777 0 EOF\n"
      "4: -> FLOCK  ADVISORY  WRITE 13 fe:00:77 0 EOF\n"
      "5: FLOCK  ADVISORY  WRITE 14 fe:00:77 0 EOF\n";
  const dev_t device = makedev(0xfe, 0);
  CHECK(find_holder(locks, device, 77) == 14);
  CHECK(find_holder(locks, device, 777) == 12);
  CHECK(find_holder(locks, makedev(0xfe, 1), 77) == 11);
  CHECK(find_holder(locks, device, 7) == std::nullopt);
  CHECK(find_holder("", device, 77) == std::nullopt);
  for (std::size_t n = 0; n < locks.size(); ++n)
    CHECK(find_holder(locks.substr(0, n), device, 78) == std::nullopt);
}

TEST_CASE("ticks are the user's and the system's, whatever the process is called") {
  const std::string fields = " S 1 2 3 4 5 6 7 8 9 10 40 2 0 0 20 0 1 0";
  CHECK(cpu_ticks("12 (sh)" + fields) == 42);
  CHECK(cpu_ticks("12 (a) S 1 (b c)" + fields) == 42);
  CHECK(cpu_ticks("12 (sh) S 1 2 3") == std::nullopt);
  CHECK(cpu_ticks("12 sh S") == std::nullopt);
  CHECK(cpu_ticks("") == std::nullopt);
}

TEST_CASE("the ticks of a holder grow while it computes, and stand still while it is stopped") {
  const test::TempFolder folder;
  folder.write("lock", "");
  const auto open = [&] {
    return UniqueFd(::open((folder.path() + "/lock").c_str(), O_RDWR | O_CLOEXEC));
  };
  const UniqueFd ours = open();
  CHECK(holder_ticks(ours.get()) == std::nullopt);
  const pid_t holder = ::fork();
  if (holder == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const UniqueFd theirs = open();
    for (::flock(theirs.get(), LOCK_EX);;) {
    }
  }
  while (::flock(ours.get(), LOCK_EX | LOCK_NB) == 0) ::flock(ours.get(), LOCK_UN);
  if (const auto first = holder_ticks(ours.get())) {
    while (holder_ticks(ours.get()) == first) ::usleep(1000);
    CHECK(*holder_ticks(ours.get()) > *first);
    ::kill(holder, SIGSTOP);
    int status = 0;
    ::waitpid(holder, &status, WUNTRACED);
    const auto stopped = holder_ticks(ours.get());
    ::usleep(50'000);
    CHECK(holder_ticks(ours.get()) == stopped);
  } else {
    WARN("skipped: /proc/locks does not show who holds a lock here");
  }
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
}

}  // namespace
}  // namespace pc
