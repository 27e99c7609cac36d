// A broken precondition ends the process where it is broken; a kept one does nothing.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "base/utf8.h"

namespace pc {
namespace {

// The signal that ends a child which does this; 0 where it returns.
int signal_of(const std::function<void()>& body) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    std::signal(SIGILL, SIG_DFL);  // the test's own handler, or a sanitizer's, would speak
    std::signal(SIGTRAP, SIG_DFL);
    body();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

bool traps(const std::function<void()>& body) {
  const int signal = signal_of(body);
  return signal == SIGILL || signal == SIGTRAP;  // by the architecture
}

TEST_CASE("what is kept goes on, what is broken ends there") {
  const Result<int> three = 3;
  const Result<int> none = error(Code::kIo, "no");
  volatile int seen = 0;
  CHECK(signal_of([&] { seen = *three; }) == 0);
  CHECK(traps([&] { seen = *none; }));
  CHECK(traps([&] { seen = static_cast<int>(three.error().message.size()); }));
  CHECK(signal_of([&] { seen = static_cast<int>(none.error().message.size()); }) == 0);
}

TEST_CASE("reads beyond their bytes") {
  const std::vector<std::byte> bytes(8);
  volatile std::uint32_t seen = 0;
  CHECK(signal_of([&] { seen = load_le<std::uint32_t>(bytes, 4); }) == 0);
  CHECK(traps([&] { seen = load_le<std::uint32_t>(bytes, 5); }));
  CHECK(traps([&] { seen = static_cast<std::uint32_t>(align_up(5, 12)); }));
  const std::string cut = "\xe6\xbc";
  std::size_t at = 0;
  CHECK(traps([&] { seen = utf8_next(cut, &at); }));
}

TEST_CASE("what takes time is checked in builds with assertions") {
#ifdef NDEBUG
  CHECK(signal_of([] { PC_EXPECT_CHECKED(false); }) == 0);
#else
  CHECK(traps([] { PC_EXPECT_CHECKED(false); }));
#endif
}

}  // namespace
}  // namespace pc
