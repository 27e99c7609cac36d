#include <algorithm>
#include <array>
#include <cctype>
#include <ctime>

#include "tools/bench/bench_fields.h"
#include "tools/bench/bench_floor.h"
#include "tools/bench/bench_runner.h"
#include "tools/bench/bench_table.h"
#include "tools/opening/open.h"
#include "tools/opening/verbs.h"
#include "tools/output/progress.h"

namespace pc::cli {
namespace {

// Opened twice: the first time makes what every start makes, packed weights; the second writes
// nothing, so that modules are in memory alone and none is left behind, however this ends. A
// namespace of its own keeps it from finding any. Of a model whose layers carry states what was
// said is kept, in files that go as others do.
promptcache::Engine open_to_measure(const Options& options, bool keeps) {
  open_engine(options, PC_CACHE_READ_WRITE);
  Options again = options;
  again.cache_namespace = "promptcache bench";
  again.quiet = true;  // all was said
  return open_engine(again, keeps ? PC_CACHE_READ_WRITE : PC_CACHE_READ_ONLY);
}

// Of a model's largest matrices: "Q4_K+Q6_K".
std::string types_of(const Json& inspection) {
  std::string types;
  for (const Json& group : inspection["weights"].items()) {
    if (group["group"].text() != "feed-forward") continue;
    for (const Json& type : group["types"].items())
      types += (types.empty() ? "" : "+") + type.text();
  }
  std::transform(types.begin(), types.end(), types.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return types;
}

BenchSubject subject_of(const promptcache::Engine& engine, const Json& inspection,
                        const Options& options) {
  const Json report = parse_report(engine.describe());
  const Json build = parse_report(promptcache::build_describe());
  const pc_engine_facts facts = engine.facts();
  BenchSubject s;
  s.build = build["version"].text();
  s.instruction_set = build["isa"]["selected"].text();
  s.backend = report["backend"].text();
  s.model_path = options.model;
  s.model_type = report["family"].text() + " " + types_of(inspection);
  s.kv_type = report["kv_type"].text();
  s.precision = report["precision"].text();
  s.weight_bytes = facts.weight_bytes;
  s.n_parameters = facts.n_parameters;
  s.threads = static_cast<std::uint32_t>(report["threads"].number().value_or(1));
  s.machine = measure_machine(s.threads);
  return s;
}

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  std::array<char, 32> text{};
  if (gmtime_r(&now, &utc)) std::strftime(text.data(), text.size(), "%FT%TZ", &utc);
  return text.data();
}

void measure(const promptcache::Engine& engine, const std::vector<BenchCase>& tests,
             const ModelBytes& model, const Options& options, BenchReport* report) {
  BenchRunner runner(engine, options.bench.repetitions);
  const auto total = static_cast<std::uint32_t>(tests.size());
  Progress progress(options.quiet, "measuring");
  for (std::uint32_t i = 0; i < total; ++i) {
    progress.show(i, total, name_of(tests[i]));
    BenchRow row{runner.run(tests[i]), time_now(), {}};
    row.floor_seconds = floor_seconds(row.result.test, model, report->subject.machine);
    report->rows.push_back(std::move(row));
    progress.show(i + 1, total, name_of(tests[i]));
  }
}

void print_report(const BenchReport& report, const Options& options) {
  if (options.json || options.bench.output == "json") return print(json_of(report).dump() + "\n");
  print(options.bench.output == "csv" ? csv_of(report) : markdown_of(report));
}

}  // namespace

ExitCode bench(const Options& options) {
  const Json inspection = parse_report(promptcache::model_inspect(engine_options(options)));
  const bool keeps = inspection["recurrent_bytes"].number() > std::uint64_t{0};
  const promptcache::Engine engine = open_to_measure(options, keeps);
  const std::vector<BenchCase> tests = bench_cases(options.bench, engine.facts().context_tokens);
  BenchReport report{subject_of(engine, inspection, options), {}};
  try {
    measure(engine, tests, bytes_of_model(inspection), options, &report);
  } catch (const promptcache::Error& error) {
    // What was measured until a Ctrl-C is worth as much as ever.
    if (error.status() == PC_CANCELLED && !report.rows.empty()) print_report(report, options);
    throw;
  }
  print_report(report, options);
  return kSuccess;
}

}  // namespace pc::cli
