// Each case runs in a child process, because a Ctrl-C may end it.
#include "tools/output/interrupt.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <promptcache/promptcache.hpp>
#include <thread>

#include "tools/output/failure.h"

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

// Is a session cancelled that `body` was given beside work in hand?
template <class Body>
bool cancels(Body&& body) {
  return exit_code_in_child([&] {
           std::signal(SIGINT, SIG_DFL);
           handle_interrupts();
           promptcache::EngineOptions options;
           options.model_path = std::getenv("PC_TINY_MODEL");
           options.cache_mode = PC_CACHE_OFF;
           const promptcache::Engine engine(options);
           const auto schema = promptcache::Schema::plain(engine);
           promptcache::Session session(promptcache::Prompt::from_text(schema, "Where to?"));
           Interruptible work;
           body(work, session);
           try {
             session.prefill();
           } catch (const promptcache::Error& error) {
             return error.status() == PC_CANCELLED ? 1 : 2;
           }
           return kWentOn;
         }) == 1;
}

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

TEST_CASE("who waits for a Ctrl-C goes on with it, on whatever thread it arrives") {
  for (const bool is_early : {true, false})
    CHECK(exit_code_in_child([&] {
            std::signal(SIGINT, SIG_DFL);
            handle_interrupts();
            const Interruptible work;
            if (is_early) raise(SIGINT);
            std::thread other([&] {
              std::this_thread::sleep_for(std::chrono::milliseconds(50));
              if (!is_early) raise(SIGINT);
            });
            work.wait();
            other.join();
            return work.requested() ? kWentOn : 2;
          }) == kWentOn);
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

TEST_CASE("Ctrl-C cancels the session that is watched, and it alone") {
  CHECK(cancels([](Interruptible& work, promptcache::Session& session) {
    work.watch(session.get());
    raise(SIGINT);
  }));
  CHECK(cancels([](Interruptible& work, promptcache::Session& session) {
    raise(SIGINT);  // between two sessions
    work.watch(session.get());
  }));
  CHECK(!cancels([](Interruptible& work, promptcache::Session& session) {
    work.watch(session.get());
    work.watch(nullptr);
    raise(SIGINT);
  }));
}
