// A comparison of two reports, for people and for programs. Pure; any thread.
#pragma once

#include <string>

#include "tools/bench/compare/comparison.h"
#include "tools/output/json.h"

namespace pc::cli {

// The reports' names, for what is said of one of them.
struct ReportNames {
  std::string a, b;
};

std::string text_of(const Comparison& comparison, const ReportNames& names);
Json json_of(const Comparison& comparison);

}  // namespace pc::cli
