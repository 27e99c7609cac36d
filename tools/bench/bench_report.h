// What `promptcache bench` found: a report is its subject, the same for all results, and a row for
// each test; a run makes one for each setup that it measured. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/bench/bench_case.h"
#include "tools/bench/machine/machine.h"
#include "tools/bench/machine/machine_facts.h"
#include "tools/bench/samples.h"

namespace pc::cli {

struct BenchResult {
  BenchCase test;        // with the numbers of tokens that it came to
  Samples seconds;       // a repetition each
  Samples full_seconds;  // kFirstToken alone: the same without reuse, in turns with the others
};

double tokens_of(const BenchCase& test);       // that one repetition computes
Samples rates(const BenchResult& result);      // tokens a second
Samples speed_ups(const BenchResult& result);  // of a first token, by reuse

// What was measured with.
struct BenchSubject {
  std::string build, instruction_set, compiler;  // "0.1.0", "avx512", "C++ 12.2.0"
  Machine machine;
  MachineFacts facts;
  std::optional<double> load_before, load_after;  // load averages around the whole run
  std::string backend, model_path, model_type;    // "cpu", "dir/model.gguf", "llama Q4_0"
  std::string kv_type, precision;
  std::uint64_t weight_bytes = 0, n_parameters = 0;
  std::uint32_t threads = 0;
  std::string cpu_mask = "0x0";  // 0x0: all that the process has, as llama-bench writes it
  std::int32_t priority = 0;
  bool warms_up = true;
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
using BenchReports = std::vector<BenchReport>;

}  // namespace pc::cli
