// A report of `promptcache bench` as tables in Markdown: the columns and formats of llama-bench,
// and floors behind them; first tokens in a table of their own. Pure; any thread.
#pragma once

#include <string>

#include "tools/bench/bench_report.h"

namespace pc::cli {

std::string markdown_of(const BenchReport& report);

}  // namespace pc::cli
