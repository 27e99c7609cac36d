#include "tools/bench/bench_runner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <latch>
#include <memory>
#include <string>
#include <system_error>
#include <thread>

#include "tools/output/failure.h"
#include "tools/output/sizes.h"

namespace pc::cli {
namespace {

using promptcache::Session;

double seconds(std::uint64_t microseconds) {
  return static_cast<double>(microseconds) * 1e-6;
}

// The warm-up left the module in memory; a run that computes it would measure something else.
void require_module(const Session& session, std::uint32_t tokens) {
  const pc_session_stats stats = session.stats();
  if (stats.cached_tokens == tokens && stats.modules_encoded == 0) return;
  throw Failure(kFailure, "of a module of " + format_count(tokens, "token") + " only " +
                              std::to_string(stats.cached_tokens) +
                              " were reused; please report this defect");
}

void draw(Session& session) {
  pc_token token{};
  if (!session.next(token))
    throw Failure(kFailure, "an answer ended before all of its tokens were decoded");
}

// While it lives, Ctrl-C cancels the session.
class Watched {
 public:
  Watched(Interruptible* interruptible, Session& session) : interruptible_(interruptible) {
    interruptible->watch(session.get());
  }
  ~Watched() { interruptible_->watch(nullptr); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  Interruptible* interruptible_;
};

}  // namespace

BenchRunner::BenchRunner(const promptcache::Engine& engine, std::uint32_t repetitions,
                         bool warms_up)
    : engine_(engine), repetitions_(repetitions), warms_up_(warms_up) {
  const auto vocab_size = static_cast<std::int32_t>(engine.facts().vocab_size);
  for (std::int32_t token = 0; token < vocab_size; ++token)
    if (engine.ends_turn(token)) never_ends_.push_back({token, -INFINITY});
}

BenchResult BenchRunner::run(const BenchCase& test) {
  switch (test.kind) {
    case BenchCase::Kind::kPrefill:
      return prefill(test);
    case BenchCase::Kind::kDecode:
      return decode(test);
    case BenchCase::Kind::kPromptThenGen:
      return prompt_then_gen(test);
    case BenchCase::Kind::kFirstToken:
      break;
  }
  return first_token(test);
}

// Its module is found or computed, and stays in memory at least as long as the session.
Session BenchRunner::open(const BenchWorkload& work, std::uint32_t max_tokens, bool reuse) {
  promptcache::SessionOptions options;
  options.set_max_draft(0);  // one token a step is what is measured
  options.max_tokens = max_tokens;
  options.no_reuse = reuse && work.cached() != 0 ? 0 : 1;
  options.bias = never_ends_.data();
  options.n_bias = never_ends_.size();
  Session session(work.prompt(), options);
  const Watched watched(&interruptible_, session);
  session.prefill();
  return session;
}

// What keeps the module in memory while it lives.
std::optional<Session> BenchRunner::warm_up(const BenchWorkload& work) {
  if (!warms_up_ && work.cached() == 0) return std::nullopt;
  return open(work, 1, true);
}

void BenchRunner::rest(std::uint32_t seconds) const {
  constexpr std::chrono::milliseconds kNap(50);  // until a Ctrl-C is seen
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (std::chrono::steady_clock::now() < end) {
    if (interruptible_.requested()) throw promptcache::Error(PC_CANCELLED, pc_error{});
    std::this_thread::sleep_for(kNap);
  }
}

void BenchRunner::go_on(Session& session, std::uint32_t n_tokens) const {
  for (std::uint32_t i = 0; i < n_tokens; ++i) {
    if (interruptible_.requested()) throw promptcache::Error(PC_CANCELLED, pc_error{});
    draw(session);
  }
}

BenchResult BenchRunner::prefill(const BenchCase& test) {
  const BenchWorkload work(engine_, test.depth, test.n_prompt);
  BenchResult result{test, {}, {}};
  result.test.depth = work.cached();
  result.test.n_prompt = work.fresh();
  const std::optional<Session> warm = warm_up(work);
  for (std::uint32_t i = 0; i < repetitions_; ++i) {
    const Session session = open(work, 1, true);
    require_module(session, work.cached());
    result.seconds.push_back(seconds(session.stats().prefill_us));
  }
  return result;
}

// From its prompt's text to its first token.
double BenchRunner::first_token_seconds(const BenchWorkload& work, bool reuse) {
  Session session = open(work, 1, reuse);
  if (reuse) require_module(session, work.cached());
  draw(session);
  return seconds(session.stats().ttft_us);
}

BenchResult BenchRunner::first_token(const BenchCase& test) {
  const BenchWorkload work(engine_, test.depth, test.n_prompt);
  BenchResult result{test, {}, {}};
  result.test.depth = work.cached();
  result.test.n_prompt = work.fresh();
  const std::optional<Session> warm = warm_up(work);
  if (warms_up_) open(work, 1, false);
  for (std::uint32_t i = 0; i < repetitions_; ++i) {
    result.full_seconds.push_back(first_token_seconds(work, false));
    result.seconds.push_back(first_token_seconds(work, true));
  }
  return result;
}

BenchResult BenchRunner::decode(const BenchCase& test) {
  // The last of `depth` tokens is each conversation's own. None begins with nothing: at depth 0
  // what the tokenizer makes of a letter, and a BOS, stand before the first step.
  const BenchWorkload work(engine_, std::max(test.depth, 1u) - 1, 1);
  BenchResult result{test, {}, {}};
  if (test.depth != 0) result.test.depth = work.cached() + work.fresh();
  std::optional<Session> warm = warm_up(work);
  if (warm) draw(*warm);
  for (std::uint32_t i = 0; i < repetitions_; ++i)
    result.seconds.push_back(test.n_sessions == 1 ? decode_alone(work, test.n_gen)
                                                  : decode_together(work, test));
  return result;
}

// The first token comes of the prefill; what is decoded goes on behind it.
BenchResult BenchRunner::prompt_then_gen(const BenchCase& test) {
  const BenchWorkload work(engine_, test.depth, test.n_prompt);
  BenchResult result{test, {}, {}};
  result.test.depth = work.cached();
  result.test.n_prompt = work.fresh();
  std::optional<Session> warm = warm_up(work);
  if (warm) draw(*warm);
  for (std::uint32_t i = 0; i < repetitions_; ++i) {
    Session session = open(work, test.n_gen + 1, true);
    require_module(session, work.cached());
    go_on(session, test.n_gen + 1);
    const pc_session_stats stats = session.stats();
    result.seconds.push_back(seconds(stats.prefill_us + stats.decode_us));
  }
  return result;
}

// The first token comes of the prefill: n_gen steps are those behind it.
double BenchRunner::decode_alone(const BenchWorkload& work, std::uint32_t n_gen) {
  Session session = open(work, n_gen + 1, true);
  require_module(session, work.cached());
  go_on(session, n_gen + 1);
  return seconds(session.stats().decode_us);
}

double BenchRunner::decode_together(const BenchWorkload& work, const BenchCase& test) try {
  std::vector<Session> sessions;
  for (std::uint32_t i = 0; i < test.n_sessions; ++i) {
    sessions.push_back(open(work, test.n_gen + 1, true));
    require_module(sessions.back(), work.cached());
    draw(sessions.back());
  }
  std::latch ready(test.n_sessions);
  std::atomic<bool> gate{false};
  std::vector<std::future<void>> threads;
  const auto open_gate = [](std::atomic<bool>* shut) {
    *shut = true;
    shut->notify_all();
  };
  // Whatever happens: nobody waits for a thread that could not be started.
  const std::unique_ptr<std::atomic<bool>, decltype(open_gate)> opens_at_end(&gate, open_gate);
  for (Session& session : sessions)
    threads.push_back(std::async(std::launch::async, [&] {
      ready.count_down();
      gate.wait(false);
      go_on(session, test.n_gen);
    }));
  ready.wait();
  const auto start = std::chrono::steady_clock::now();
  open_gate(&gate);
  for (std::future<void>& thread : threads) thread.get();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
} catch (const std::system_error&) {
  throw Failure(kFailure, format_count(test.n_sessions, "thread") + " cannot be started");
}

}  // namespace pc::cli
