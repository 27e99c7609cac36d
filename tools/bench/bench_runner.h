// Runs tests of `promptcache bench` on an engine: each once to warm up, unless it is not to, and
// then as often as it is to be repeated. Behind a module the run that computes it is always there.
// While it lives, Ctrl-C ends a run with promptcache::Error PC_CANCELLED.
//
// Threads: one at a time; makes those of a batch itself. No other Interruptible beside it.
#pragma once

#include <optional>
#include <promptcache/promptcache.hpp>
#include <vector>

#include "tools/bench/bench_report.h"
#include "tools/bench/bench_workload.h"
#include "tools/output/interrupt.h"

namespace pc::cli {

class BenchRunner {
 public:
  // Borrows the engine.
  BenchRunner(const promptcache::Engine& engine, std::uint32_t repetitions, bool warms_up);

  // Nothing is done for so long, so that a hot machine cools down; Ctrl-C ends it.
  void rest(std::uint32_t seconds) const;

  BenchResult run(const BenchCase& test);

 private:
  BenchResult prefill(const BenchCase& test);
  BenchResult decode(const BenchCase& test);
  BenchResult prompt_then_gen(const BenchCase& test);
  BenchResult first_token(const BenchCase& test);
  promptcache::Session open(const BenchWorkload& work, std::uint32_t max_tokens, bool reuse);
  double first_token_seconds(const BenchWorkload& work, bool reuse);
  double decode_alone(const BenchWorkload& work, std::uint32_t n_gen);
  double decode_together(const BenchWorkload& work, const BenchCase& test);
  std::optional<promptcache::Session> warm_up(const BenchWorkload& work);
  void go_on(promptcache::Session& session, std::uint32_t n_tokens) const;

  const promptcache::Engine& engine_;
  std::uint32_t repetitions_;
  bool warms_up_;
  std::vector<pc_token_bias> never_ends_;  // tokens that end a turn are never drawn
  Interruptible interruptible_;
};

}  // namespace pc::cli
