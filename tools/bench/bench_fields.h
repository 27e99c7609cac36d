// A report of `promptcache bench` for programs, CSV or JSON: the names of llama-bench's fields
// where the meaning is the same, and others beside them. Pure; any thread.
#pragma once

#include <string>

#include "tools/bench/bench_report.h"
#include "tools/output/json.h"

namespace pc::cli {

std::string csv_of(const BenchReport& report);
Json json_of(const BenchReport& report);  // an object; in its `tests`, an object a row

}  // namespace pc::cli
