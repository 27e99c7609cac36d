// The scheduler: whatever comes at once, in pieces or not, each gets what it would get alone;
// what fails leaves its timeline as it was; and steps are made of what they should be.

#include "runtime/scheduler/scheduler.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <numeric>
#include <optional>
#include <thread>

#include "base/progress.h"
#include "modules/module_image.h"
#include "tests/runtime/engine/scheduler_fixture.h"

namespace pc::test {
namespace {

TEST_CASE("many callers at once: each gets what it would get alone") {
  Fixture f;
  constexpr std::size_t kCallers = 12;
  std::vector<std::vector<std::int32_t>> tokens;
  std::vector<std::vector<float>> want, got(kCallers, std::vector<float>(64));
  for (std::size_t i = 0; i < kCallers; ++i) {
    tokens.push_back(random_tokens(f.random, i % 3 == 0 ? 300 + f.random.below(400) : 20, 64));
    want.push_back(f.alone(tokens.back()));
  }
  std::vector<std::thread> threads;
  std::atomic<int> n_failed{0};
  for (std::size_t i = 0; i < kCallers; ++i) {
    threads.emplace_back([&, i] {
      auto timeline = f.backend.timeline();
      // A prompt, then token by token.
      const std::size_t prompt = tokens[i].size() - 8;
      const std::vector<std::int32_t> head(tokens[i].begin(),
                                           tokens[i].begin() + static_cast<std::ptrdiff_t>(prompt));
      const pc_run run = Fixture::run_of(head);
      n_failed += !f.scheduler->compute({.timeline = &*timeline, .runs = {&run, 1}}).ok();
      for (std::size_t t = prompt; t < tokens[i].size(); ++t) {
        const auto p = static_cast<std::int32_t>(t);
        const pc_run one{&tokens[i][t], 1, p, p, 1, nullptr, nullptr, 0, nullptr};
        n_failed +=
            !f.scheduler
                 ->compute({.timeline = &*timeline, .runs = {&one, 1}, .logits = got[i].data()})
                 .ok();
      }
      n_failed += timeline->n_tokens() != tokens[i].size();
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(n_failed == 0);
  for (std::size_t i = 0; i < kCallers; ++i) require_near(got[i], want[i]);
}

TEST_CASE("a step has all who decode, then prefill, then encoding") {
  Fixture f;
  f.hold();
  std::deque<BackendTimeline> timelines;
  for (int i = 0; i < 6; ++i) timelines.push_back(must(f.backend.timeline()));
  const auto encoded = random_tokens(f.random, 40, 64), prompt = random_tokens(f.random, 300, 64),
             question = random_tokens(f.random, 9, 64), word = random_tokens(f.random, 1, 64);
  const pc_run encode_run = Fixture::run_of(encoded), prompt_run = Fixture::run_of(prompt),
               question_run = Fixture::run_of(question), word_run = Fixture::run_of(word);
  f.submit({.timeline = &timelines[0], .runs = {&encode_run, 1}, .encodes = true});
  f.submit({.timeline = &timelines[1], .runs = {&prompt_run, 1}});
  f.submit({.timeline = &timelines[2], .runs = {&question_run, 1}});
  f.submit({.timeline = &timelines[3], .runs = {&word_run, 1}});
  f.submit({.timeline = &timelines[4], .runs = {&word_run, 1}});
  f.release();
  for (const Status& status : f.results) REQUIRE(status.ok());
  const auto first_step = Witness::first_step;
  CHECK(first_step(timelines[3]) == 1);  // both who decode
  CHECK(first_step(timelines[4]) == 1);
  CHECK(first_step(timelines[2]) ==
        1);  // the shorter prefill, and the other has what room it leaves
  CHECK(first_step(timelines[1]) == 1);
  CHECK(first_step(timelines[0]) >= Witness::last_step(timelines[1]));
  for (const auto& counts : Witness::steps)
    CHECK(std::accumulate(counts.begin(), counts.end(), 0u) <= f.scheduler->step_tokens());
  CHECK(timelines[1].n_tokens() == 300);
  CHECK(timelines[0].n_tokens() == 40);
}

TEST_CASE("encoding goes on, however much prefill there is, and prefill has most of it") {
  Fixture f;
  f.hold();
  std::deque<BackendTimeline> timelines;
  for (int i = 0; i < 21; ++i) timelines.push_back(must(f.backend.timeline()));
  const auto encoded = random_tokens(f.random, 500, 64), prompt = random_tokens(f.random, 256, 64);
  const pc_run encode_run = Fixture::run_of(encoded), prompt_run = Fixture::run_of(prompt);
  f.submit({.timeline = &timelines[0], .runs = {&encode_run, 1}, .encodes = true});
  for (std::size_t i = 1; i < 21; ++i)  // a step each
    f.submit({.timeline = &timelines[i], .runs = {&prompt_run, 1}});
  f.release();
  for (const Status& status : f.results) REQUIRE(status.ok());
  // Step 0 is held; after four of prefill the fifth is encoding's, and it needs two.
  CHECK(Witness::first_step(timelines[0]) == 5);
  CHECK(Witness::last_step(timelines[0]) == 10);
  CHECK(timelines[0].n_tokens() == 500);
}

TEST_CASE("those who share modules go before others, and sit beside each other") {
  Fixture f;
  // A module, as a file of the store would be.
  ModuleIdentity identity;
  for (Digest* digest : {&identity.weights, &identity.tokenizer, &identity.rope}) digest->fill(1);
  identity.backend = "cpu";
  identity.numerics_version = 1;
  identity.geometry = states_shape(f.model.desc, KvType::kF32);
  identity.runs.push_back({random_tokens(f.random, 10, 64), 0, true});
  const auto module_of = [&](std::int32_t token) {
    identity.runs[0].tokens[0] = token;
    return must(must(ModuleImage::create(identity)).seal());
  };
  const ModuleHandle one = module_of(1), other = module_of(2);
  f.hold();
  std::deque<BackendTimeline> timelines;
  const auto tokens = random_tokens(f.random, 100, 64);
  const pc_run run = Fixture::run_of(tokens, 10);
  for (const ModuleHandle* module : {&one, &other, &one, &other, &one}) {
    timelines.push_back(must(f.backend.timeline()));
    must(timelines.back().attach(must(f.backend.resident(*module)), {0, 0, 10, 0, nullptr}));
    f.submit({.timeline = &timelines.back(), .runs = {&run, 1}});
  }
  f.release();
  for (const Status& status : f.results) REQUIRE(status.ok());
  // 256 tokens: the first, the third that shares with it, and a part of the fifth.
  REQUIRE(Witness::timelines.size() >= 3);
  std::vector<pc_backend_timeline*> sharers = {timelines[0].get(), timelines[2].get(),
                                               timelines[4].get()};
  CHECK(std::ranges::is_permutation(Witness::timelines[1], sharers));
}

TEST_CASE("work that fails, or is cancelled between its pieces, leaves its timeline as it was") {
  Fixture f;
  auto tokens = random_tokens(f.random, 700, 64);
  const auto good = random_tokens(f.random, 20, 64);
  const std::vector<float> want = f.alone(good);
  tokens[650] = 64;  // in the third piece
  BackendTimeline timeline = must(f.backend.timeline());
  const pc_run bad = Fixture::run_of(tokens), fine = Fixture::run_of(good);
  const Status failed = f.scheduler->compute({.timeline = &timeline, .runs = {&bad, 1}});
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().code == Code::kInvalidArgument);
  CHECK(Witness::steps.size() >= 3);
  CHECK(timeline.n_tokens() == 0);
  std::vector<float> logits(64);
  const Work again{.timeline = &timeline, .runs = {&fine, 1}, .logits = logits.data()};
  must(f.scheduler->compute(again));
  require_near(logits, want);

  std::int32_t cancel = 1;
  Work stopped = again;
  stopped.cancel = &cancel;
  const Status ended = f.scheduler->compute(stopped);
  REQUIRE_FALSE(ended.ok());
  CHECK(ended.error().code == Code::kCancelled);
  CHECK(timeline.n_tokens() == 20);
}

TEST_CASE("a batch goes on by a step: who decodes is done, who prefills some tokens further") {
  const bool others = GENERATE(false, true);  // a second thread computes as well
  CAPTURE(others);
  Fixture f;
  if (others) f.hold();
  const auto prompt = random_tokens(f.random, 700, 64), word = random_tokens(f.random, 1, 64);
  const std::vector<float> want =
      others ? std::vector<float>() : f.alone(prompt);  // the backend is held
  std::vector<float> got(64);
  std::deque<BackendTimeline> timelines;
  for (int i = 0; i < 3; ++i) timelines.push_back(must(f.backend.timeline()));
  const pc_run long_run = Fixture::run_of(prompt), short_run = Fixture::run_of(word);
  Task first({.timeline = &timelines[0], .runs = {&long_run, 1}, .logits = got.data()});
  Task second({.timeline = &timelines[1], .runs = {&short_run, 1}});
  Task third({.timeline = &timelines[2], .runs = {&short_run, 1}});
  std::vector<Task*> tasks = {&first, &second, &third};
  std::thread release([&] {
    while (others && f.scheduler->n_waiting() < 4) std::this_thread::yield();
    if (others) f.release();
  });
  must(f.scheduler->advance(tasks));
  release.join();
  CHECK(second.finished());
  CHECK(third.finished());
  CHECK_FALSE(first.finished());
  CHECK(first.n_done() > 0);
  CHECK(f.scheduler->n_waiting() == 0);
  Task* const alone[] = {&first};
  int n_steps = 0;
  for (std::uint64_t before = 0; !first.finished(); ++n_steps) {
    before = first.n_done();
    must(f.scheduler->advance(alone));
    REQUIRE((first.finished() || first.n_done() > before));
  }
  CHECK(n_steps >= 2);
  must(first.result());
  CHECK(timelines[0].n_tokens() == 700);
  require_near(got, others ? f.alone(prompt) : want);
}

TEST_CASE("work that was begun in a batch can be completed, or given up") {
  Fixture f;
  const auto prompt = random_tokens(f.random, 600, 64);
  const std::vector<float> want = f.alone(prompt);
  const pc_run run = Fixture::run_of(prompt);
  std::vector<float> got(64);
  BackendTimeline timeline = must(f.backend.timeline()), other = must(f.backend.timeline());
  Task task({.timeline = &timeline, .runs = {&run, 1}, .logits = got.data()});
  {
    Task given_up({.timeline = &other, .runs = {&run, 1}});
    Task* const both[] = {&task, &given_up};
    must(f.scheduler->advance(both));
  }
  must(f.scheduler->compute(task));
  require_near(got, want);
}

TEST_CASE("who waits for work is told how far it is, before its first step, too") {
  const bool others = GENERATE(false, true);  // a thread of its own computes
  CAPTURE(others);
  Fixture f;
  if (others) {
    f.hold();
    f.release();
  }
  const auto prompt = random_tokens(f.random, 1500, 64);
  const pc_run run = Fixture::run_of(prompt);
  BackendTimeline timeline = must(f.backend.timeline());
  std::vector<std::uint64_t> told;
  const auto tell = [&](std::uint64_t n_done, std::uint64_t n_tokens) {
    CHECK(n_tokens == 1500);
    told.push_back(n_done);
    if (told.size() > 1) return;
    // A callback may compute, too.
    BackendTimeline inner = must(f.backend.timeline());
    must(f.scheduler->compute({.timeline = &inner, .runs = {&f.first_run, 1}}));
  };
  must(f.scheduler->compute({.timeline = &timeline, .runs = {&run, 1}}, tell));
  REQUIRE(told.size() >= (others ? 1 : 3));  // a thread of its own may be faster than this one
  CHECK(std::ranges::is_sorted(told));
  CHECK(told.front() == 0);
  if (!others) CHECK(told[1] > 0);
  CHECK(told.back() < 1500);
}

// Runs that have their places one behind the other, most in planes of their own, as of a module or
// a scaffold that is encoded.
struct Pass {
  Pass(Random& random, const KvGeometry& geometry) {
    std::int32_t position = 0;
    for (std::uint32_t i = random.between(2, 7); i-- > 0;) {
      const std::uint32_t n = random.between(1, random.chance(0.2) ? 600 : 150);
      tokens.push_back(random_tokens(random, n, 64));
      memory.emplace_back(geometry.state_bytes(kv_blocks(n)));
      const KvPlanes p = dense_planes(memory.back().data(), geometry, kv_blocks(n));
      planes.push_back({p.data, p.plane_blocks, p.first_block});
      runs.push_back({tokens.back().data(), n, position, position - 5, 0,
                      random.chance(0.8) ? &planes.back() : nullptr, nullptr, 0, nullptr});
      position += static_cast<std::int32_t>(n);
    }
  }
  std::vector<float> states() const {
    std::vector<float> all;
    for (const std::vector<std::byte>& bytes : memory) {
      all.resize(all.size() + bytes.size() / sizeof(float));
      std::memcpy(all.data() + all.size() - bytes.size() / sizeof(float), bytes.data(),
                  bytes.size());
    }
    return all;
  }

  std::deque<std::vector<std::int32_t>> tokens;
  std::deque<std::vector<std::byte>> memory;
  std::deque<pc_kv_planes> planes;
  std::vector<pc_run> runs;
};

TEST_CASE("runs in planes of their own are cut between blocks, and hold what one piece writes") {
  Fixture f;
  const KvGeometry geometry = states_shape(f.model.desc, KvType::kF32);
  for (std::uint64_t round = 0; round < 30; ++round) {
    INFO("round " << round);
    Random one(round), same(round);
    const Pass pieces(one, geometry), whole(same, geometry);
    BackendTimeline timeline = must(f.backend.timeline());
    must(f.scheduler->compute({.timeline = &timeline, .runs = pieces.runs, .encodes = true}));
    BackendTimeline other = must(f.backend.timeline());
    pc_step_item item{};
    item.timeline = other.get();
    item.runs = whole.runs.data();
    item.n_runs = static_cast<std::uint32_t>(whole.runs.size());
    f.cpu_step(item);
    require_near(pieces.states(), whole.states());
  }
}

TEST_CASE("a process that was forked from one that computes is told so") {
  Fixture f;
  BackendTimeline timeline = must(f.backend.timeline());
  const std::vector<std::int32_t> token{1};
  const pc_run run = Fixture::run_of(token);
  must(f.scheduler->compute({.timeline = &timeline, .runs = {&run, 1}}));
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const Status status = f.scheduler->compute({.timeline = &timeline, .runs = {&run, 1}});
    const bool told = !status.ok() && status.error().message.find("forked") != std::string::npos;
    f.scheduler.reset();  // does not wait for a thread that is not there
    ::_exit(told ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  const pc_run next{token.data(), 1, 1, 1, 1, nullptr, nullptr, 0, nullptr};
  must(f.scheduler->compute({.timeline = &timeline, .runs = {&next, 1}}));
}

}  // namespace
}  // namespace pc::test
