// check --answers: what reuse does to the answers of a schema's prompts.
#pragma once

#include <promptcache/promptcache.hpp>
#include <string>
#include <vector>

#include "tools/opening/options.h"
#include "tools/output/json.h"

namespace pc::cli {

// Measures, with progress, and gives the library's report. Ctrl-C stops it.
Json check_answers(const promptcache::Schema& schema,
                   const std::vector<promptcache::Prompt>& prompts, const Options& options);

// The report as a table, and the verdict in words.
std::string answers_text(const Json& report);

}  // namespace pc::cli
