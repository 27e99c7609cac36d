// A run by itself: states of one engine and the work that they are at, of tokens that nobody said.
#include "runtime/session/run.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

#include "tests/runtime/engine/apartment.h"

namespace pc::test {
namespace {

constexpr float kRounding = 1e-4f;  // of logits of about one, in another order of sums

Tokens some_tokens(std::size_t n, std::uint32_t seed = 1) {
  std::mt19937 random(seed);
  Tokens tokens(n);
  for (TokenId& token : tokens) token = static_cast<TokenId>(300 + random() % 300);
  return tokens;
}

Tokens together(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// A run with its caller.
struct Caller {
  explicit Caller(const Apartment& home)
      : schema(home.schema), run(schema->engine(), {0, &cancel, &progress}) {
    logits.resize(schema->engine().model().desc.vocab_size);
  }

  Reading reading(const Tokens& tokens) const {
    Chain chain(schema->identity());
    chain.append(tokens, 0);
    return must(read_again(schema->engine(), chain));
  }
  Status read(const Tokens& tokens) {
    run.begin(reading(tokens), logits.data());
    return finish();
  }
  // To the end of the work; what it gives is taken.
  Status finish() {
    if (const Status called = run.go_on(); !run.task()->finished()) return called;
    Run::Outcome outcome = run.end();
    CHECK_FALSE(outcome.lost_place);
    if (outcome.computed.ok() && outcome.reading) run.take(std::move(outcome.reading->timeline));
    return outcome.computed;
  }
  pc_run tokens_behind(const Tokens& tokens) const {
    const auto position = static_cast<Position>(run.timeline().n_tokens());
    return {tokens.data(),
            static_cast<std::uint32_t>(tokens.size()),
            position,
            position,
            1,
            nullptr,
            nullptr,
            0,
            nullptr};
  }
  Status step(TokenId token) {
    const Tokens one{token};
    run.begin_step(tokens_behind(one), logits.data(), nullptr);
    return finish();
  }

  std::shared_ptr<LoadedSchema> schema;
  std::int32_t cancel = 0;
  std::function<bool(std::uint64_t, std::uint64_t)> progress;
  Run run;
  std::vector<float> logits;
};

float apart(const std::vector<float>& a, const std::vector<float>& b) {
  float most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(a[i] - b[i]));
  return most;
}

// What all of these tokens give, read at once.
std::vector<float> logits_of(const Apartment& home, const Tokens& tokens) {
  Caller caller(home);
  must(caller.read(tokens));
  return caller.logits;
}

TEST_CASE("a run has states once a reading was taken, and then one token after the other") {
  const Apartment home;
  const Tokens prompt = some_tokens(40), answer = some_tokens(5, 2);
  Caller caller(home);
  CHECK_FALSE(caller.run.has_states());
  CHECK_FALSE(caller.run.is_at_work());
  CHECK(caller.run.task() == nullptr);
  caller.run.begin(caller.reading(prompt), caller.logits.data());
  CHECK(caller.run.is_at_work());
  CHECK(caller.run.reads());
  CHECK_FALSE(caller.run.has_states());
  CHECK(caller.run.task()->n_tokens() == prompt.size());
  must(caller.finish());
  CHECK_FALSE(caller.run.is_at_work());
  CHECK(caller.run.has_states());
  CHECK(caller.run.timeline().n_tokens() == prompt.size());
  for (const TokenId token : answer) must(caller.step(token));
  CHECK(caller.run.timeline().n_tokens() == prompt.size() + answer.size());
  CHECK(apart(caller.logits, logits_of(home, together(prompt, answer))) <= kRounding);
}

TEST_CASE("a step hands out a row of each of its tokens, and the last of them can be dropped") {
  struct Rows final : RowSink {
    std::vector<std::vector<float>> rows;
    void take(std::uint64_t token, const float* values) noexcept override {
      std::copy_n(values, rows[token].size(), rows[token].begin());
    }
  };
  const Apartment home;
  const Tokens prompt = some_tokens(20), drafted = some_tokens(3, 4);
  Caller caller(home);
  must(caller.read(prompt));
  Rows rows;
  rows.rows.assign(drafted.size(), caller.logits);
  caller.run.begin_step(caller.tokens_behind(drafted), nullptr, &rows);
  CHECK_FALSE(caller.run.reads());
  CHECK(caller.run.task()->is_step());
  must(caller.finish());
  for (std::size_t n = 1; n <= drafted.size(); ++n) {
    const Tokens until(drafted.begin(), drafted.begin() + static_cast<std::ptrdiff_t>(n));
    CHECK(apart(rows.rows[n - 1], logits_of(home, together(prompt, until))) <= kRounding);
  }
  must(caller.run.drop_last(2));
  must(caller.step(650));
  CHECK(apart(caller.logits, logits_of(home, together(prompt, {drafted[0], 650}))) <= kRounding);
}

TEST_CASE("a copy has the same states but what is ahead, no work, and goes its own way") {
  const Apartment home;
  const Tokens prompt = some_tokens(30);
  Caller first(home), second(home);
  second.run = must(first.run.copy_for(second.run.caller(), 0));  // of one without states
  CHECK_FALSE(second.run.has_states());
  must(first.read(together(prompt, {610, 611})));
  const Tokens one{612};
  first.run.begin_step(first.tokens_behind(one), first.logits.data(), nullptr);
  second.run = must(first.run.copy_for(second.run.caller(), 2));
  CHECK(second.run.caller().cancel == &second.cancel);
  CHECK_FALSE(second.run.is_at_work());
  CHECK(second.run.timeline().n_tokens() == prompt.size());
  must(second.step(620));
  must(first.finish());
  CHECK(apart(second.logits, logits_of(home, together(prompt, {620}))) <= kRounding);
  CHECK(apart(first.logits, logits_of(home, together(prompt, {610, 611, 612}))) <= kRounding);
}

TEST_CASE("what is computed on a fork is the run's once the fork is taken") {
  const Apartment home;
  const Tokens prompt = some_tokens(30), more = some_tokens(4, 7);
  Caller caller(home);
  must(caller.read(prompt));
  BackendTimeline fork = must(caller.run.fork());
  const pc_run runs[] = {caller.tokens_behind(more)};
  must(caller.run.compute(&fork, runs, caller.logits.data()));
  CHECK(caller.run.timeline().n_tokens() == prompt.size());
  const std::vector<float> want = logits_of(home, together(prompt, more));
  CHECK(apart(caller.logits, want) <= kRounding);
  must(caller.run.compute(nullptr, runs, caller.logits.data()));  // on its own as well
  CHECK(caller.run.timeline().n_tokens() == prompt.size() + more.size());
  CHECK(apart(caller.logits, want) <= kRounding);
  caller.run.take(std::move(fork));
  must(caller.step(630));
  CHECK(apart(caller.logits, logits_of(home, together(together(prompt, more), {630}))) <=
        kRounding);
}

TEST_CASE("work that is cancelled is over, and the states are as they were") {
  const Apartment home;
  const Tokens prompt = some_tokens(30);
  Caller caller(home);
  caller.cancel = 1;
  CHECK(caller.read(prompt).error().code == Code::kCancelled);
  CHECK_FALSE(caller.run.has_states());
  CHECK_FALSE(caller.run.is_at_work());
  caller.cancel = 0;
  must(caller.read(prompt));
  caller.cancel = 1;
  CHECK(caller.step(640).error().code == Code::kCancelled);
  const pc_run runs[] = {caller.tokens_behind(prompt)};
  CHECK(caller.run.compute(nullptr, runs, caller.logits.data()).error().code == Code::kCancelled);
  CHECK(caller.run.timeline().n_tokens() == prompt.size());
  caller.cancel = 0;
  must(caller.step(641));
  CHECK(apart(caller.logits, logits_of(home, together(prompt, {641}))) <= kRounding);
}

TEST_CASE("who is told how far it is may stop it, and may throw") {
  const Apartment home;
  const std::size_t n = home.schema->engine().scheduler().step_tokens() + 40;
  REQUIRE(n < home.schema->engine().context_tokens());
  const Tokens prompt = some_tokens(n);
  Caller caller(home);
  std::vector<std::uint64_t> told;
  caller.progress = [&](std::uint64_t done, std::uint64_t total) {
    CHECK(done < total);
    CHECK(total == n);
    told.push_back(done);
    return true;
  };
  must(caller.read(prompt));
  CHECK(told.size() > 1);
  CHECK(told[0] == 0);
  must(caller.step(650));  // which nobody is told of
  caller.progress = [](std::uint64_t, std::uint64_t) { return false; };
  Caller stopped(home);
  stopped.progress = caller.progress;
  CHECK(stopped.read(prompt).error().code == Code::kCancelled);
  stopped.cancel = 0;
  stopped.progress = [](std::uint64_t, std::uint64_t) -> bool { throw std::runtime_error("no"); };
  stopped.run.begin(stopped.reading(prompt), stopped.logits.data());
  CHECK_THROWS_AS(stopped.run.go_on(), std::runtime_error);
  CHECK_FALSE(stopped.run.has_states());
}

}  // namespace
}  // namespace pc::test
