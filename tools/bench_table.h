// The results of `promptcache bench`, as tables in Markdown, as CSV and as JSON: with the columns
// and formats of llama-bench, and those that it has no name for behind them. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/bench_runner.h"
#include "tools/json.h"
#include "tools/machine.h"

namespace pc::cli {

// What was measured with, the same for all results.
struct BenchSubject {
  std::string build, instruction_set;  // "0.1.0", "avx512"
  Machine machine;
  std::string backend, model_path, model_type;  // "cpu", "dir/model.gguf", "llama Q4_0"
  std::string kv_type, precision;
  std::uint64_t weight_bytes = 0, n_parameters = 0;
  std::uint32_t threads = 0;
};

struct BenchRow {
  BenchResult result;
  std::string time;  // at which it was measured: "2026-01-31T12:00:00Z"
  std::optional<double> floor_seconds;
};

struct BenchReport {
  BenchSubject subject;
  std::vector<BenchRow> rows;
};

std::string markdown_of(const BenchReport& report);
std::string csv_of(const BenchReport& report);
Json json_of(const BenchReport& report);

}  // namespace pc::cli
