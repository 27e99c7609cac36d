// A run of `promptcache bench`: opens an engine for each setup, one behind the other, and measures
// what is asked for on it, with its progress on the standard error.
//
// Threads: one at a time. No Interruptible beside measure().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <promptcache/promptcache.hpp>
#include <string>
#include <vector>

#include "tools/bench/bench_floor.h"
#include "tools/bench/bench_report.h"
#include "tools/opening/options.h"
#include "tools/output/json.h"
#include "tools/output/progress.h"

namespace pc::cli {

class BenchRun {
 public:
  // Measures nothing yet. Throws what is wrong with the setups, and Failure for a test that does
  // not fit a model's context window.
  explicit BenchRun(const Options& options);

  // Throws what ends it early; reports() then has what was measured until then.
  void measure();

  // With the load that there is now; none that is empty.
  BenchReports reports() const;

 private:
  // What one engine is opened for.
  struct Job {
    Options options;  // with the setup's model, type of states and threads
    Json inspection;  // pc_model_inspect's report
    std::vector<BenchCase> tests;
  };

  static std::vector<Job> jobs_of(const Options& options);
  void measure(const Job& job);
  void measure(const promptcache::Engine& engine, const Job& job, BenchReport* report);

  std::vector<Job> jobs_;
  std::uint32_t done_ = 0, total_;
  Progress progress_;
  std::string packed_;                         // the model whose packed weights are made
  std::map<std::uint32_t, Machine> machines_;  // by the number of threads that read memory
  std::optional<double> load_before_;
  BenchReports reports_;
};

}  // namespace pc::cli
