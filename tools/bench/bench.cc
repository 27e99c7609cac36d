#include <algorithm>
#include <cstdio>

#include "tools/bench/bench_fields.h"
#include "tools/bench/bench_run.h"
#include "tools/bench/bench_table.h"
#include "tools/bench/machine/process_place.h"
#include "tools/opening/open.h"
#include "tools/opening/verbs.h"

namespace pc::cli {
namespace {

std::string text_of(const BenchReports& reports, const std::string& format) {
  if (format == "none") return "";
  if (format == "csv") return csv_of(reports);
  if (format == "json") return rows_of(reports).dump() + "\n";
  if (format == "jsonl") return json_lines_of(reports);
  return format == "sql" ? sql_of(reports) : markdown_of(reports);
}

void print_reports(const BenchReports& reports, const Options& options) {
  std::fputs(text_of(reports, options.bench.error_output).c_str(), stderr);
  print(options.json ? json_of(reports).dump() + "\n" : text_of(reports, options.bench.output));
}

void print_devices() {
  const std::string threads = parse_report(promptcache::build_describe())["threads"].text();
  print("Available devices:\n  CPU: " + cpu_name() + " (" + threads +
        " threads)\nOthers are plug-ins: --backend PATH\n");
}

// What of the command line is not as in llama-bench.
void print_remarks(const BenchOptions& options) {
  constexpr char kName[] = "promptcache bench";
  for (const std::string& remark : options.without_meaning) print_remark(kName, remark);
  for (const auto& types : {options.k_types, options.v_types})
    if (std::find(types.begin(), types.end(), "f16") != types.end())
      return print_remark(kName, "attention states of f16 are bf16 here, which is as large");
}

}  // namespace

ExitCode bench(const Options& options) {
  if (options.bench.lists_devices) {
    print_devices();
    return kSuccess;
  }
  if (!options.quiet) print_remarks(options.bench);
  if (!options.bench.cpu_mask.empty()) run_on_cpus(options.bench.cpu_mask);
  set_priority(options.bench.priority);
  BenchRun run(options);
  try {
    run.measure();
  } catch (...) {
    // What was measured until a Ctrl-C, or a failure, is worth as much as ever.
    if (const BenchReports reports = run.reports(); !reports.empty())
      print_reports(reports, options);
    throw;
  }
  print_reports(run.reports(), options);
  return kSuccess;
}

}  // namespace pc::cli
