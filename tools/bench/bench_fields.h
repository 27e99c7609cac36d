// Reports of `promptcache bench` for programs, CSV, JSON or SQL: the names of llama-bench's fields
// where the meaning is the same, and others beside them. Pure; any thread.
#pragma once

#include <string>

#include "tools/bench/bench_report.h"
#include "tools/output/json.h"

namespace pc::cli {

std::string csv_of(const BenchReports& reports);
Json rows_of(const BenchReports& reports);               // an array with an object a row
Json json_of(const BenchReports& reports);               // an object; `tests` are those rows
std::string json_lines_of(const BenchReports& reports);  // a row a line

// Statements that put the rows into a table, promptcache_bench, which they make where it is not
// there.
std::string sql_of(const BenchReports& reports);

}  // namespace pc::cli
