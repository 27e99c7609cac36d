// Threads that the system does not start are an error, and nothing else: OpenMP would end the
// process.

#include <catch2/catch.hpp>
#include <thread>

#include "base/parallel.h"
#include "runtime/session/session.h"
#include "tests/support/expect.h"
#include "tests/support/temp_folder.h"
#include "tests/support/thread_faults.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

struct NoThreads {
  NoThreads() { fail_threads(ThreadFault::kNotStarted); }
  ~NoThreads() { fail_threads(ThreadFault::kNone); }
};

EngineOptions options(const TinyCheckpoint& checkpoint) {
  EngineOptions o;
  o.model_path = checkpoint.path();
  o.cache_mode = CacheMode::kOff;
  o.n_threads = 3;
  return o;
}

TEST_CASE("an engine whose threads cannot be started does not open, and opens when they can") {
  if (Parallel(3).n_threads() == 1) return;  // built without OpenMP
  const TinyCheckpoint checkpoint(3);
  // A thread that has no team yet.
  std::thread([&] {
    {
      const NoThreads none;
      expect_error(Engine::open(options(checkpoint)), Code::kIo, 0, 0, "1 of the 3 threads");
    }
    CHECK(Engine::open(options(checkpoint)).ok());
  }).join();
}

TEST_CASE("a thread that gets no team gets an error, and goes on once it does") {
  if (Parallel(3).n_threads() == 1) return;
  const TinyCheckpoint checkpoint(3);
  const auto engine = must(Engine::open(options(checkpoint)));
  const auto schema = must(LoadedSchema::parse(engine, "<schema name='s'/>", ""));
  std::thread([&] {
    const auto session = must(Session::open(must(LoadedPrompt::of_text(schema, "Hello")), {}));
    {
      const NoThreads none;
      expect_error(session->prefill(), Code::kIo, 0, 0, "threads");
    }
    CHECK(session->prefill().ok());
    CHECK(must(session->next()).has_value());
  }).join();
}

TEST_CASE("a session that lost its place stays so, whatever is asked of it") {
  if (Parallel(3).n_threads() == 1) return;
  const TinyCheckpoint checkpoint(3);
  const auto engine = must(Engine::open(options(checkpoint)));
  const auto schema = must(LoadedSchema::parse(engine, "<schema name='s'/>", ""));
  const auto session = must(Session::open(must(LoadedPrompt::of_text(schema, "Hello")), {}));
  must(session->next());
  std::thread([&] {
    {
      const NoThreads none;
      CHECK_FALSE(session->next().ok());
    }
    CHECK_FALSE(session->next().ok());
    CHECK_FALSE(session->prefill().ok());
    CHECK_FALSE(session->append_text("x").ok());
  }).join();
}

TEST_CASE("a team stays as it is while smaller ones are asked for") {
  if (Parallel(3).n_threads() == 1) return;
  std::thread([] {
    const auto nothing = [](std::uint32_t, std::uint32_t) {};
    const Parallel three(3), two(2);
    REQUIRE(three.ready().ok());
    three.for_each(8, nothing);
    two.for_each(8, nothing);
    const NoThreads none;
    CHECK(two.ready().ok());
    CHECK(three.ready().ok());
    three.for_each(8, nothing);
    expect_error(Parallel(4).ready(), Code::kIo, 0, 0, "of the 4 threads");
  }).join();
}

}  // namespace
}  // namespace pc::test
