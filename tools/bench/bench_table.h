// Reports of `promptcache bench` as tables in Markdown: the columns and formats of llama-bench, and
// floors behind them; first tokens in a table of their own. Types of states have a column where
// there are several. Pure; any thread.
#pragma once

#include <string>

#include "tools/bench/bench_report.h"

namespace pc::cli {

std::string markdown_of(const BenchReports& reports);

}  // namespace pc::cli
