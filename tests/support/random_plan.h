// Random plans of tokens and positions (tests/support/plan_runner.h).
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/plan_runner.h"
#include "tests/support/random.h"

namespace pc::test {

inline std::vector<std::int32_t> random_tokens(Random& random, std::uint32_t n,
                                               std::uint32_t vocab) {
  std::vector<std::int32_t> tokens(n);
  for (auto& t : tokens) t = static_cast<std::int32_t>(random.below(vocab));
  return tokens;
}

// Jobs of alternating seen and kept runs with gaps; a prompt that places some
// of the kept runs, whole or with tokens that are computed anew, and fresh text between, before and
// after, with gaps.
inline RawPlan random_plan(Random& random, std::uint32_t vocab, bool anew = true) {
  RawPlan plan;
  const std::uint32_t n_jobs = random.below(4);
  for (std::uint32_t j = 0; j < n_jobs; ++j) {
    RawJob job;
    std::int32_t position = static_cast<std::int32_t>(random.below(5));
    const std::uint32_t n_runs = random.between(1, 4), kept = random.below(n_runs);
    for (std::uint32_t r = 0; r < n_runs; ++r) {
      RawRun run{random_tokens(random, random.between(1, 20), vocab), position,
                 r == kept || random.chance(0.4)};
      position +=
          static_cast<std::int32_t>(run.tokens.size() + (random.chance(0.3) ? random.below(7) : 0));
      job.runs.push_back(run);
    }
    plan.jobs.push_back(job);
  }
  std::int32_t position = 0;
  const auto fresh = [&] {
    RawPlanRun run{-1, 0, random_tokens(random, random.between(1, 19), vocab), position};
    position += static_cast<std::int32_t>(run.tokens.size());
    plan.prompt.push_back(run);
  };
  for (std::uint32_t j = 0; j < n_jobs; ++j) {
    for (std::uint32_t r = 0; r < plan.jobs[j].runs.size(); ++r) {
      const RawRun& run = plan.jobs[j].runs[r];
      if (!run.keep || random.chance(0.2)) continue;
      if (random.chance(0.3)) fresh();
      if (random.chance(0.3)) position += static_cast<std::int32_t>(random.below(40));
      plan.prompt.push_back({static_cast<int>(j), r, {}, position});
      if (anew && random.chance(0.5))
        for (std::uint32_t i = 0; i < run.tokens.size(); ++i)
          if (random.chance(0.4)) plan.prompt.back().anew.push_back(i);
      position += static_cast<std::int32_t>(run.tokens.size());
    }
  }
  fresh();
  return plan;
}

}  // namespace pc::test
