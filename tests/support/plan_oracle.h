// What a prompt's plan must compute, by the dense oracle: the bridge from plans of schemas to the
// rows of tests/support/plan_runner.h.
#pragma once

#include <cstdint>
#include <vector>

#include "pml/layout/encode_plan.h"
#include "runtime/prompt/loaded_prompt.h"
#include "tests/support/dense_oracle.h"
#include "tests/support/plan_runner.h"

namespace pc::test {

// Attends as the plan's passes do.
inline RawPlan raw_plan(const LoadedSchema& schema, const pml::Plan& plan) {
  RawPlan raw;
  std::vector<std::vector<std::uint32_t>> kept(plan.jobs.size());  // job -> kept run -> run
  for (std::size_t j = 0; j < plan.jobs.size(); ++j) {
    RawJob job;
    for (const pml::JobRun& run : pml::make_job(schema.layout(), plan.jobs[j]).runs) {
      if (run.keep) kept[j].push_back(static_cast<std::uint32_t>(job.runs.size()));
      job.runs.push_back({run.tokens, run.position, run.keep});
    }
    raw.jobs.push_back(job);
  }
  for (const pml::PlanRun& run : plan.runs) {
    if (run.kind == pml::RunKind::kCached)
      raw.prompt.push_back(
          {static_cast<int>(run.job), kept[run.job][run.job_run], run.tokens, run.position});
    else
      raw.prompt.push_back({-1, 0, run.tokens, run.position});
  }
  return raw;
}

// The rows of the dense oracle for a prompt; the last is its last token's.
// dense_rows() takes whole runs; a plan's last cached run may lack its last token.
inline std::vector<DenseRow> oracle_rows(const LoadedPrompt& prompt) {
  RawPlan raw = raw_plan(*prompt.schema, prompt.plan);
  const std::vector<Anew> anew = leading_tokens(prompt.placed_runs());
  for (std::size_t i = 0; i < anew.size(); ++i) raw.prompt[i].anew = anew[i];
  for (RawPlanRun& run : raw.prompt) {
    if (run.job < 0) continue;
    RawJob& job = raw.jobs[static_cast<std::size_t>(run.job)];
    RawRun& source = job.runs[run.run];
    if (source.tokens.size() == run.tokens.size()) continue;
    // Nothing after the cut is seen by anyone in the prompt: cut the job's run too.
    source.tokens.resize(run.tokens.size());
    job.runs.resize(run.run + 1);
  }
  std::vector<DenseRow> rows;
  const auto last = dense_rows(raw, &rows);
  REQUIRE(last.back() + 1 == rows.size());
  return rows;
}

// The logits behind the prompt's last token, as the dense oracle computes them.
inline std::vector<double> oracle_logits(const pc_model_desc& desc,
                                         const std::vector<DenseRow>& rows) {
  const auto last = static_cast<std::uint32_t>(rows.size() - 1);
  return DenseOracle(desc).forward(rows, {last})[last];
}
inline std::vector<double> oracle_logits(const pc_model_desc& desc, const LoadedPrompt& prompt) {
  return oracle_logits(desc, oracle_rows(prompt));
}

}  // namespace pc::test
