// Two reports, row by row: which tests are faster in the second, and slower, beyond what samples of
// one report scatter by themselves; and what else is not the same. Pure; any thread.
//
// Rows belong together when they have the same test and the same values of those parameters that
// vary within either report. What is one value in each report, and not the same, is a difference of
// the reports, which is told and not asked of their rows: else no two machines or programs could be
// compared. Rows of one report that are alike are taken together, so that several runs, one behind
// the other in a file, count as one with more samples.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/bench/compare/rank_test.h"
#include "tools/bench/compare/report_rows.h"

namespace pc::cli {

inline constexpr double kLevel = 0.05;  // of all tests of a comparison together

struct RowPair {
  enum class Verdict { kFaster, kSlower, kWithinNoise, kTooFewSamples };
  ReportRow a, b;
  Ratio speed;        // of b, in terms of a's: above 1 is faster
  double chance = 1;  // that samples come to lie so by accident; corrected for all pairs
  Verdict verdict = Verdict::kWithinNoise;
};

// Of a field that all rows of a report share.
struct Difference {
  std::string kind;  // "machines", "models", "programs" or "settings"
  std::string field, a, b;
};

// That a report's machine was, or had just been, at work when it began: on average, this many
// threads wanted its CPUs in the minute before.
struct Busy {
  double load = 0, n_cpus = 0;
};

struct Comparison {
  std::vector<std::string> parameters;  // that vary, and so belong to a row's name
  std::vector<RowPair> pairs;           // in the order of the first report
  std::vector<ReportRow> only_a, only_b;
  std::vector<Difference> differences;
  std::optional<Busy> busy_a, busy_b;  // where more than half of the CPUs were at work
  // Of each test on each side, with which every pair could be told apart; 0: they can.
  std::size_t samples_needed = 0;
};

// Throws Failure where a test has too many samples to be compared.
Comparison compare_reports(const std::vector<ReportRow>& before,
                           const std::vector<ReportRow>& after);

// What a row is called beside its test: "model.gguf" and "2" of model_filename and n_threads.
std::vector<std::string> parameter_values(const ReportRow& row,
                                          const std::vector<std::string>& parameters);

}  // namespace pc::cli
