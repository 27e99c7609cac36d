// Each case runs in a child process, because a Ctrl-C may end it.
#include "tools/interrupt.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "tools/failure.h"

using namespace pc::cli;

namespace {

// The exit code of a child that runs `body`; its standard error is thrown away.
template <class Body>
int exit_code_in_child(Body&& body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    close(STDERR_FILENO);
    _exit(body());
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

constexpr int kWentOn = 77;

}  // namespace

TEST_CASE("Ctrl-C ends the process at once where nothing is in hand") {
  CHECK(exit_code_in_child([] {
          std::signal(SIGINT, SIG_DFL);
          handle_interrupts();
          raise(SIGINT);
          return kWentOn;
        }) == kInterrupted);
}

TEST_CASE("the first Ctrl-C asks, the second ends the process") {
  CHECK(exit_code_in_child([] {
          std::signal(SIGINT, SIG_DFL);
          handle_interrupts();
          const Interruptible work;
          if (work.requested()) return 1;
          raise(SIGINT);
          return work.requested() ? kWentOn : 2;
        }) == kWentOn);
  CHECK(exit_code_in_child([] {
          std::signal(SIGINT, SIG_DFL);
          handle_interrupts();
          const Interruptible work;
          raise(SIGINT);
          raise(SIGINT);
          return kWentOn;
        }) == kInterrupted);
}

TEST_CASE("after the work Ctrl-C ends the process at once again") {
  CHECK(exit_code_in_child([] {
          std::signal(SIGINT, SIG_DFL);
          handle_interrupts();
          { const Interruptible work; }
          raise(SIGINT);
          return kWentOn;
        }) == kInterrupted);
}

TEST_CASE("a Ctrl-C that the parent ignores stays ignored") {
  CHECK(exit_code_in_child([] {
          std::signal(SIGINT, SIG_IGN);
          handle_interrupts();
          raise(SIGINT);
          return kWentOn;
        }) == kWentOn);
}
