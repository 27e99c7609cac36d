// Hints about pages: what they are for is that the pages are there. And files that are cut short
// while they are mapped.
#include "base/mapped_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/expect.h"
#include "tests/support/temp_folder.h"

namespace pc::test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("pages that are asked for are read although nobody touches them") {
#ifdef PC_EMULATED
  WARN("skipped: the emulator passes no hints on");
  return;
#endif
  const TempFolder folder;
  const std::string path = folder.path() + "/file";
  std::ofstream(path, std::ios::binary) << std::string(16 << 20, 'x');
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(fd >= 0);
  REQUIRE(::fsync(fd) == 0);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
  const MappedFile file = must(MappedFile::open(path));
  constexpr std::size_t kLooks = 256;
  const auto n_there = [&] {
    std::size_t n = 0;
    for (std::size_t i = 0; i < kLooks; ++i)
      n += is_resident(file.bytes().data() + i * (file.bytes().size() / kLooks)) ? 1 : 0;
    return n;
  };
  if (n_there() > kLooks / 2) {
    WARN("skipped: this file system keeps its files in memory");
    return;
  }
  ask_for(file.bytes());
  // A kernel that is short of memory may drop some of them again.
  for (int i = 0; i < 500 && n_there() <= kLooks / 2; ++i) std::this_thread::sleep_for(20ms);
  CHECK(n_there() > kLooks / 2);
}

constexpr std::size_t kFile = 1 << 20;

std::string a_file(const TempFolder& folder, const char* name = "file") {
  std::string path = folder.path() + "/" + name;
  std::ofstream(path, std::ios::binary) << std::string(kFile, 'x');
  return path;
}

// Reads a byte of each page: how many are not 'x'.
std::size_t n_lost_pages(const MappedFile& file) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < file.bytes().size(); i += 4096)
    n += *reinterpret_cast<const volatile char*>(file.bytes().data() + i) == 'x' ? 0 : 1;
  return n;
}

// What became of a process that does this: 0, or the signal that ended it.
template <class Work>
int signal_of(Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGBUS, SIG_DFL);  // a sanitizer's own
    work();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

// The first that ran: the guard stays in a process.
TEST_CASE("without the guard, reading what was cut off ends the process") {
  const TempFolder folder;
  const std::string path = a_file(folder);
  CHECK(signal_of([&] {
          const MappedFile file = must(MappedFile::open(path));
          (void)::truncate(path.c_str(), 4096);
          (void)n_lost_pages(file);
        }) == SIGBUS);
}

TEST_CASE("a mapping whose file is cut short is lost, and others are not") {
  REQUIRE(guard_mappings().ok());
  REQUIRE(guard_mappings().ok());
  const TempFolder folder;
  const std::string path = a_file(folder);
  const MappedFile other = must(MappedFile::open(a_file(folder, "other")));
  const std::uint64_t before = n_lost_mappings();
  {
    const MappedFile file = must(MappedFile::open(path));
    CHECK(n_lost_pages(file) == 0);
    REQUIRE(::truncate(path.c_str(), 4 * 4096) == 0);
    CHECK_FALSE(file.is_lost());
    CHECK_FALSE(file.is_unchanged());
    CHECK(file.was_written());
    CHECK(n_lost_pages(file) == kFile / 4096 - 4);
    CHECK(file.is_lost());
  }
  CHECK(n_lost_mappings() == before + 1);
  CHECK(n_lost_pages(other) == 0);
  CHECK_FALSE(other.is_lost());
  // The next mapping there starts anew.
  const MappedFile next = must(MappedFile::open(a_file(folder, "next")));
  CHECK_FALSE(next.is_lost());
}

TEST_CASE("threads that read what is cut short all live") {
  REQUIRE(guard_mappings().ok());
  const TempFolder folder;
  for (int round = 0; round < 20; ++round) {
    const std::string path = a_file(folder, std::to_string(round).c_str());
    const MappedFile file = must(MappedFile::open(path));
    std::vector<std::thread> readers;
    for (int i = 0; i < 4; ++i)
      readers.emplace_back([&] {
        while (!file.is_lost()) (void)n_lost_pages(file);
      });
    REQUIRE(::truncate(path.c_str(), 0) == 0);
    for (std::thread& reader : readers) reader.join();
    CHECK(n_lost_pages(file) == kFile / 4096);
  }
}

TEST_CASE("more mappings than one table holds are guarded, too") {
  REQUIRE(guard_mappings().ok());
  const TempFolder folder;
  const std::string path = a_file(folder), last = a_file(folder, "last");
  std::vector<MappedFile> many;
  for (int i = 0; i < 600; ++i) many.push_back(must(MappedFile::open(path)));
  const MappedFile file = must(MappedFile::open(last));
  REQUIRE(::truncate(last.c_str(), 0) == 0);
  CHECK(n_lost_pages(file) == kFile / 4096);
  CHECK(file.is_lost());
}

TEST_CASE("a bus error that is no mapping's ends the process as before, or is its handler's") {
  const auto foreign = [] {
    const TempFolder folder;
    const std::string path = a_file(folder);
    const int fd = ::open(path.c_str(), O_RDWR);
    void* p = ::mmap(nullptr, kFile, PROT_READ, MAP_SHARED, fd, 0);
    if (::ftruncate(fd, 0) != 0) ::_exit(1);
    (void)*static_cast<volatile char*>(p);
  };
  const auto exit_7 = [](int) { ::_exit(7); };
  CHECK(signal_of([&] {
          (void)guard_mappings();
          foreign();
        }) == SIGBUS);
  CHECK(signal_of([&] {
          ::signal(SIGBUS, exit_7);
          foreign();
        }) == 7);
  CHECK(signal_of([&] {
          (void)guard_mappings();
          ::raise(SIGBUS);
        }) == SIGBUS);
}

TEST_CASE("a file that only lost its name was not written to") {
  const TempFolder folder;
  const std::string path = a_file(folder);
  const MappedFile file = must(MappedFile::open(path));
  CHECK((file.is_unchanged() && !file.was_written()));
  std::this_thread::sleep_for(20ms);  // a tick of the clock of files
  REQUIRE(::unlink(path.c_str()) == 0);
  CHECK_FALSE(file.is_unchanged());
  CHECK_FALSE(file.was_written());
}

TEST_CASE("a time is its nanoseconds, before 1970 and behind it") {
  CHECK(to_ns({0, 0}) == 0);
  CHECK(to_ns({1'700'000'000, 123}) == 1'700'000'000'000'000'123);
  CHECK(to_ns({-1, 999'999'999}) == -1);
}

TEST_CASE("times that no count of nanoseconds holds are far away, and have differences") {
  constexpr auto kMost = std::numeric_limits<time_t>::max(),
                 kLeast = std::numeric_limits<time_t>::min();
  const std::int64_t last = to_ns({kMost, 999'999'999}), first = to_ns({kLeast, 0});
  CHECK(last > to_ns({4'102'444'800, 0}));  // the year 2100
  CHECK(first < to_ns({-4'102'444'800, 0}));
  std::int64_t between = 0;
  CHECK_FALSE(__builtin_sub_overflow(last, first, &between));
  CHECK_FALSE(__builtin_sub_overflow(first, last, &between));
}

TEST_CASE("without a descriptor nobody knows what became of a file") {
  const TempFolder folder;
  const std::string path = a_file(folder);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  MappedFile file = must(MappedFile::map(fd, kFile, path));
  CHECK_FALSE((file.has_descriptor() || file.is_unchanged() || file.was_written()));
  file.keep(fd);
  CHECK((file.has_descriptor() && file.is_unchanged()));
}

}  // namespace
}  // namespace pc::test
