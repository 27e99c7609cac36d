// JSON for the command: the library's reports, and what it writes itself.
//
// A report is read leniently: what is missing, or of another type, reads as nothing ("-" in a
// table), because it may come from another version of the library. Threads: pure functions.
#pragma once

#include <string_view>

#include "runtime/json/json_value.h"

namespace pc::cli {

using pc::Json;

// A report of the library. Throws Failure: a report that is not JSON is a defect.
Json parse_report(std::string_view text);

}  // namespace pc::cli
