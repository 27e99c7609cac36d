// Hints about pages: what they are for is that the pages are there.
#include "base/mapped_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

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

}  // namespace
}  // namespace pc::test
