// The rows of a report that `promptcache bench` or llama-bench wrote in JSON: a list of objects, an
// object with a list `tests`, or an object a line. Whoever wrote it: what is no such report is
// refused with its place. Pure; any thread.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/bench/samples.h"

namespace pc::cli {

// Of a test in one report, whose pairs with those of another are looked at one by one; and of rows.
inline constexpr std::size_t kMostSamples = 2000, kMostRows = 2000;

struct ReportRow {
  std::string test;                          // "pp512 @ d2048"
  bool is_first_token = false;               // whose figure is a time, and not a rate
  double tokens = 0;                         // that a sample computes; of a first token 0
  Samples seconds;                           // at least one, each from 1e-9 to 1e9
  std::map<std::string, std::string> facts;  // of llama-bench's and our other fields, as text
};

// name: of the file, for messages. From one row to kMostRows. Throws Failure.
std::vector<ReportRow> read_report(std::string_view text, const std::string& name);

}  // namespace pc::cli
