// Whose work the scheduler's steps have: short prompts, long ones and clients with names
// (prefill_order_test.cc has the order itself).

#include <catch2/catch.hpp>
#include <deque>

#include "tests/runtime/engine/scheduler_fixture.h"

namespace pc::test {
namespace {

TEST_CASE("clients that are named take turns") {
  Fixture f;
  f.hold();
  std::deque<BackendTimeline> timelines;
  for (int i = 0; i < 5; ++i) timelines.push_back(must(f.backend.timeline()));
  const auto prompt = random_tokens(f.random, 300, 64);
  const pc_run run = Fixture::run_of(prompt);
  for (std::size_t i = 0; i < 4; ++i)
    f.submit({.timeline = &timelines[i], .runs = {&run, 1}, .client = 1});
  f.submit({.timeline = &timelines[4], .runs = {&run, 1}, .client = 2});
  // What is encoded for one is nobody's share.
  BackendTimeline encoding = must(f.backend.timeline());
  f.submit({.timeline = &encoding, .runs = {&f.first_run, 1}, .encodes = true, .client = 2});
  f.release();
  for (const Status& status : f.results) REQUIRE(status.ok());
  const auto last_step = Witness::last_step;
  // Step 0 is held; 1 is the first's, 2 theirs, 3 the first's again, since both have had as much,
  // and 4 has their rest. Behind all of the other's it would be the sixth.
  CHECK(last_step(timelines[4]) <= 4);
  for (std::size_t i = 1; i < 4; ++i) CHECK(last_step(timelines[i]) >= last_step(timelines[4]));
}

TEST_CASE("a short prompt does not wait for a long one that is being computed") {
  Fixture f;
  const auto document = random_tokens(f.random, 256 * 6, 64),
             title = random_tokens(f.random, 20, 64);
  const pc_run long_run = Fixture::run_of(document), short_run = Fixture::run_of(title);
  const std::vector<float> want = f.alone(title);
  Witness::steps.clear();
  Witness::timelines.clear();
  Witness::n_begun = 0;
  BackendTimeline first = must(f.backend.timeline()), second = must(f.backend.timeline());
  std::vector<float> got(64);
  Witness::hold = true;
  f.submit({.timeline = &first, .runs = {&long_run, 1}});
  while (Witness::n_begun == 0) std::this_thread::yield();  // its first step
  f.submit({.timeline = &second, .runs = {&short_run, 1}, .logits = got.data()});
  f.release();
  for (const Status& status : f.results) REQUIRE(status.ok());
  CHECK(Witness::first_step(first) == 0);
  CHECK(Witness::first_step(second) == 1);
  CHECK(Witness::last_step(second) == 1);
  CHECK(Witness::last_step(first) == 6);  // 20 tokens later than without the other
  require_near(got, want);
}

TEST_CASE("a long prompt has every fifth step, however many short ones come") {
  Fixture f;
  f.hold();
  const auto document = random_tokens(f.random, 256 * 3, 64),
             page = random_tokens(f.random, 256, 64);
  const pc_run long_run = Fixture::run_of(document), short_run = Fixture::run_of(page);
  std::deque<BackendTimeline> timelines;
  for (int i = 0; i < 21; ++i) timelines.push_back(must(f.backend.timeline()));
  f.submit({.timeline = &timelines[0], .runs = {&long_run, 1}});
  for (std::size_t i = 1; i < 21; ++i)
    f.submit({.timeline = &timelines[i], .runs = {&short_run, 1}});
  f.release();
  for (const Status& status : f.results) REQUIRE(status.ok());
  CHECK(Witness::first_step(timelines[0]) == 5);  // step 0 is held
  // Its last 256 tokens are as many as theirs, and it is older.
  CHECK(Witness::last_step(timelines[0]) == 11);
  CHECK(timelines[0].n_tokens() == 256 * 3);
}

}  // namespace
}  // namespace pc::test
